//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// Provision puts files into the home that sessions get a copy of, then runs the box's setup commands there.
func (d *Driver) Provision(ctx context.Context, b *box.Box, files []box.File, report box.Report) error {
	id, err := owner(b)
	if err != nil {
		return err
	}
	home := layout{b.Dir}.home()
	for _, f := range files {
		if err := id.put(home, f); err != nil {
			return fmt.Errorf("provision %s: %w", f.Path, err)
		}
	}
	for _, command := range b.Spec.Setup {
		if report != nil {
			report("setup: %s", command)
		}
		if err := d.enter(ctx, b, id, jail.Mount{Source: home, Target: jail.Home, Write: true}, box.Exec{Argv: []string{"/bin/sh", "-c", command}}); err != nil {
			return fmt.Errorf("setup %q: %w", command, err)
		}
	}
	if err := noteSize(layout{b.Dir}); err != nil {
		return fmt.Errorf("measure home: %w", err)
	}
	return nil
}

// Above these a shell's copy of the home is made on disk instead of in memory.
const (
	smallBytes = 4 << 20
	smallFiles = 256
)

func noteSize(l layout) error {
	var bytes int64
	var files int
	err := filepath.WalkDir(l.home(), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		bytes, files = bytes+st.Size(), files+1
		if bytes > smallBytes || files > smallFiles {
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		return err
	}
	if bytes > smallBytes || files > smallFiles {
		return os.WriteFile(l.bulky(), nil, 0o600)
	}
	if err := os.Remove(l.bulky()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// put writes one file. Setup commands may have left links in the home: none is followed out of it, and the file
// replaces what is there instead of being written through it.
func (id identity) put(home string, f box.File) error {
	if !filepath.IsLocal(f.Path) {
		return errors.New("not below home")
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := id.makeDirs(root, path.Dir(f.Path)); err != nil {
		return err
	}
	mode := f.Mode.Perm()
	if mode == 0 {
		mode = 0o644
	}
	tmp := f.Path + ".cco-new"
	_ = root.Remove(tmp)
	out, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	err = errors.Join(err, out.Chmod(mode))
	if os.Getuid() == 0 {
		err = errors.Join(err, out.Chown(id.UID, id.GID))
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return root.Rename(tmp, f.Path)
}

func (id identity) makeDirs(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := id.makeDirs(root, path.Dir(dir)); err != nil {
		return err
	}
	err := root.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err == nil && os.Getuid() == 0 {
		err = root.Lchown(dir, id.UID, id.GID)
	}
	return err
}

//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
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
		if err := d.enter(ctx, b, id, home, box.Exec{Argv: []string{"/bin/sh", "-c", command}}); err != nil {
			return fmt.Errorf("setup %q: %w", command, err)
		}
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
	defer root.Close()
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
		err = errors.Join(err, out.Chown(id.uid, id.gid))
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
		err = root.Lchown(dir, id.uid, id.gid)
	}
	return err
}

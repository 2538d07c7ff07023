package rooms

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
)

// Above these limits a shell's copy of the home is made on disk instead of in memory.
const (
	SmallBytes = 4 << 20
	SmallFiles = 256
)

// NoteSize marks a home that exceeds them.
func NoteSize(l Layout) error {
	var bytes int64
	var files int
	err := filepath.WalkDir(l.Home(), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		bytes, files = bytes+st.Size(), files+1
		if bytes > SmallBytes || files > SmallFiles {
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		return err
	}
	if bytes > SmallBytes || files > SmallFiles {
		return os.WriteFile(l.Bulky(), nil, 0o600)
	}
	if err := os.Remove(l.Bulky()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Put writes one file. Setup commands may have left links in the home: Put follows none of them out of it, and replaces
// an existing entry instead of writing through it.
func (id Identity) Put(home string, f box.File) error {
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

func (id Identity) makeDirs(root *os.Root, dir string) error {
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

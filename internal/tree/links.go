package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// DropLinks removes what was made in a directory since some moment and is neither a file nor a directory: who writes to
// a name in it later would write elsewhere. Times that a program can set don't count. Nobody may write there meanwhile.
func DropLinks(dir string, since time.Time) error {
	since = since.Add(-time.Second) // the kernel's clock for files is late
	dir, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type().IsRegular() {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil || time.Unix(st.Ctim.Unix()).Before(since) {
			return err
		}
		return os.Remove(name)
	})
}

package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// resolve finds the real file behind a name, so that replacing it keeps a user's links. Inside the workspace, which an
// agent may have written, links are refused: they could lead the write anywhere.
func (i Installation) resolve(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, i.Dir+"/"); ok {
		at := i.Dir
		for part := range strings.SplitSeq(rest, "/") {
			at = filepath.Join(at, part)
			if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
				return "", fmt.Errorf("%s is a link: remove it first", at)
			}
		}
		return name, nil
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real, nil
	}
	return name, nil
}

// replaceFile writes a file so that readers see the old or the new one, never a part. A file that is there keeps its
// mode.
func replaceFile(name string, data []byte, mode os.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), dirMode(mode)); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".cco-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// dirMode opens a directory to those who may read its files.
func dirMode(file os.FileMode) os.FileMode {
	if file&0o044 != 0 {
		return 0o755
	}
	return 0o700
}

// Package whole writes files completely or not at all.
package whole

import (
	"errors"
	"os"
	"path/filepath"
)

// File is a file that is to be somewhere: where depends on who asks for it.
type File struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Write puts data into a file so that readers see what was there before or all of it, never a part, whatever becomes of
// the machine meanwhile.
func Write(name string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".cco-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Replace is Write for a file that may be there, which then keeps its mode. Directories above it that are missing are
// made, open to those who may read the file.
func Replace(name string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), mode|mode&0o444>>2); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	return Write(name, data, mode)
}

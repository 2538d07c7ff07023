package remote

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// packTree writes a directory of files, directories and links as a tar.
func packTree(to io.Writer, dir string) error {
	w := tar.NewWriter(to)
	return errors.Join(w.AddFS(os.DirFS(dir)), w.Close())
}

// unpackTree makes a directory from the tar, completely or not at all.
func unpackTree(from io.Reader, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { // other users must be able to enter it
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := unpackEntry(root, r, h); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil { // agents are installed in it
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

func unpackEntry(root *os.Root, r io.Reader, h *tar.Header) error {
	name := strings.TrimSuffix(h.Name, "/")
	mode := fs.FileMode(h.Mode).Perm() // only the permissions
	switch h.Typeflag {
	case tar.TypeDir:
		return root.Mkdir(name, mode|0o700)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	default:
		return errors.New("not a file, a directory or a link")
	}
}

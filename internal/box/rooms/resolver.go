package rooms

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Resolver finds the real paths of many names. It looks at each directory only once, so use a new one for each round.
type Resolver map[string]string

// Real returns the path that filepath.EvalSymlinks would, and its file info.
func (r Resolver) Real(name string) (string, fs.FileInfo, error) {
	if name != filepath.Clean(name) {
		return follow(name) // the element before a .. may be a link
	}
	dir, err := r.dir(filepath.Dir(name))
	if err != nil {
		return "", nil, err
	}
	real := filepath.Join(dir, filepath.Base(name))
	st, err := os.Lstat(real)
	switch {
	case err != nil:
		return "", nil, err
	case st.Mode()&fs.ModeSymlink != 0:
		return follow(real)
	}
	return real, st, nil
}

func (r Resolver) dir(name string) (string, error) {
	if name == "/" || name == "." {
		return name, nil
	}
	if real, ok := r[name]; ok {
		return real, nil
	}
	real, _, err := r.Real(name)
	if err == nil {
		r[name] = real
	}
	return real, err
}

func follow(name string) (string, fs.FileInfo, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", nil, err
	}
	st, err := os.Lstat(real)
	return real, st, err
}

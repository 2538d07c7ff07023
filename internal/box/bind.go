package box

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/paths"
)

// Check refuses a directory that would show too much: a large part of the host, or data of another session. It returns
// the directory's path without links.
func (m Bind) Check(b *Box) (real string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("show %s: %w", m.Path, err)
		}
	}()
	if !filepath.IsAbs(m.Path) || filepath.Clean(m.Path) != m.Path {
		return "", errors.New("not a clean absolute path")
	}
	if real, err = filepath.EvalSymlinks(m.Path); err != nil {
		return "", err
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", errors.Join(err, errors.New("not a directory"))
	}
	for _, name := range []string{m.Path, real} {
		for _, own := range []string{b.Dir, b.Exchange} {
			if paths.Within(own, name) || paths.Within(name, own) {
				return "", errors.New("it holds data of sessions")
			}
		}
		for _, top := range []string{"/", "/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/var", "/home", "/root", "/tmp",
			"/workspace", "/exchange"} {
			if name == top {
				return "", errors.New("it shows too much of the host")
			}
		}
		for _, top := range []string{"/proc", "/sys", "/dev", "/workspace", "/exchange"} {
			if paths.Within(name, top) {
				return "", fmt.Errorf("nothing is shown below %s", top)
			}
		}
	}
	return real, nil
}

package host

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/paths"
)

// Unseen are programs in directories of PATH that can't start where s, which Open has found, is all that is seen of the
// home: by the path that has to be shown for them.
func (s *Shown) Unseen(dirs []string) map[string][]string {
	missing, known := map[string][]string{}, map[string]bool{}
	if s.home == "" {
		return nil
	}
	for _, dir := range dirs {
		for _, name := range s.list(dir) {
			real, st, err := s.paths.Real(filepath.Join(dir, name))
			if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 || known[name] {
				continue
			}
			known[name] = true
			for _, file := range []string{real, s.interpreter(real)} {
				if _, err := os.Stat(file); err == nil && paths.Within(file, s.home) && !s.sees(file) {
					at := s.around(file)
					missing[at] = append(missing[at], name)
					break
				}
			}
		}
	}
	return missing
}

// interpreter is the program that runs a script in the home, "" for none. It may be a link, as in a virtual
// environment: what it needs is beside that.
func (s *Shown) interpreter(script string) string {
	if !paths.Within(script, s.home) {
		return ""
	}
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	line := make([]byte, 256)
	n, _ := io.ReadFull(f, line)
	line, _, _ = bytes.Cut(line[:n], []byte("\n"))
	rest, ok := bytes.CutPrefix(line, []byte("#!"))
	words := bytes.Fields(rest)
	if !ok || len(words) == 0 {
		return ""
	}
	return string(words[0])
}

// around is the directory that a program needs, or the program alone if that would show a login.
func (s *Shown) around(program string) string {
	dir := filepath.Dir(program)
	if slices.Contains([]string{"bin", "sbin"}, filepath.Base(dir)) && s.ofHome(filepath.Dir(dir)) {
		return filepath.Dir(dir)
	}
	if s.ofHome(dir) {
		return dir
	}
	return program
}

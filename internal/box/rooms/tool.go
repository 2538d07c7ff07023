package rooms

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// VisibleTool is the path at which the box's user can run a program: the original, or a copy if its mode forbids that.
func VisibleTool(tool, copied string) (string, error) {
	st, err := os.Stat(tool)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", filepath.Base(copied), err)
	}
	if os.Getuid() != 0 || st.Mode().Perm()&0o5 == 0o5 {
		return tool, nil
	}
	if have, err := os.Stat(copied); err == nil && have.Size() == st.Size() && have.ModTime().Equal(st.ModTime()) {
		return copied, nil
	}
	if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
		return "", err
	}
	return copied, copyTool(tool, copied, st)
}

func copyTool(from, to string, st fs.FileInfo) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy "+filepath.Base(to)+": %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(to), ".tool-")
	if err != nil {
		return fmt.Errorf("copy "+filepath.Base(to)+": %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	for _, then := range []func() error{
		func() error { return tmp.Chmod(0o755) },
		tmp.Close,
		func() error { return os.Chtimes(tmp.Name(), st.ModTime(), st.ModTime()) },
		func() error { return os.Rename(tmp.Name(), to) },
	} {
		if err == nil {
			err = then()
		}
	}
	if err != nil {
		return fmt.Errorf("copy "+filepath.Base(to)+": %w", err)
	}
	return nil
}

// DefaultCaches are the directories where common tools keep what they can fetch again.
func DefaultCaches() []string {
	return []string{".cache", ".npm", "go/pkg/mod", ".cargo/registry", ".cargo/git", ".m2/repository", ".gradle/caches"}
}

package rooms

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/whole"
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
	data, err := os.ReadFile(tool)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(copied), 0o755)
	}
	if err == nil {
		err = whole.Write(copied, data, 0o755)
	}
	if err == nil {
		err = os.Chtimes(copied, st.ModTime(), st.ModTime())
	}
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", filepath.Base(copied), err)
	}
	return copied, nil
}

// DefaultCaches are the directories where common tools keep what they can fetch again.
func DefaultCaches() []string {
	return []string{".cache", ".npm", "go/pkg/mod", ".cargo/registry", ".cargo/git", ".m2/repository", ".gradle/caches"}
}

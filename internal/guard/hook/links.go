package hook

import (
	"os"

	"github.com/cco-dev/cco/internal/guard"
)

// Links resolves links on the real file system.
type Links struct{}

// Lookup implements guard.Resolver.
func (Links) Lookup(path string) (guard.Entry, string) {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return guard.EntryMissing, ""
	case err != nil:
		return guard.EntryUnknown, ""
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return guard.EntryUnknown, ""
		}
		return guard.EntryLink, target
	case info.IsDir():
		return guard.EntryDir, ""
	}
	return guard.EntryFile, ""
}

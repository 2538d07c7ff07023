package hook

import (
	"os"

	"github.com/cco-dev/cco/internal/guard/land"
)

// Links resolves links on the real file system.
type Links struct{}

// Lookup implements land.Resolver.
func (Links) Lookup(path string) (land.Entry, string) {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return land.EntryMissing, ""
	case err != nil:
		return land.EntryUnknown, ""
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return land.EntryUnknown, ""
		}
		return land.EntryLink, target
	case info.IsDir():
		return land.EntryDir, ""
	}
	return land.EntryFile, ""
}

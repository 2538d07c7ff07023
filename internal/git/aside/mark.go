package aside

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
)

// maxMarked bounds how many refs are looked at for a mark.
const maxMarked = 10_000

// Mark changes when a ref in the private repository may have moved. It opens nothing there.
func (r *Repo) Mark() string {
	sum, left := fnv.New64a(), maxMarked
	see := func(name string) {
		if st, err := os.Lstat(name); err == nil {
			_, _ = fmt.Fprintln(sum, name, st.ModTime().UnixNano(), st.Size())
		}
	}
	p := r.parts[0]
	for _, name := range []string{filepath.Join(p.common, "packed-refs"), filepath.Join(p.gitDir, "HEAD"),
		filepath.Join(p.gitDir, "index")} {
		see(name)
	}
	_ = filepath.WalkDir(filepath.Join(p.common, "refs", "heads"), func(name string, _ fs.DirEntry, err error) error {
		if left--; left < 0 || err != nil {
			return fs.SkipAll
		}
		see(name)
		return nil
	})
	return fmt.Sprint(sum.Sum64())
}

package inside

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Furniture is the files that an agent's program needs in a directory of its session. Furnish reads it from its input.
type Furniture struct {
	Dir   string
	Files []whole.File // at slash-separated paths below it
}

// maxFurniture limits how much is read: settings are small.
const maxFurniture = 16 << 20

// Furnish writes the files. It runs in the box because the directory is the agent's own: links there lead only to
// places that the agent can reach itself.
func Furnish(_ context.Context, r io.Reader) error {
	var f Furniture
	if err := json.NewDecoder(io.LimitReader(r, maxFurniture)).Decode(&f); err != nil {
		return fmt.Errorf("read files: %w", err)
	}
	for _, file := range f.Files {
		if !filepath.IsLocal(filepath.FromSlash(file.Path)) {
			return fmt.Errorf("%q leads out of %s", file.Path, f.Dir)
		}
		path := filepath.Join(f.Dir, filepath.FromSlash(file.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		// A new file takes its place each time: the old one may be closed to its owner, or be a link. Whoever reads it
		// meanwhile finds one of them, and whole. Nothing waits for the disk: a new start writes all of it again.
		next := path + ".cco-new"
		if err := tree.Remove(next); err != nil {
			return err
		}
		if err := os.WriteFile(next, file.Data, file.Mode); err != nil {
			return err
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			if err := tree.Remove(path); err != nil {
				return err
			}
		}
		if err := os.Rename(next, path); err != nil {
			return err
		}
	}
	return nil
}

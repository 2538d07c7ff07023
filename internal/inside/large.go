package inside

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// defaultMost is the default for the size of the largest file that is kept.
const defaultMost = 100 << 20

func (j Job) most() int64 {
	if j.MaxFile > 0 {
		return j.MaxFile
	}
	return defaultMost
}

// largeFile is a file that is not kept because of its size. A sparse file costs an agent nothing, and hashing it would
// take us hours.
type largeFile struct {
	name string
	size int64
}

func (f largeFile) words(most int64) string {
	return fmt.Sprintf("%s, whose %d bytes are over the limit of %d (pull.max_blob)", f.name, f.size, most)
}

// large finds the files that git add would read and that are too large, and takes those that an agent has staged itself
// out of the index again. With a fresh index it checks every file; otherwise git knows by size and times which have
// changed, and there may be none.
func (r repo) large(ctx context.Context, head string, most int64, fresh bool) (found []largeFile, none bool,
	err error) {
	tracked := "-m"
	if fresh {
		tracked = "-c"
	}
	c := r.cmd("ls-files", "-z", "-o", tracked, "--exclude-standard")
	words, out := &proc.Tail{Max: 4 << 10}, &limited{max: maxListed}
	c.Stdout, c.Stderr = out, words
	if err := proc.Run(ctx, c); err != nil {
		return nil, false, ctx.Err() // git add reports it
	}
	staged, err := r.text(ctx, nil, "diff-index", "--cached", "-z", "--name-only", "--no-renames", head)
	if err != nil {
		return nil, false, err
	}
	var back strings.Builder
	seen := map[string]bool{}
	for name := range strings.SplitSeq(out.String()+staged, "\x00") {
		info, err := os.Lstat(filepath.Join(r.dir, name))
		if err == nil && info.Mode().IsRegular() && info.Size() > most && !seen[name] {
			seen[name] = true
			found = append(found, largeFile{name, info.Size()})
			back.WriteString(":(top,literal)" + name + "\x00")
		}
	}
	if len(found) > 0 {
		_, err = r.text(ctx, strings.NewReader(back.String()), "reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul",
			head)
	}
	return found, !fresh && out.Len() == 0 && len(found) == 0 && words.String() == "", err
}

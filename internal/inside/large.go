package inside

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// large finds the files that git add would read and that are too large. With a fresh index it checks every file;
// otherwise git knows by size and times which have changed, and there may be none.
func (r repo) large(ctx context.Context, most int64, fresh bool) (found []largeFile, none bool, err error) {
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
	seen := map[string]bool{}
	for name := range strings.SplitSeq(out.String(), "\x00") {
		info, err := os.Lstat(filepath.Join(r.dir, name))
		if err == nil && info.Mode().IsRegular() && info.Size() > most && !seen[name] {
			seen[name] = true
			found = append(found, largeFile{name, info.Size()})
		}
	}
	return found, !fresh && out.Len() == 0 && words.String() == "", nil
}

// unstage takes files that are too large out of the index again, if an agent has staged them itself.
func (r repo) unstage(ctx context.Context, from, to string, most int64) (lost []string, err error) {
	out, err := r.text(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	var oids strings.Builder
	changed := map[string][]stagedFile{}
	f := strings.Split(out, "\x00")
	for i := 0; i+1 < len(f); i += 2 {
		meta := strings.Fields(strings.TrimPrefix(f[i], ":"))
		if len(meta) == 5 && strings.HasPrefix(meta[1], "100") {
			changed[meta[3]] = append(changed[meta[3]], stagedFile{f[i+1], meta[0] + " " + meta[2]})
			oids.WriteString(meta[3] + "\n")
		}
	}
	if out, err = r.text(ctx, strings.NewReader(oids.String()), "cat-file",
		"--batch-check=%(objectname) %(objectsize)"); err != nil {
		return nil, err
	}
	var back strings.Builder
	for line := range strings.Lines(out) {
		oid, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		size, err := strconv.ParseInt(text, 10, 64)
		if err != nil || size <= most {
			continue
		}
		for _, s := range changed[oid] {
			lost = append(lost, largeFile{s.name, size}.words(most))
			back.WriteString(s.before + "\t" + s.name + "\x00")
		}
		delete(changed, oid) // each of its names asks for it once
	}
	if back.Len() > 0 {
		_, err = r.text(ctx, strings.NewReader(back.String()), "update-index", "-z", "--index-info")
	}
	return lost, err
}

// stagedFile is a file that differs, with the mode and object that were at its name before, zeros for nothing.
type stagedFile struct{ name, before string }

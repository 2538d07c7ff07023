package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/proc"
)

// Aside writes what is new in the private repository of a cage to out: what there is, and a pack. It adds nothing to
// the repository but objects, and removes what git would wait for.
func Aside(ctx context.Context, in io.Reader, out io.Writer) error {
	var j wire.Job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	unblock(j.GitDir)
	r := repo{dir: j.WorkTree, gitDir: j.GitDir}
	said, err := r.asideRefs(ctx)
	if err != nil {
		return fmt.Errorf("list refs: %w", err)
	}
	if !j.NoIndex {
		if said.Index, said.Left, err = r.indexCommit(ctx, said.Head); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			said.Left = firstOf("", err)
		}
	}
	if err := wire.Write(out, said); err != nil {
		return err
	}
	if err := r.asidePack(ctx, j, said, out); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return nil
}

// unblock removes what git would wait for in the places of files, or read without an end: FIFOs and the like, and files
// of a size that none of git's has, objects aside.
func unblock(gitDir string) {
	n := 0
	for _, dir := range slices.Compact([]string{gitDir, commonDir(gitDir)}) {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
			if n++; n > maxSwept {
				return filepath.SkipAll
			}
			most := int64(maxIndex)
			if strings.Contains(path, "/refs/") && !strings.Contains(path, "/logs/") {
				most = maxRef
			}
			info, err := os.Stat(path)
			if err != nil || info.IsDir() {
				return nil //nolint:nilerr // what can't be looked at, git can't read
			}
			if !info.Mode().IsRegular() || info.Size() > most && !strings.Contains(path, "/objects/") {
				_ = os.Remove(path)
			}
			return nil
		})
	}
}

// commonDir is where a repository keeps what its worktrees share.
func commonDir(admin string) string {
	text, err := readSmall(filepath.Join(admin, "commondir"))
	dir := strings.TrimSpace(text)
	switch {
	case err != nil:
		return admin
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join(admin, dir)
}

// maxSwept is how many files of a repository are checked.
const maxSwept = 500_000

// maxRef is the size of the largest file that holds a ref.
const maxRef = 8 << 10

// asideRefs lists refs, but for symbolic ones, and HEAD.
func (r repo) asideRefs(ctx context.Context) (said wire.Said, err error) {
	out, err := proc.Output(ctx, r.cmd("for-each-ref", "--format=%(objectname) %(refname) %(symref)"))
	if err != nil {
		return said, err
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), " "); len(f) == 3 && f[2] == "" {
			said.Refs = append(said.Refs, wire.Ref{Name: []byte(f[1]), OID: f[0]})
		}
	}
	at, err := r.line(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && proc.Code(err) != 1 {
		return said, err
	}
	said.Symref = []byte(at)
	said.Head, err = r.line(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil && at != "" {
		said.Head, err = "", nil // no commit yet
	}
	return said, err
}

// indexCommit makes a commit of a copy of the index: the agent may be at work on its own. What is in conflict is there
// as HEAD has it. Of an index that is too large a part is copied, which git refuses.
func (r repo) indexCommit(ctx context.Context, head string) (commit, left string, err error) {
	dir, err := os.MkdirTemp(r.gitDir, "cco-index-") // a cage without mounts can write nowhere else
	if err != nil {
		return "", "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	index, err := readUpTo(filepath.Join(r.gitDir, "index"), maxIndex)
	if r.index = filepath.Join(dir, "index"); err == nil {
		err = os.WriteFile(r.index, []byte(index), 0o600)
	}
	if err != nil && (head != "" || !errors.Is(err, fs.ErrNotExist)) { // at first there is none
		return "", "", err
	}
	unmerged, err := r.text(ctx, nil, "ls-files", "-u", "-z")
	if err != nil {
		return "", "", err
	}
	var gone, ours strings.Builder
	for record := range strings.SplitSeq(unmerged, "\x00") {
		meta, path, _ := strings.Cut(record, "\t")
		if f := strings.Fields(meta); len(f) == 3 {
			left = "some of it is in conflict"
			gone.WriteString("0 " + strings.Repeat("0", len(f[1])) + "\t" + path + "\x00")
			if f[2] == "2" {
				ours.WriteString(f[0] + " " + f[1] + "\t" + path + "\x00")
			}
		}
	}
	if _, err := r.text(ctx, strings.NewReader(gone.String()+ours.String()), "update-index", "-z",
		"--index-info"); err != nil {
		return "", "", err
	}
	tree, err := r.line(ctx, "write-tree")
	if err != nil {
		return "", "", err
	}
	args := []string{"commit-tree", tree, "-m", "index"}
	if head != "" {
		if was, err := r.line(ctx, "rev-parse", head+"^{tree}"); err != nil || was == tree {
			return head, left, err
		}
		args = append(args, "-p", head)
	}
	r.env = append(r.env, "GIT_AUTHOR_NAME=cco", "GIT_AUTHOR_EMAIL=cco@localhost", "GIT_AUTHOR_DATE=@0 +0000",
		"GIT_COMMITTER_NAME=cco", "GIT_COMMITTER_EMAIL=cco@localhost", "GIT_COMMITTER_DATE=@0 +0000")
	commit, err = r.line(ctx, args...)
	return commit, left, err
}

// asidePack writes a pack of what is new: what the branches, HEAD and the index need, and the user doesn't have.
func (r repo) asidePack(ctx context.Context, j wire.Job, said wire.Said, out io.Writer) error {
	want := j.Only
	if len(want) == 0 {
		want = []string{said.Head, said.Index}
		for _, ref := range said.Refs {
			if strings.HasPrefix(string(ref.Name), "refs/heads/") {
				want = append(want, ref.OID)
			}
		}
	}
	ask := r.cmd("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
	ask.Stdin = strings.NewReader(strings.Join(slices.Concat(want, j.Not), "\n") + "\n")
	kinds, err := proc.Output(ctx, ask)
	if err != nil {
		return err
	}
	commits := map[string]bool{}
	for line := range strings.Lines(string(kinds)) {
		oid, kind, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		commits[oid] = kind == "commit"
	}
	other := func(oid string) bool { return !commits[oid] }
	return r.pack(ctx, out, slices.DeleteFunc(slices.Clone(want), other), slices.DeleteFunc(slices.Clone(j.Not), other))
}

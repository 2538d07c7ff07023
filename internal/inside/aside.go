package inside

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/proc"
)

// Aside writes what is new in the private repository of a cage to out: a header, a pack, and an end. It writes nothing
// into the repository, but it removes what git would wait for.
func Aside(ctx context.Context, in io.Reader, out io.Writer) error {
	jobs := bufio.NewReader(in)
	j, err := wire.ReadJob(jobs)
	if err != nil {
		return err
	}
	index, err := io.ReadAll(jobs)
	if err != nil {
		return err
	}
	unblock(j.GitDir)
	r := repo{dir: j.WorkTree, gitDir: j.GitDir}
	said := wire.Said{}
	if said.Heads, said.Others, err = r.asideRefs(ctx); err != nil {
		return fmt.Errorf("list refs: %w", err)
	}
	if said.Head, err = r.asideHead(ctx); err != nil {
		return fmt.Errorf("read HEAD: %w", err)
	}
	if !j.NoIndex {
		said.Index, err = r.asideIndex(ctx, index)
		if said.IndexBroken = err != nil; ctx.Err() != nil {
			return ctx.Err()
		}
		if said.IndexBroken {
			said.Index = nil
		}
	}
	if err := wire.Write(out, said); err != nil {
		return err
	}
	if err := r.asidePack(ctx, j, said, out); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	_, err = io.WriteString(out, wire.End)
	return err
}

// unblock removes FIFOs and the like in the places of files that git reads: it would wait for them.
func unblock(gitDir string) {
	n := 0
	for _, dir := range slices.Compact([]string{gitDir, commonDir(gitDir)}) {
		for _, name := range []string{".", "info", "objects", "refs"} {
			top := filepath.Join(dir, name)
			_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
				if n++; n > maxSwept {
					return filepath.SkipAll
				}
				if err != nil {
					return nil
				}
				if e.IsDir() && path != top && name != "refs" && name != "objects" {
					return filepath.SkipDir
				}
				if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
					_ = os.Remove(path)
				}
				return nil
			})
		}
	}
}

// asideRefs lists the branches and the other refs. Symbolic ones are left out, and branches that are no commits.
func (r repo) asideRefs(ctx context.Context) (heads, others map[string]string, err error) {
	out, err := proc.Output(ctx, r.cmd("for-each-ref", "--format=%(objectname) %(refname) %(symref)"))
	if err != nil {
		return nil, nil, err
	}
	heads, others = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(f) != 3 || f[2] != "" || !wire.ValidRef(f[1]) {
			continue
		}
		if branch, ok := strings.CutPrefix(f[1], "refs/heads/"); ok {
			heads[branch] = f[0]
		} else {
			others[f[1]] = f[0]
		}
	}
	kinds, err := r.kinds(ctx, slices.Collect(maps.Values(heads)))
	maps.DeleteFunc(heads, func(_, oid string) bool { return kinds[oid] != "commit" })
	return heads, others, err
}

func (r repo) asideHead(ctx context.Context) (h wire.Head, err error) {
	h.Symref, err = r.line(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && proc.Code(err) != 1 {
		return h, err
	}
	h.OID, err = r.line(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil && h.Symref != "" {
		return wire.Head{Symref: h.Symref}, nil // no commit yet
	}
	return h, err
}

// asideIndex gives what the index has that the user's has not. A file that was only announced (git add -N) is not there
// yet: git lists it as an empty one.
func (r repo) asideIndex(ctx context.Context, was []byte) (map[string][]wire.Entry, error) {
	is, err := proc.Output(ctx, r.cmd("ls-files", "--stage", "-z"))
	if err != nil {
		return nil, err
	}
	diff, err := wire.Differ(was, is)
	if err != nil || len(diff) == 0 {
		return diff, err
	}
	if len(diff) > wire.MaxEntries {
		return nil, errors.New("too many differences")
	}
	announced, err := proc.Output(ctx, r.cmd("diff-files", "-z", "--name-only", "--diff-filter=A", "--ignore-submodules"))
	for path := range bytes.SplitSeq(announced, []byte{0}) {
		delete(diff, string(path))
	}
	return diff, err
}

// asidePack writes a pack of what is new: what the branches, HEAD and the index need, and the user doesn't have.
func (r repo) asidePack(ctx context.Context, j wire.Job, said wire.Said, out io.Writer) error {
	want := j.Only
	if len(want) == 0 {
		want = tipsOf(said)
	}
	has, err := r.kinds(ctx, j.Not)
	if err != nil {
		return err
	}
	if len(has) == 0 && len(j.Not) > 0 {
		return errors.New("nothing of the user's repository is in sight")
	}
	var revs strings.Builder
	for _, oid := range want {
		revs.WriteString(oid + "\n")
	}
	for oid := range has {
		revs.WriteString("^" + oid + "\n")
	}
	c := r.cmd("pack-objects", "--stdout", "--revs", "--thin", "--delta-base-offset", "-q")
	c.Stdin, c.Stdout = strings.NewReader(revs.String()), out
	return proc.Run(ctx, c)
}

// tipsOf are the objects that a header names.
func tipsOf(said wire.Said) (oids []string) {
	if said.Head.OID != "" {
		oids = append(oids, said.Head.OID)
	}
	for _, oid := range said.Heads {
		oids = append(oids, oid)
	}
	for _, entries := range said.Index {
		for _, e := range entries {
			if e.Mode != "160000" {
				oids = append(oids, e.OID)
			}
		}
	}
	slices.Sort(oids)
	return slices.Compact(oids)
}

// kinds gives the kinds of those objects that are there.
func (r repo) kinds(ctx context.Context, oids []string) (map[string]string, error) {
	kinds := map[string]string{}
	if len(oids) == 0 {
		return kinds, nil
	}
	c := r.cmd("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
	c.Stdin = strings.NewReader(strings.Join(oids, "\n") + "\n")
	out, err := proc.Output(ctx, c)
	for line := range strings.Lines(string(out)) {
		if oid, kind, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); kind != "missing" {
			kinds[oid] = kind
		}
	}
	return kinds, err
}

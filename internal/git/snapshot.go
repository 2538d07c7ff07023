package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Snapshot is the state of a repository that an agent in a worktree box must not change.
type Snapshot struct {
	Head      string            `json:"head"`      // a ref, or a commit
	Refs      map[string]string `json:"refs"`      // full name to id
	Config    string            `json:"config"`    // hash of everything that steers git
	Hooks     string            `json:"hooks"`     // hash of all hooks
	Index     string            `json:"index"`     // hash of this worktree's index
	Worktrees []string          `json:"worktrees"` // paths
}

// Snapshot takes a snapshot: ids of refs and hashes of the rest.
func (r *Repo) Snapshot(ctx context.Context) (Snapshot, error) {
	s := Snapshot{Head: readLine(filepath.Join(r.GitDir, "HEAD")), Refs: map[string]string{}}
	out, err := r.host.out(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return Snapshot{}, fmt.Errorf("list refs: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		oid, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		s.Refs[name] = oid
	}
	list, err := r.Worktrees(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	for _, w := range list {
		s.Worktrees = append(s.Worktrees, w.Path)
	}
	slices.Sort(s.Worktrees)
	var config []string
	for _, name := range []string{"config", "info", "objects/info/alternates", "shallow", "commondir"} {
		config = append(config, filepath.Join(r.CommonDir, filepath.FromSlash(name)))
	}
	config = append(config, filepath.Join(r.GitDir, "config.worktree"), filepath.Join(r.CommonDir, "config.worktree"))
	hooks := []string{filepath.Join(r.CommonDir, "hooks")}
	if dir := r.hooksInTree(); dir != "" {
		hooks = append(hooks, filepath.Join(r.Top, filepath.FromSlash(dir)))
	} else if dir := r.get("core.hookspath"); filepath.IsAbs(dir) {
		hooks = append(hooks, dir)
	}
	for _, h := range []struct {
		to    *string
		paths []string
	}{{&s.Config, config}, {&s.Hooks, hooks}, {&s.Index, []string{filepath.Join(r.GitDir, "index")}}} {
		if *h.to, err = hashPaths(h.paths); err != nil {
			return Snapshot{}, fmt.Errorf("hash repository: %w", err)
		}
	}
	return s, nil
}

// hashPaths hashes names, modes and content of everything at and below the paths. What isn't there counts as empty.
func hashPaths(paths []string) (string, error) {
	sum := sha256.New()
	for _, root := range paths {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return hashOne(sum, p)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func hashOne(sum io.Writer, p string) error {
	info, err := os.Lstat(p)
	if err != nil {
		return err
	}
	content := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if content, err = os.Readlink(p); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		content = string(b)
	}
	_, err = fmt.Fprintf(sum, "%q %o %d\n%s", p, info.Mode(), len(content), content)
	return err
}

// DiffSnapshots says in words what changed from a to b, except for the refs named, and the worktrees whose paths are
// named. A name that ends in a star stands for all that begin with it.
func DiffSnapshots(a, b Snapshot, except ...string) []string {
	own := func(name string) bool {
		return slices.ContainsFunc(except, func(e string) bool {
			prefix, star := strings.CutSuffix(e, "*")
			return e == name || star && strings.HasPrefix(name, prefix)
		})
	}
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if a.Head != b.Head {
		say("HEAD moved from %s to %s", quote(a.Head), quote(b.Head))
	}
	for name, was := range a.Refs {
		is, ok := b.Refs[name]
		switch {
		case own(name) || is == was:
		case !ok:
			say("ref %s was deleted (it was %s)", quote(name), short(was))
		default:
			say("ref %s moved from %s to %s", quote(name), short(was), short(is))
		}
	}
	for name, is := range b.Refs {
		if _, ok := a.Refs[name]; !ok && !own(name) {
			say("ref %s appeared at %s", quote(name), short(is))
		}
	}
	for _, part := range []struct{ what, was, is string }{
		{"configuration", a.Config, b.Config}, {"hooks", a.Hooks, b.Hooks}, {"index", a.Index, b.Index},
	} {
		if part.was != part.is {
			say("%s changed", part.what)
		}
	}
	for _, w := range a.Worktrees {
		if !own(w) && !slices.Contains(b.Worktrees, w) {
			say("worktree %s is gone", quote(w))
		}
	}
	for _, w := range b.Worktrees {
		if !own(w) && !slices.Contains(a.Worktrees, w) {
			say("worktree %s appeared", quote(w))
		}
	}
	slices.Sort(words)
	return words
}

package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Ref is what a ref holds.
type Ref struct {
	OID    string `json:"oid"`
	Symref string `json:"symref,omitempty"` // the ref that it stands for, if it is symbolic
}

// Refs lists every ref of the repository that can be resolved, or those below some names.
func (r *Repo) Refs(ctx context.Context, below ...string) (map[string]Ref, error) {
	out, err := r.host.Out(ctx, append([]string{"for-each-ref", "--format=%(objectname) %(refname) %(symref)"},
		below...)...)
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	refs := map[string]Ref{}
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("list refs: unexpected line %s", Quote(line))
		}
		refs[f[1]] = Ref{OID: f[0], Symref: f[2]}
	}
	return refs, nil
}

// SetRef writes a ref of cco's own.
func (r *Repo) SetRef(ctx context.Context, name, oid string) error {
	if err := r.CheckOID(oid); err != nil {
		return err
	}
	if err := r.host.Run(ctx, nil, "update-ref", "--no-deref", name, oid); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// DropRef removes a ref of cco's own, if it is there.
func (r *Repo) DropRef(ctx context.Context, name string) error {
	if err := r.host.Run(ctx, nil, "update-ref", "--no-deref", "-d", name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// DropRefAt removes a ref of cco's own that holds oid, and leaves it if it has moved.
func (r *Repo) DropRefAt(ctx context.Context, name, oid string) error {
	if err := r.host.Run(ctx, nil, "update-ref", "--no-deref", "-d", name, oid); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// HasObject says whether an object is there.
func (r *Repo) HasObject(ctx context.Context, oid string) bool {
	if r.CheckOID(oid) != nil {
		return false
	}
	_, err := os.Lstat(filepath.Join(r.CommonDir, "objects", oid[:2], oid[2:])) // a loose one needs no git
	return err == nil || r.host.Run(ctx, nil, "cat-file", "-e", oid) == nil
}

// HooksInTree gives the directory that core.hooksPath names, if it is in the worktree.
func (r *Repo) HooksInTree() string {
	dir := r.get("core.hookspath")
	if dir == "" {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.Top, dir)
	}
	return r.inTree(dir)
}

// IncludesInTree gives the files in the worktree that settings of git include. What a path starts from depends on the
// file that names it: all that it can be count.
func (r *Repo) IncludesInTree() (names []string) {
	for _, s := range r.config {
		if !strings.HasPrefix(s.Key, "include") || !strings.HasSuffix(s.Key, ".path") {
			continue
		}
		for _, from := range []string{r.CommonDir, r.GitDir, os.Getenv("HOME")} {
			if name := r.inTree(inSettings(s.Value, from)); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// inTree is a path in the worktree as it is from there, or nothing for one elsewhere.
func (r *Repo) inTree(name string) string {
	rel, err := filepath.Rel(r.Top, name)
	if rel = filepath.ToSlash(rel); err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return rel
}

// Has says whether the repository has a commit, and some ref leads to it.
func (r *Repo) Has(ctx context.Context, commit string) bool {
	if r.CheckOID(commit) != nil {
		return false
	}
	out, err := r.host.Line(ctx, "for-each-ref", "--count=1", "--contains="+commit, "--format=%(refname)")
	return err == nil && out != ""
}

// Reachable says which of some commits the repository has, with a ref that leads to each. Words that are no ids don't
// count, and neither do refs that match a pattern of without.
func (r *Repo) Reachable(ctx context.Context, commits []string, without ...string) (map[string]bool, error) {
	known, err := r.known(ctx, commits)
	has := map[string]bool{}
	for _, oid := range known {
		has[oid] = true
	}
	if err != nil || len(known) == 0 {
		return has, err
	}
	args := []string{"rev-list", "--stdin", "--not"}
	for _, pattern := range without {
		args = append(args, "--exclude="+pattern)
	}
	out, err := r.host.Feed(ctx, Revisions(known, nil), append(args, "--all")...)
	for oid := range strings.FieldsSeq(string(out)) {
		delete(has, oid)
	}
	return has, err
}

// SetRefs writes refs by compare-and-swap, all or none. Where a ref held commits that the new one doesn't contain,
// those stay reachable from another ref.
func (r *Repo) SetRefs(ctx context.Context, want []NamedRef) (kept []string, err error) {
	var in strings.Builder
	for _, w := range want {
		now, ok, err := r.ref(ctx, w.Name)
		if err != nil {
			return nil, err
		}
		if !ok {
			now = r.zero()
		}
		if now == w.OID {
			continue
		}
		if ok {
			contained, err := r.IsAncestor(ctx, now, w.OID)
			if err != nil {
				return nil, err
			}
			if !contained {
				keep := w.Name + "-before-" + Short(now)
				in.WriteString("update " + keep + "\x00" + now + "\x00\x00")
				kept = append(kept, keep)
			}
		}
		in.WriteString("update " + w.Name + "\x00" + w.OID + "\x00" + now + "\x00")
	}
	if in.Len() == 0 {
		return nil, nil
	}
	err = r.host.Run(ctx, strings.NewReader(in.String()), "update-ref", "-m", "cco: import", "--stdin", "-z")
	return kept, refError(err, want[0].Name)
}

// IsAncestor says whether old is new, or comes before it.
func (r *Repo) IsAncestor(ctx context.Context, old, new string) (bool, error) {
	if err := r.CheckOID(old, new); err != nil {
		return false, err
	}
	if old == new {
		return true, nil
	}
	err := r.host.Run(ctx, nil, "merge-base", "--is-ancestor", old, new)
	if proc.Code(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

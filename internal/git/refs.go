package git

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
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

// RefSwap is a change of one ref from its present value to a new one. "" stands for no ref.
type RefSwap struct {
	Name     string
	From, To string
	Keep     string // a new ref that keeps From, "" if nothing need be kept
}

// SwapRef moves, makes or removes a ref if it is still where it was found, and in the same transaction keeps what it
// held. A symbolic ref is replaced, never followed. A *RefChangedError says that it has moved meanwhile.
func (r *Repo) SwapRef(ctx context.Context, s RefSwap, why string) error {
	for _, oid := range []string{s.From, s.To} {
		if oid != "" {
			if err := r.CheckOID(oid); err != nil {
				return err
			}
		}
	}
	var in strings.Builder
	if s.Keep != "" {
		in.WriteString("create " + s.Keep + "\x00" + s.From + "\x00")
	}
	switch {
	case s.From == "" && s.To == "":
		return nil
	case s.From == "":
		in.WriteString("create " + s.Name + "\x00" + s.To + "\x00")
	case s.To == "":
		in.WriteString("delete " + s.Name + "\x00" + s.From + "\x00")
	default:
		in.WriteString("update " + s.Name + "\x00" + s.To + "\x00" + s.From + "\x00")
	}
	err := r.host.Run(ctx, strings.NewReader(in.String()), "update-ref", "--no-deref", "-m", why, "--stdin", "-z")
	return refError(err, s.Name)
}

// SetSymref makes a ref symbolic for another.
func (r *Repo) SetSymref(ctx context.Context, name, target, why string) error {
	for _, n := range []string{name, target} {
		if !strings.HasPrefix(n, "refs/") {
			return fmt.Errorf("not a ref: %s", Quote(n))
		}
	}
	return refError(r.host.Run(ctx, nil, "symbolic-ref", "-m", why, name, target), name)
}

// HasObject says whether an object is there.
func (r *Repo) HasObject(ctx context.Context, oid string) bool {
	return r.CheckOID(oid) == nil && r.host.Run(ctx, nil, "cat-file", "-e", oid) == nil
}

// ConfigFile reads a configuration file alone: what it includes is not read. The file must be one that only we can
// write, for git would wait for ever on a FIFO.
func (r *Repo) ConfigFile(ctx context.Context, file string) ([]Setting, error) {
	out, err := r.host.Out(ctx, "config", "--no-includes", "--file", file, "-z", "--list")
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return ParseConfig(out), nil
}

// IndexFile lists an index by path: mode, object and stage of each entry, and whether git has been told to ignore its
// changes. Caches of git are left out. The file must be one that only we can write.
func (r *Repo) IndexFile(ctx context.Context, file string) (map[string]string, error) {
	entries := map[string]string{}
	c := r.host.With("GIT_INDEX_FILE="+file).Cmd("ls-files", "-s", "-v", "-z")
	err := r.host.Scan(ctx, c, 0, func(line []byte) error {
		meta, path, ok := strings.Cut(string(line), "\t")
		if !ok {
			return fmt.Errorf("unexpected line %s", Quote(Clip(string(line))))
		}
		entries[path] += meta + "\n"
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return entries, nil
}

// HooksDir is the directory outside .git that core.hooksPath names, "" if there is none.
func (r *Repo) HooksDir() string {
	if dir := r.HooksInTree(); dir != "" {
		return filepath.Join(r.Top, filepath.FromSlash(dir))
	}
	if dir := r.get("core.hookspath"); filepath.IsAbs(dir) && dir != nowhere {
		return filepath.Clean(dir)
	}
	return ""
}

// HooksInTree gives the directory that core.hooksPath names, if it is in the worktree.
func (r *Repo) HooksInTree() string {
	dir := r.get("core.hookspath")
	if dir == "" {
		return ""
	}
	if filepath.IsAbs(dir) {
		rel, err := filepath.Rel(r.Top, dir)
		if err != nil {
			return ""
		}
		dir = rel
	}
	dir = path.Clean(filepath.ToSlash(dir))
	if dir == "." || dir == ".." || strings.HasPrefix(dir, "../") {
		return ""
	}
	return dir
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
// count.
func (r *Repo) Reachable(ctx context.Context, commits []string) (map[string]bool, error) {
	known, err := r.known(ctx, commits)
	has := map[string]bool{}
	for _, oid := range known {
		has[oid] = true
	}
	if err != nil || len(known) == 0 {
		return has, err
	}
	out, err := r.host.Feed(ctx, Revisions(known, nil), "rev-list", "--stdin", "--not", "--all")
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

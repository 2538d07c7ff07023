package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Ref is what a ref holds.
type Ref struct {
	OID    string `json:"oid"`
	Symref string `json:"symref,omitempty"` // the ref that it stands for, if it is symbolic
}

// Refs lists every ref of the repository that can be resolved, or those below some names.
func (r *Repo) Refs(ctx context.Context, below ...string) (map[string]Ref, error) {
	out, err := r.host.out(ctx, append([]string{"for-each-ref", "--format=%(objectname) %(refname) %(symref)"},
		below...)...)
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	refs := map[string]Ref{}
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("list refs: unexpected line %s", quote(line))
		}
		refs[f[1]] = Ref{OID: f[0], Symref: f[2]}
	}
	return refs, nil
}

// RefSwap is one ref's way from what it was found to hold to what it shall hold. "" stands for no ref.
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
			if err := r.checkOID(oid); err != nil {
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
	err := r.host.run(ctx, strings.NewReader(in.String()), "update-ref", "--no-deref", "-m", why, "--stdin", "-z")
	return refError(err, s.Name)
}

// SetSymref makes a ref stand for another.
func (r *Repo) SetSymref(ctx context.Context, name, target, why string) error {
	for _, n := range []string{name, target} {
		if !strings.HasPrefix(n, "refs/") {
			return fmt.Errorf("not a ref: %s", quote(n))
		}
	}
	return refError(r.host.run(ctx, nil, "symbolic-ref", "-m", why, name, target), name)
}

// HasObject says whether an object is there.
func (r *Repo) HasObject(ctx context.Context, oid string) bool {
	return r.checkOID(oid) == nil && r.host.run(ctx, nil, "cat-file", "-e", oid) == nil
}

// IsAncestor says whether old is new, or comes before it.
func (r *Repo) IsAncestor(ctx context.Context, old, new string) (bool, error) {
	if err := r.checkOID(old, new); err != nil {
		return false, err
	}
	return r.isAncestor(ctx, old, new)
}

// Setting is one line of a configuration file.
type Setting struct{ Key, Value string }

// ConfigFile reads a configuration file alone: what it includes is not read. The file must be one that only we can
// write, for git would wait for ever on a FIFO.
func (r *Repo) ConfigFile(ctx context.Context, file string) ([]Setting, error) {
	out, err := r.host.out(ctx, "config", "--no-includes", "--file", file, "-z", "--list")
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var all []Setting
	for _, s := range parseConfig(out) {
		all = append(all, Setting{s.key, s.value})
	}
	return all, nil
}

// IndexFile lists an index by path: mode, object and stage of each entry, and whether git has been told to look away
// from it. What git only remembers to be faster is left out. The file must be one that only we can write.
func (r *Repo) IndexFile(ctx context.Context, file string) (map[string]string, error) {
	entries := map[string]string{}
	c := r.host.with("GIT_INDEX_FILE="+file).cmd("ls-files", "-s", "-v", "-z")
	err := r.host.scanLines(ctx, c, 0, func(line []byte) error {
		meta, path, ok := strings.Cut(string(line), "\t")
		if !ok {
			return fmt.Errorf("unexpected line %s", quote(clip(string(line))))
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
	if dir := r.hooksInTree(); dir != "" {
		return filepath.Join(r.Top, filepath.FromSlash(dir))
	}
	if dir := r.get("core.hookspath"); filepath.IsAbs(dir) && dir != nowhere {
		return filepath.Clean(dir)
	}
	return ""
}

package git

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// IsPartial says whether objects may be missing until a remote is asked for them.
func (r *Repo) IsPartial() bool { return r.promisor() != "" }

// promisor names the remote that has the missing objects.
func (r *Repo) promisor() string {
	for _, s := range r.config {
		if s.Key == "extensions.partialclone" {
			return s.Value
		}
		name, ok := strings.CutPrefix(s.Key, "remote.")
		if !ok {
			continue
		}
		if name, ok = strings.CutSuffix(name, ".promisor"); ok && s.Value != "false" {
			return name
		}
	}
	return ""
}

// CheckComplete gives a *MissingObjectsError if a partial clone lacks objects of the last depth commits before commit
// (0: all history). It costs nothing for a repository that isn't partial.
func (r *Repo) CheckComplete(ctx context.Context, commit string, depth int) error {
	if err := r.CheckOID(commit); err != nil {
		return err
	}
	if !r.IsPartial() {
		return nil
	}
	args := []string{"rev-list", "--objects", "--missing=print", "--stdin"}
	tips := []string{commit}
	if depth > 0 {
		within, _, err := r.recent(ctx, commit, depth)
		if err != nil {
			return fmt.Errorf("walk history: %w", err)
		}
		tips, args = within, append(args, "--no-walk")
	}
	missing := 0
	c := r.host.Cmd(args...)
	c.Stdin = Revisions(tips, nil)
	err := r.host.Scan(ctx, c, '\n', func(line []byte) error {
		if bytes.HasPrefix(line, []byte("?")) {
			missing++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for missing objects: %w", err)
	}
	if missing > 0 {
		return &MissingObjectsError{Missing: missing, Remote: r.promisor()}
	}
	return nil
}

// Survey is what a push should warn about.
type Survey struct {
	Submodules []string // paths
	LFS        bool     // large files travel as pointers
	Filters    []string // other filters named by .gitattributes
}

// Survey looks through the tree of a commit.
func (r *Repo) Survey(ctx context.Context, commit string) (Survey, error) {
	if err := r.CheckOID(commit); err != nil {
		return Survey{}, err
	}
	var s Survey
	var attributes []string
	err := r.host.Scan(ctx, r.host.Cmd("ls-tree", "-r", "-z", "--full-tree", commit), 0, func(line []byte) error {
		meta, name, _ := strings.Cut(string(line), "\t")
		f := strings.Fields(meta)
		switch {
		case len(f) < 3:
		case f[1] == "commit":
			s.Submodules = append(s.Submodules, name)
		case path.Base(name) == ".gitattributes":
			attributes = append(attributes, f[2])
		}
		return nil
	})
	if err != nil {
		return Survey{}, fmt.Errorf("list tree: %w", err)
	}
	if len(attributes) == 0 {
		return s, nil
	}
	cat, err := r.host.CatFile(ctx)
	if err != nil {
		return Survey{}, err
	}
	defer cat.Close()
	names := map[string]bool{}
	err = cat.Each(attributes, 1<<20, func(o Object) error {
		for _, word := range strings.Fields(string(o.Data)) {
			if name, ok := strings.CutPrefix(word, "filter="); ok {
				names[name] = true
			}
		}
		return nil
	})
	if err != nil {
		return Survey{}, fmt.Errorf("read attributes: %w", err)
	}
	for name := range names {
		if name == "lfs" {
			s.LFS = true
		} else {
			s.Filters = append(s.Filters, name)
		}
	}
	slices.Sort(s.Filters)
	return s, nil
}

package aside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/tree"
)

// Refresh makes the private repository, or brings it up to the user's state; then a cage may start. Nothing of an
// earlier cage may be alive. It is ErrPending if such a cage may have left what was not brought over: End comes first.
// Killed at any point, it can be repeated.
//
// An agent that left HEAD detached, say in a bisection, finds it so again if the user's HEAD and index have not changed
// since End. Its stash, tags and other refs stay.
func (r *Repo) Refresh(ctx context.Context) error {
	for _, p := range r.parts {
		b, err := p.load()
		if err != nil {
			return err
		}
		if b != nil && b.Open && p.sub != "" {
			continue // what is left inside stays as it is
		}
		if b != nil && b.Open {
			return ErrPending
		}
		if err := p.refresh(ctx, b); err != nil {
			return fmt.Errorf("refresh the private repository: %w", err)
		}
	}
	return nil
}

func (p *part) refresh(ctx context.Context, b *began) error {
	if p.sub == "" && p.user.IsPartial() {
		return errors.New("a partial clone can't be borrowed from: its objects are elsewhere")
	}
	if err := errors.Join(os.MkdirAll(p.dir, 0o700), p.linkTheirs()); err != nil {
		return err
	}
	config, err := p.config()
	if err != nil {
		return err
	}
	now, err := p.now(ctx)
	if err != nil {
		return err
	}
	resumes, err := p.resumes(ctx, b, now)
	if err != nil {
		return err
	}
	files, err := p.files(config, now, b, resumes)
	if err != nil {
		return err
	}
	shown := filepath.Join(p.dir, "config") // by a cage with mounts, read-only, over the other
	if err := errors.Join(p.replace(files, resumes), os.WriteFile(shown, files["config"], 0o600)); err != nil {
		return err
	}
	next := &began{GitDir: p.user.GitDir, CommonDir: p.user.CommonDir, Open: true, Refs: now.refs, Head: now.head,
		Index: files[p.at("index")], Own: map[string]bool{}}
	if resumes {
		next.Index = b.Index
	}
	if branch, ok := strings.CutPrefix(now.head.Symref, "refs/heads/"); ok && p.sub == "" {
		next.Own[branch] = true
	}
	return p.save(next)
}

// linkTheirs prepares the place at which the cage has the user's objects: a directory for a mount, or else a link.
// Never both: git would take its own objects for borrowed ones, and remove them.
func (p *part) linkTheirs() error {
	if err := os.Remove(p.theirs()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if p.options.Mounts {
		return os.Mkdir(p.theirs(), 0o700)
	}
	return os.Symlink(filepath.Join(p.user.CommonDir, "objects"), p.theirs())
}

// resumes says whether HEAD and the index inside still fit what the user has.
func (p *part) resumes(ctx context.Context, b *began, now state) (bool, error) {
	if b == nil || b.Head != now.head || b.Inside != now.head && b.Inside.Symref != "" {
		return false, nil
	}
	if st, err := os.Lstat(filepath.Join(p.gitDir, "index")); err != nil || !st.Mode().IsRegular() {
		return false, nil //nolint:nilerr // it is lost, and the user's takes its place
	}
	theirs, _ := os.ReadFile(filepath.Join(p.user.GitDir, "index"))
	if bytes.Equal(theirs, b.Index) {
		return true, nil
	}
	was, err := p.withIndex(filepath.Join(p.dir, "index"), b.Index)
	var lists [2][]byte
	for i, h := range []git.Host{p.user.Host(), was} {
		var failed error
		lists[i], failed = h.Out(ctx, "ls-files", "--stage", "-z")
		err = errors.Join(err, failed)
	}
	return err == nil && bytes.Equal(lists[0], lists[1]), err
}

// files are what the private repository has of the user's, by their paths in it: all that git reads of a repository,
// and unless the agent resumes what it had under way, HEAD with its reflogs and the index.
func (p *part) files(config []byte, now state, b *began, resumes bool) (map[string][]byte, error) {
	borrowed, err := p.alternates()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"config": config, "objects/info/alternates": borrowed}
	p.refFiles(files, now, b)
	common, own := []string{"info/attributes", "info/exclude", "shallow"}, []string{"info/sparse-checkout"}
	if p.gitDir != p.common {
		files[p.at("commondir")] = []byte("../..\n")
		files[p.at("gitdir")] = []byte(filepath.Join(p.user.Top, ".git") + "\n")
		common = append(common, "HEAD") // a branch that the main worktree has checked out
	}
	if !resumes {
		all, err := os.ReadDir(p.user.GitDir)
		if err != nil {
			return nil, err
		}
		for _, e := range all { // a split index leads to another file
			if strings.HasPrefix(e.Name(), "sharedindex.") {
				own = append(own, e.Name())
			}
		}
		own = append(own, "index", "logs/HEAD")
		files[p.at("HEAD")] = []byte(now.head.OID + "\n")
		if now.head.Symref != "" {
			files[p.at("HEAD")] = []byte("ref: " + now.head.Symref + "\n")
			common = append(common, "logs/"+now.head.Symref)
		}
	}
	copied := map[string]string{}
	for _, name := range common {
		copied[name] = filepath.Join(p.user.CommonDir, name)
	}
	for _, name := range own {
		copied[p.at(name)] = filepath.Join(p.user.GitDir, name)
	}
	for name, from := range copied {
		data, err := os.ReadFile(from)
		if err == nil {
			files[name] = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	files["info/exclude"] = fmt.Appendf(files["info/exclude"], "\n%s\n", strings.Join(p.options.Exclude, "\n"))
	return files, nil
}

// at is a name of the worktree's own directory, in the common one.
func (p *part) at(name string) string {
	rel, _ := filepath.Rel(p.common, p.gitDir)
	return filepath.Join(rel, name)
}

// alternates names where objects are borrowed from. What the user's repository borrows by a relative path would not be
// found from theirs.
func (p *part) alternates() ([]byte, error) {
	dirs := []string{p.theirs()}
	objects := filepath.Join(p.user.CommonDir, "objects")
	more, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(more)) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && line[0] != '#' && line[0] != '"' && !filepath.IsAbs(line) {
			dirs = append(dirs, filepath.Join(objects, line))
		}
	}
	var b strings.Builder
	for _, dir := range dirs {
		if strings.ContainsAny(dir, "\n\"#\\") {
			dir = strconv.Quote(dir)
		}
		b.WriteString(dir + "\n")
	}
	return []byte(b.String()), nil
}

// refFiles are the user's refs, and those of the agent's that stay inside.
func (p *part) refFiles(files map[string][]byte, now state, b *began) {
	refs := map[string]string{}
	if b != nil {
		for name, oid := range b.Others {
			if (name == "refs/stash" || !apart(name)) && b.Refs[name].OID == "" {
				refs[name] = oid
			}
		}
		for _, oid := range b.Refused {
			refs["refs/cco/refused/"+oid] = oid
		}
	}
	for name, ref := range now.refs {
		if ref.Symref != "" {
			files[name] = []byte("ref: " + ref.Symref + "\n")
		} else {
			refs[name] = ref.OID
		}
	}
	packed := []byte("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		packed = append(packed, refs[name]+" "+name+"\n"...)
	}
	files["packed-refs"] = packed
}

// replace puts files into the private repository, in place of everything there but what is the agent's to keep. An
// agent has written there: nothing that was there is opened, and nothing written that it leads to.
func (p *part) replace(files map[string][]byte, resumes bool) error {
	if err := os.MkdirAll(p.root, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	makeDir := func(dir string) error {
		rel, err := filepath.Rel(p.root, dir)
		return errors.Join(err, tree.MakeDir(root, rel))
	}
	if err := makeDir(p.gitDir); err != nil {
		return err
	}
	refs := filepath.Join(p.common, "refs")
	for _, dir := range slices.Compact([]string{p.common, p.gitDir, refs}) {
		all, err := os.ReadDir(dir)
		if err != nil && dir != refs {
			return err
		}
		for _, e := range all {
			if p.stays(dir, e, resumes) {
				continue
			}
			if err := tree.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := tree.Remove(filepath.Join(p.common, "objects", "info")); err != nil {
		return err
	}
	for name, data := range files {
		name = filepath.Join(p.common, name)
		if err := errors.Join(makeDir(filepath.Dir(name)), tree.Remove(name)); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
	return errors.Join(makeDir(filepath.Join(refs, "heads")), makeDir(filepath.Join(p.common, "objects", "pack")))
}

// stays says whether something in the private repository is the agent's to keep: its objects, its reflogs with the
// stash, and what it has under way if that still fits. Locks are those of a git that was killed.
func (p *part) stays(dir string, e fs.DirEntry, resumes bool) bool {
	is := func(names ...string) bool { return slices.Contains(names, e.Name()) }
	if dir == filepath.Join(p.common, "refs") {
		return e.IsDir() && is("bisect", "rewritten", "worktree")
	}
	if resumes && dir == p.gitDir && (e.IsDir() || e.Type().IsRegular()) {
		return !is("config", "config.worktree", "packed-refs", "shallow", "info", "hooks", "commondir", "gitdir") &&
			filepath.Ext(e.Name()) != ".lock"
	}
	return e.IsDir() && is("objects", "logs", "rr-cache", "modules", "worktrees")
}

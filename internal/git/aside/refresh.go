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

	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
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
	if p.user.IsPartial() {
		return errors.New("a partial clone can't be borrowed from: its objects are elsewhere")
	}
	if err := p.makeDirs(); err != nil {
		return err
	}
	index, err := p.copyIndex()
	if err != nil {
		return err
	}
	now, err := p.now(ctx, index)
	if err != nil {
		return err
	}
	if err := p.putFiles(ctx); err != nil {
		return err
	}
	if err := p.putRefs(now, b); err != nil {
		return err
	}
	name, err := p.saveIndex(now.index)
	if err != nil {
		return err
	}
	if b == nil || !b.resumes(now, name) {
		if err := p.putHead(now, index); err != nil {
			return err
		}
	}
	next := &began{GitDir: p.user.GitDir, CommonDir: p.user.CommonDir, Open: true, Refs: now.refs, Head: now.head,
		Index: name, Own: map[string]bool{}}
	if branch, ok := strings.CutPrefix(now.head.Symref, "refs/heads/"); ok && p.sub == "" {
		next.Own[branch] = true
	}
	return p.save(next)
}

// resumes says whether HEAD and the index inside still fit what the user has.
func (b *began) resumes(now state, index string) bool {
	return b.Head == now.head && b.Index == index && (b.Inside == now.head || b.Inside.Symref == "")
}

// makeDirs makes the directories, and puts what an agent has made of them out of the way.
func (p *part) makeDirs() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	for _, dir := range []string{p.common, p.gitDir} {
		if err := realDirs(p.root, dir); err != nil {
			return err
		}
	}
	for _, name := range []string{"objects", "objects/info", "objects/pack", "info", "refs"} {
		if err := realDir(filepath.Join(p.common, name)); err != nil {
			return err
		}
	}
	if err := realDir(filepath.Join(p.gitDir, "info")); err != nil {
		return err
	}
	// Locks of a git that was killed: nothing is alive.
	for _, lock := range []string{"index.lock", "HEAD.lock"} {
		if err := tree.Remove(filepath.Join(p.gitDir, lock)); err != nil {
			return err
		}
	}
	for _, lock := range []string{"HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"} {
		if err := tree.Remove(filepath.Join(p.common, lock)); err != nil {
			return err
		}
	}
	return p.linkTheirs()
}

// realDirs is realDir for a directory and all above it, up to root.
func realDirs(root, dir string) error {
	if dir != root {
		if err := realDirs(root, filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return realDir(dir)
}

// realDir makes sure that a directory, whose parent is one, is there and can be used.
func realDir(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && info.IsDir() {
		if info.Mode().Perm()&0o700 != 0o700 {
			return os.Chmod(dir, 0o700)
		}
		return nil
	}
	if err == nil {
		err = tree.Remove(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

// linkTheirs prepares the place at which the cage has the user's objects: a directory for a mount, or else a link.
// Never both: git would take its own objects for borrowed ones, and remove them.
func (p *part) linkTheirs() error {
	if p.options.Mounts {
		return realDir(p.theirs())
	}
	objects := filepath.Join(p.user.CommonDir, "objects")
	if to, err := os.Readlink(p.theirs()); err == nil && to == objects {
		return nil
	}
	if err := os.Remove(p.theirs()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(objects, p.theirs())
}

// put writes a file of the private repository, whatever an agent has put in its place. Its directory is a real one.
func (p *part) put(name string, data []byte) error { return put(filepath.Join(p.common, name), data) }

// put leaves a file alone that holds the data already: waiting for the disk is what takes time here.
func put(path string, data []byte) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) && info.Mode().Perm()&0o600 == 0o600 {
		if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, data) {
			return nil
		}
	}
	if err == nil && info.IsDir() {
		if err := tree.Remove(path); err != nil {
			return err
		}
	}
	return whole.Write(path, data, 0o600)
}

// putCopy copies a file of the user's, or removes it inside if the user has none.
func (p *part) putCopy(name, from string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return tree.Remove(filepath.Join(p.common, name))
	}
	if err != nil {
		return err
	}
	return p.put(name, data)
}

func (p *part) putFiles(ctx context.Context) error {
	config, err := p.config(ctx)
	if err != nil {
		return err
	}
	// The first is what a cage with mounts shows, read-only, over the second.
	if err := put(filepath.Join(p.dir, "config"), config); err != nil {
		return err
	}
	if err := p.put("config", config); err != nil {
		return err
	}
	borrowed, err := p.alternates()
	if err != nil {
		return err
	}
	if err := p.put("objects/info/alternates", borrowed); err != nil {
		return err
	}
	for _, name := range []string{"info/attributes", "shallow"} {
		if err := p.putCopy(name, filepath.Join(p.user.CommonDir, name)); err != nil {
			return err
		}
	}
	excluded, err := os.ReadFile(filepath.Join(p.user.CommonDir, "info", "exclude"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(excluded) + "\n" + strings.Join(p.options.Exclude, "\n") + "\n"
	if err := p.put("info/exclude", []byte(text)); err != nil {
		return err
	}
	rel, err := filepath.Rel(p.common, p.gitDir)
	if err != nil {
		return err
	}
	sparse := filepath.Join("info", "sparse-checkout")
	if err := p.putCopy(filepath.Join(rel, sparse), filepath.Join(p.user.GitDir, sparse)); err != nil || rel == "." {
		return err
	}
	if err := p.put(filepath.Join(rel, "commondir"), []byte("../..\n")); err != nil {
		return err
	}
	return p.put(filepath.Join(rel, "gitdir"), []byte(filepath.Join(p.user.Top, ".git")+"\n"))
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

// putRefs gives the private repository the user's refs and those of its own that stay inside. All of them are packed
// before the loose ones go.
func (p *part) putRefs(now state, b *began) error {
	refs, symrefs := map[string]string{}, map[string]string{}
	if b != nil {
		for name, oid := range b.Others {
			// The stash may have been packed.
			if (name == "refs/stash" || !apart(name)) && now.refs[name].OID == "" && b.Refs[name].OID == "" {
				refs[name] = oid
			}
		}
		for branch, oid := range b.Refused {
			refs["refs/cco/refused/"+branch] = oid
		}
	}
	for name, ref := range now.refs {
		if ref.Symref != "" {
			symrefs[name] = ref.Symref
		} else {
			refs[name] = ref.OID
		}
	}
	var packed strings.Builder
	packed.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		packed.WriteString(refs[name] + " " + name + "\n")
	}
	if err := p.put("packed-refs", []byte(packed.String())); err != nil {
		return err
	}
	if err := p.dropLoose(); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.common)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for name, to := range symrefs {
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, []byte("ref: "+to+"\n"), 0o600); err != nil {
			return err
		}
	}
	return root.MkdirAll("refs/heads", 0o700)
}

// dropLoose removes loose refs, but for the agent's stash and those of what it has under way.
func (p *part) dropLoose() error {
	loose, err := os.ReadDir(filepath.Join(p.common, "refs"))
	if err != nil {
		return err
	}
	for _, e := range loose {
		if slices.Contains([]string{"stash", "bisect", "worktree", "rewritten"}, e.Name()) {
			continue
		}
		if err := tree.Remove(filepath.Join(p.common, "refs", e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyIndex copies the user's index, so that what is listed and what the cage gets are the same. It gives "" if there
// is none.
func (p *part) copyIndex() (string, error) {
	data, err := os.ReadFile(filepath.Join(p.user.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	copied := filepath.Join(p.dir, "copied")
	return copied, os.WriteFile(copied, data, 0o600)
}

// putHead gives the private repository the user's HEAD and index, and ends what an agent had under way: it began at
// another place.
func (p *part) putHead(now state, index string) error {
	if err := p.dropWork(); err != nil {
		return err
	}
	rel, err := filepath.Rel(p.common, p.gitDir)
	if err != nil {
		return err
	}
	if index == "" {
		index = filepath.Join(p.dir, "none")
	}
	if err := p.putCopy(filepath.Join(rel, "index"), index); err != nil {
		return err
	}
	files, err := os.ReadDir(p.user.GitDir)
	if err != nil {
		return err
	}
	for _, f := range files { // a split index leads to another file
		if strings.HasPrefix(f.Name(), "sharedindex.") {
			if err := p.putCopy(filepath.Join(rel, f.Name()), filepath.Join(p.user.GitDir, f.Name())); err != nil {
				return err
			}
		}
	}
	if rel != "." { // the main worktree's: its branch counts as checked out
		if err := p.putCopy("HEAD", filepath.Join(p.user.CommonDir, "HEAD")); err != nil {
			return err
		}
	}
	return p.put(filepath.Join(rel, "HEAD"), headFile(now.head))
}

// dropWork removes what git writes while a merge, rebase or bisection is under way.
func (p *part) dropWork() error {
	if err := realDir(filepath.Join(p.gitDir, "refs")); err != nil {
		return err
	}
	for _, name := range []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "CHERRY_PICK_HEAD",
		"REVERT_HEAD", "REBASE_HEAD", "SQUASH_MSG", "rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG", "BISECT_START",
		"BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK", "BISECT_RUN", "BISECT_HEAD",
		"BISECT_FIRST_PARENT", "refs/bisect", "refs/rewritten"} {
		if err := tree.Remove(filepath.Join(p.gitDir, name)); err != nil {
			return err
		}
	}
	return nil
}

func headFile(h wire.Head) []byte {
	if h.Symref != "" {
		return []byte("ref: " + h.Symref + "\n")
	}
	return []byte(h.OID + "\n")
}

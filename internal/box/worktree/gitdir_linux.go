package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// namespace is the part of a repository's branches in which sessions have theirs.
const namespace = "cco"

// git opens what git has to write for a linked worktree: objects, what belongs to the worktree, the session's branch
// and the stash. Refs are replaced by a lock file beside them that is renamed, so that directories have to be writable;
// everything in them that isn't the session's is covered by itself, read-only, and can't be renamed then.
func (v *view) git(at site, session string, write bool) error {
	if !write {
		return nil // all of it is there to be read
	}
	common, err := filepath.EvalSymlinks(at.repo.CommonDir)
	if err != nil {
		return err
	}
	if err := v.objects(filepath.Join(common, "objects")); err != nil {
		return err
	}
	v.show(at.admin, true)
	// By these a worktree and its repository find each other, and settings find both.
	config := filepath.Join(at.admin, "config.worktree")
	if err := touch(config); err != nil {
		return err
	}
	for _, name := range []string{"gitdir", "commondir"} {
		v.show(filepath.Join(at.admin, name), false)
	}
	v.show(config, false)
	for _, name := range reserved() {
		if err := os.MkdirAll(filepath.Join(common, "refs", name), 0o777); err != nil {
			return err
		}
	}
	return errors.Join(v.refs(filepath.Join(common, "refs"), session),
		v.refs(filepath.Join(common, "logs", "refs"), session))
}

// objects lets new ones be written, one by one. Packs are read-only, and so is what says where else objects are and how
// commits follow each other: by a pack, an index of packs or a graph of its own an agent could give any object, and any
// history, another content than it has. Loose objects were packed before, see quarantine.PackLoose.
func (v *view) objects(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	v.show(dir, true)
	for _, name := range []string{"info", "pack"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
		v.show(filepath.Join(dir, name), false)
	}
	return nil
}

// refs opens a tree of refs, or of their logs, for the session's branch and the stash.
func (v *view) refs(dir, session string) error {
	if err := os.MkdirAll(filepath.Join(dir, "heads", namespace), 0o777); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	mine := filepath.Join(dir, "heads", namespace)
	v.show(dir, true)
	if err := v.cover(dir, "stash"); err != nil {
		return err
	}
	v.show(mine, true)
	return v.cover(mine, session)
}

// reserved are the kinds of refs that an agent must not begin either: each has a meaning to git on the host.
func reserved() []string {
	return []string{"heads", "tags", "remotes", "notes", "replace", "cco", "original", "prefetch"}
}

// cover makes everything in a directory read-only but one entry. A link is left as it is: what it leads to is covered
// or read-only by itself. Git on the host may be replacing any of them meanwhile.
func (v *view) cover(dir, but string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == but || strings.HasSuffix(e.Name(), ".lock") || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(dir, e.Name())
		v.mounts = append(v.mounts, jail.Mount{Source: name, Target: name, File: !e.IsDir(), Cover: true})
	}
	return nil
}

func touch(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// hold keeps git on the host from removing the directory of the sessions' branches while one of them runs: packing refs
// empties it, and what is mounted on it would go too. Git takes no notice of names that end like this.
func (at site) hold(session string) (release func(), err error) {
	if at.admin == "" {
		return func() {}, nil
	}
	var held []string
	release = func() {
		for _, name := range held {
			_ = os.Remove(name)
		}
	}
	for _, refs := range []string{"refs", "logs/refs"} {
		dir := filepath.Join(at.repo.CommonDir, refs, "heads", namespace)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return release, err
		}
		name := filepath.Join(dir, "run-"+session+".lock")
		if err := touch(name); err != nil {
			return release, err
		}
		held = append(held, name)
	}
	return release, nil
}

// disarm removes FIFOs, links and the like from where an agent can write and git on the host looks for files: git would
// wait for a FIFO without end, and every `git branch` of the user's with it.
func (at site) disarm(session string) {
	if at.admin == "" {
		return
	}
	for _, dir := range []string{at.admin, filepath.Join(at.repo.CommonDir, "refs"),
		filepath.Join(at.repo.CommonDir, "logs", "refs")} {
		_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !e.Type().IsRegular() &&
				(paths.Within(name, at.admin) || e.Type()&fs.ModeSymlink == 0) {
				_ = os.Remove(name) // what can't be removed was not made by an agent
			}
			return nil // what can't be read is passed over
		})
	}
	// Without this one git would not know the worktree for one, and what is in it could not be kept.
	head := filepath.Join(at.admin, "HEAD")
	if _, err := os.Lstat(head); errors.Is(err, fs.ErrNotExist) {
		_ = os.WriteFile(head, []byte("ref: refs/heads/"+branch(session)+"\n"), 0o644) // as git makes it
	}
}

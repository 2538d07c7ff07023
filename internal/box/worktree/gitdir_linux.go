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

// namespace is the part of a repository's branches that holds those of sessions.
const namespace = "cco"

// git opens what git must write for a linked worktree: objects, the worktree's own data, the session's branch and the
// stash. Git replaces a ref by renaming a lock file beside it, so the directories must be writable; everything in them
// that isn't the session's is covered by itself, read-only, and so can't be renamed.
func (v *view) git(at site, session string, write bool) error {
	if !write {
		return nil // all of it can be read already
	}
	common, err := filepath.EvalSymlinks(at.repo.CommonDir)
	if err != nil {
		return err
	}
	if err := v.objects(filepath.Join(common, "objects")); err != nil {
		return err
	}
	v.show(at.admin, true)
	// These link a worktree and its repository, and tell git where the settings of both are.
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

// objects allows writing new loose objects. Packs are read-only, and so are the files that name other object
// directories and the order of commits: with a pack, an index of packs or a graph of its own an agent could give any
// object, and any history, another content. Loose objects were packed before, see quarantine.PackLoose.
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

// reserved are the kinds of refs that an agent must not create either: each has a meaning to git on the host.
func reserved() []string {
	return []string{"heads", "tags", "remotes", "notes", "replace", "cco", "original", "prefetch"}
}

// cover makes every entry of a directory but one read-only. It leaves links alone: their targets are covered or
// read-only themselves. Git on the host may replace any entry meanwhile.
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

// hold keeps git on the host from removing the directory of the sessions' branches while a session runs: packing refs
// empties it, and the mounts on it would go too. Git ignores names with this ending.
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

// disarm removes FIFOs, links and the like where an agent can write and git on the host looks for files: git would wait
// for a FIFO forever, and so would every `git branch` that the user runs.
func (at site) disarm(session string) {
	if at.admin == "" {
		return
	}
	for _, dir := range []string{at.admin, filepath.Join(at.repo.CommonDir, "refs"),
		filepath.Join(at.repo.CommonDir, "logs", "refs")} {
		_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !e.Type().IsRegular() &&
				(paths.Within(name, at.admin) || e.Type()&fs.ModeSymlink == 0) {
				_ = os.Remove(name) // an agent did not make what can't be removed
			}
			return nil // skip what can't be read
		})
	}
	// Without this file git would not recognise the worktree, and its content could not be kept.
	head := filepath.Join(at.admin, "HEAD")
	if _, err := os.Lstat(head); errors.Is(err, fs.ErrNotExist) {
		_ = os.WriteFile(head, []byte("ref: refs/heads/"+branch(session)+"\n"), 0o644) // as git makes it
	}
}

package inside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrLacks says that the box no longer has what the host believed it had: send everything.
var ErrLacks = errors.New("the box lacks commits that this bundle builds on")

// LacksStatus is the exit status by which the host learns of ErrLacks.
const LacksStatus = 66

// Receive makes the session's clone at the base commit, on its branch. It runs before any agent has.
func Receive(ctx context.Context, j Job) error {
	if _, err := os.Stat(filepath.Join(j.Workspace, ".git")); err == nil {
		return nil // an earlier try got this far
	}
	var err error
	if _, statErr := os.Stat(filepath.Join(j.Exchange, InputRepo)); statErr == nil {
		err = cloneShallow(ctx, j)
	} else {
		err = cloneFromStore(ctx, j)
	}
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}

// cloneFromStore adds the bundle to the box's store and makes a clone that borrows its objects. The store is read-only
// for agents, so that one session can't change what another will check out.
func cloneFromStore(ctx context.Context, j Job) error {
	if err := fillStore(ctx, j); err != nil {
		return err
	}
	half, err := newHalf(ctx, j)
	if err != nil {
		return err
	}
	alternates := filepath.Join(half.dir, ".git", "objects", "info", "alternates")
	if err := os.WriteFile(alternates, []byte(filepath.Join(j.Store, "objects")+"\n"), 0o600); err != nil {
		return err
	}
	return finish(ctx, half, j)
}

func fillStore(ctx context.Context, j Job) error {
	store := repo{dir: j.Store}
	if _, err := os.Stat(filepath.Join(j.Store, "HEAD")); errors.Is(err, os.ErrNotExist) {
		if err := store.run(ctx, "init", "-q", "--bare", "--template=", "--object-format="+format(j), "."); err != nil {
			return err
		}
	}
	bundle := filepath.Join(j.Exchange, InputBundle)
	if _, err := os.Stat(bundle); err == nil {
		if err := store.run(ctx, "bundle", "unbundle", bundle); err != nil {
			if store.run(ctx, "bundle", "verify", "-q", bundle) != nil {
				return errors.Join(ErrLacks, err)
			}
			return err
		}
	}
	if store.run(ctx, "cat-file", "-e", j.Base+"^{commit}") != nil {
		return ErrLacks
	}
	// The ref keeps the next bundle's prerequisites reachable.
	return store.run(ctx, "update-ref", "refs/cco/"+j.Base, j.Base)
}

// newHalf makes the clone's skeleton under a name that shows it to be unfinished. A half of an earlier try is removed.
func newHalf(ctx context.Context, j Job) (repo, error) {
	git := repo{dir: j.Workspace}
	if err := os.RemoveAll(filepath.Join(j.Workspace, ".git.half")); err != nil {
		return git, err
	}
	half := repo{dir: filepath.Join(j.Workspace, ".git.half")}
	if err := os.Mkdir(half.dir, 0o700); err != nil {
		return git, err
	}
	return half, half.run(ctx, "init", "-q", "--template=", "--object-format="+format(j), ".")
}

func cloneShallow(ctx context.Context, j Job) error {
	half, err := newHalf(ctx, j)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(half.dir, ".git")); err != nil {
		return err
	}
	source := "file://" + filepath.Join(j.Exchange, InputRepo)
	if err := half.run(ctx, "-c", "protocol.file.allow=always", "clone", "-q", "--no-checkout", "--template=", "--no-tags", source, "."); err != nil {
		return err
	}
	if err := half.run(ctx, "remote", "remove", "origin"); err != nil {
		return err
	}
	return finish(ctx, half, j)
}

// finish puts the branch, the identity and the skeleton's .git in place, then checks out.
func finish(ctx context.Context, half repo, j Job) error {
	steps := [][]string{
		{"update-ref", "refs/heads/" + j.Branch, j.Base},
		{"symbolic-ref", "HEAD", "refs/heads/" + j.Branch},
	}
	for _, kv := range [][2]string{{"user.name", j.Name}, {"user.email", j.Email}} {
		if kv[1] != "" {
			steps = append(steps, []string{"config", kv[0], kv[1]})
		}
	}
	for _, s := range steps {
		if err := half.run(ctx, s...); err != nil {
			return err
		}
	}
	excludes := filepath.Join(half.dir, ".git", "info")
	if err := os.MkdirAll(excludes, 0o700); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(half.dir, ".git"), filepath.Join(j.Workspace, ".git.whole")); err != nil {
		return err
	}
	if err := os.Remove(half.dir); err != nil {
		return err
	}
	// Checked out under the other name first: .git appearing is what says that the clone is complete.
	whole := filepath.Join(j.Workspace, ".git.whole")
	work := repo{dir: j.Workspace}
	if err := work.run(ctx, "--git-dir="+whole, "--work-tree="+j.Workspace, "read-tree", "--reset", "-u", j.Base); err != nil {
		return err
	}
	return os.Rename(whole, filepath.Join(j.Workspace, ".git"))
}

func format(j Job) string {
	if j.Format == "" {
		return "sha1"
	}
	return j.Format
}

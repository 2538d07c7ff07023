package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/tree"
)

// own are the directories of one session or one shell: the agent's settings, copied from the provisioned ones, and the
// directories that it sees as /tmp and /var/tmp.
type own struct{ dir string }

func (o own) home() string   { return filepath.Join(o.dir, "home") }
func (o own) tmp() string    { return filepath.Join(o.dir, "tmp") }
func (o own) varTmp() string { return filepath.Join(o.dir, "var-tmp") }

func (o own) make(l layout) error {
	if err := os.Mkdir(o.home(), 0o700); err != nil {
		return err
	}
	for _, dir := range []string{o.tmp(), o.varTmp()} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, os.ModeSticky|0o777)); err != nil {
			return err
		}
	}
	if err := cage.Me().CopyTree(l.home(), o.home()); err != nil {
		return fmt.Errorf("copy settings: %w", err)
	}
	return nil
}

// Prepare makes a session's directories and says where they are. Checkout makes its worktree.
func (d *Driver) Prepare(_ context.Context, b *box.Box, session string) (box.Place, error) {
	if err := cage.CheckKey("session", session); err != nil {
		return box.Place{}, err
	}
	exchange := filepath.Join(b.Exchange, session)
	if err := os.MkdirAll(exchange, 0o700); err != nil {
		return box.Place{}, err
	}
	if err := prepare(layout{b.Dir}, session); err != nil {
		return box.Place{}, fmt.Errorf("prepare session %s: %w", session, err)
	}
	home, err := d.home()
	return box.Place{Workspace: workspace(b, session), Exchange: exchange, Home: home,
		State: own{layout{b.Dir}.session(session)}.home(), Tool: d.opts.Tool, Guard: d.opts.Guard}, err
}

func (d *Driver) home() (string, error) {
	if d.opts.Home != "" {
		return d.opts.Home, nil
	}
	return os.UserHomeDir()
}

// prepare makes all of a session's directories, or none.
func prepare(l layout, session string) error {
	if _, err := os.Lstat(l.session(session)); err == nil {
		return nil
	}
	if err := os.MkdirAll(l.sessions(), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(l.sessions(), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = tree.Remove(tmp) }()
	if err := (own{tmp}).make(l); err != nil {
		return err
	}
	err = os.Rename(tmp, l.session(session))
	if _, exists := os.Lstat(l.session(session)); err != nil && exists == nil {
		return nil // another Prepare of the same session was first
	}
	return err
}

// Checkout makes the session's worktree, and records where git keeps the worktree's own data: later the agent could
// change what the worktree says about that.
func (d *Driver) Checkout(ctx context.Context, b *box.Box, session, base string) (string, error) {
	if err := cage.CheckKey("session", session); err != nil {
		return "", err
	}
	repo, err := git.Open(ctx, b.Spec.Repo)
	if err != nil {
		return "", err
	}
	l := layout{b.Dir}
	if _, err := os.Lstat(l.admin(session)); err == nil {
		return branch(session), nil
	}
	if _, err := os.Lstat(filepath.Join(l.workspace(session), ".git")); errors.Is(err, os.ErrNotExist) {
		if err := repo.AddWorktree(ctx, l.workspace(session), branch(session), base); err != nil {
			return "", fmt.Errorf("make a worktree: %w", err)
		}
	}
	name, err := findAdmin(repo.CommonDir, l.workspace(session))
	if err != nil {
		return "", err
	}
	if err := prepare(l, session); err != nil {
		return "", err
	}
	return branch(session), os.WriteFile(l.admin(session), []byte(name), 0o600)
}

// findAdmin finds the name under which a repository keeps a worktree. It asks the repository and not the worktree,
// because an agent may have written the worktree's .git file.
func findAdmin(common, workspace string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	var found []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(common, "worktrees", e.Name(), "gitdir"))
		if err == nil && sameDir(filepath.Dir(strings.TrimSpace(string(text))), workspace) {
			found = append(found, e.Name())
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("find the worktree %s in %s: found %d", workspace, common, len(found))
	}
	return found[0], nil
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// adminDir is where git keeps the own data of the session's worktree; "" if it has none.
func adminDir(b *box.Box, common, session string) (string, error) {
	l := layout{b.Dir}
	if _, err := os.Lstat(l.workspace(session)); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	name, err := os.ReadFile(l.admin(session))
	if errors.Is(err, os.ErrNotExist) {
		// Made by an earlier cco, or not a worktree at all.
		if _, err := os.Lstat(filepath.Join(l.workspace(session), ".git")); errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		found, err := findAdmin(common, l.workspace(session))
		return filepath.Join(common, "worktrees", found), err
	}
	if err != nil {
		return "", err
	}
	if !filepath.IsLocal(string(name)) {
		return "", fmt.Errorf("session %s: %q is not the name of a worktree", session, name)
	}
	return filepath.Join(common, "worktrees", string(name)), nil
}

// Halt ends everything that a session has running.
func (d *Driver) Halt(ctx context.Context, b *box.Box, session string) error {
	return runs(b).End(ctx, session)
}

// Discard removes a session's worktree and directories. Its branch stays in the user's repository.
func (d *Driver) Discard(ctx context.Context, b *box.Box, session string) error {
	if err := d.Halt(ctx, b, session); err != nil {
		return err
	}
	l := layout{b.Dir}
	repo, err := git.Open(ctx, b.Spec.Repo)
	admin := ""
	if err == nil { // otherwise the repository is gone, and its worktrees are useless
		if admin, err = adminDir(b, repo.CommonDir, session); err != nil {
			admin = ""
		}
	}
	// First remove the files, including those that an agent has made hard to remove; then git's record of the worktree.
	if err := tree.Remove(l.workspace(session)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("discard session %s: %w", session, err)
	}
	if _, err := os.Lstat(admin); admin != "" && err == nil {
		if err := repo.RemoveWorktree(ctx, l.workspace(session), true); err != nil {
			return fmt.Errorf("discard session %s: %w", session, err)
		}
	}
	if err := tree.Remove(l.session(session)); err != nil {
		return fmt.Errorf("discard session %s: %w", session, err)
	}
	return nil
}

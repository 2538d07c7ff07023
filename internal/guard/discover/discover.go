// Package discover makes a guard policy out of what stands on disk around a worktree or clone. It reads git's files
// itself and runs nothing, since the directories that it looks at may be an agent's.
package discover

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/paths"
)

// Policy describes the workspace at dir. Host may be empty, in which case a
// linked worktree's own main worktree is taken.
func Policy(dir, host, home string) (guard.Policy, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return guard.Policy{}, err
	}
	p := guard.Policy{
		Workspace: dir, Host: host, Home: home,
		Scratch: everyForm("/tmp", "/var/tmp", "/dev/shm", filepath.Clean(os.TempDir())),
		Caches:  everyForm(guard.CacheRoots(home)...),
	}
	if err := repository(&p); err != nil {
		return guard.Policy{}, err
	}
	return p, p.Validate()
}

// everyForm adds the resolved form of each name that lies behind a link. None comes twice.
func everyForm(names ...string) (forms []string) {
	for _, name := range names {
		resolved, _ := filepath.EvalSymlinks(name) // "" if nothing is there
		for _, form := range []string{name, resolved} {
			if form != "" && !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	return forms
}

// repository fills in what git's own files say about the workspace.
func repository(p *guard.Policy) error {
	name := filepath.Join(p.Workspace, ".git")
	content, err := hook.ReadFile(name)
	switch target, isFile := strings.CutPrefix(string(content), "gitdir: "); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, syscall.EISDIR):
		p.GitDir = name
	case err != nil:
		return err
	case !isFile:
		return errors.New(name + " is not a git file")
	default:
		p.GitDir = paths.From(p.Workspace, strings.TrimSpace(target))
		if common, err := hook.ReadFile(filepath.Join(p.GitDir, "commondir")); err == nil {
			p.Host = cmp.Or(p.Host, filepath.Dir(paths.From(p.GitDir, strings.TrimSpace(string(common)))))
		}
	}
	head, _ := hook.ReadFile(filepath.Join(p.GitDir, "HEAD"))
	if branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/"); ok {
		p.Branch = branch
	}
	return nil
}

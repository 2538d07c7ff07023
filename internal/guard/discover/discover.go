// Package discover makes a guard policy out of what stands on disk around a worktree or clone. It reads git's files
// itself and runs nothing, since the directories that it looks at may be an agent's.
package discover

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p.GitDir, p.GitCommonDir = name, name
	if !info.IsDir() {
		content, err := hook.ReadFile(name)
		if err != nil {
			return err
		}
		target, ok := strings.CutPrefix(string(content), "gitdir: ")
		if !ok {
			return errors.New(name + " is not a git file")
		}
		p.GitDir = paths.From(p.Workspace, strings.TrimSpace(target))
		p.GitCommonDir = p.GitDir
		if common, err := hook.ReadFile(filepath.Join(p.GitDir, "commondir")); err == nil {
			p.Linked = true
			p.GitCommonDir = paths.From(p.GitDir, strings.TrimSpace(string(common)))
		}
	}
	if p.Linked && p.Host == "" {
		p.Host = filepath.Dir(p.GitCommonDir)
	}
	p.Branch = hook.Branch(p.GitDir)
	return nil
}

// Package discover makes a guard policy out of what stands on disk around a
// worktree or clone. It reads git's files itself and runs nothing, since the
// directories that it looks at may be an agent's.
package discover

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/guard"
)

const maxFile = 1 << 20

// Policy describes the workspace at dir. Host may be empty, in which case a
// linked worktree's own main worktree is taken.
func Policy(dir, host, home string) (guard.Policy, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return guard.Policy{}, err
	}
	p := guard.Policy{
		Workspace: dir, Host: host, Home: home,
		Scratch: everyForm(scratch()), Caches: everyForm(guard.CacheRoots(home)),
	}
	if err := repository(&p); err != nil {
		return guard.Policy{}, err
	}
	return p, p.Validate()
}

// scratch lists the temporary directories of this machine.
func scratch() []string {
	roots := []string{"/tmp", "/var/tmp", "/dev/shm"}
	if dir := filepath.Clean(os.TempDir()); dir != roots[0] {
		roots = append(roots, dir)
	}
	return roots
}

// everyForm adds the resolved form of each name that lies behind a link.
func everyForm(names []string) []string {
	out := names
	for _, name := range names {
		if resolved, err := filepath.EvalSymlinks(name); err == nil && resolved != name {
			out = append(out, resolved)
		}
	}
	return out
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
		content, err := read(name)
		if err != nil {
			return err
		}
		target, ok := strings.CutPrefix(content, "gitdir: ")
		if !ok {
			return errors.New(name + " is not a git file")
		}
		p.GitDir = from(p.Workspace, strings.TrimSpace(target))
		p.GitCommonDir = p.GitDir
		if common, err := read(filepath.Join(p.GitDir, "commondir")); err == nil {
			p.Linked = true
			p.GitCommonDir = from(p.GitDir, strings.TrimSpace(common))
		}
	}
	if p.Linked && p.Host == "" {
		p.Host = filepath.Dir(p.GitCommonDir)
	}
	p.Branch = Branch(p.GitDir)
	config, err := read(filepath.Join(p.GitCommonDir, "config"))
	if err == nil {
		p.Remotes = remotes(config)
	}
	return nil
}

// Branch reads the branch that HEAD of a git directory is on; "" if none.
func Branch(gitDir string) string {
	head, err := read(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return ""
	}
	ref, ok := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return ref
}

// remotes reads the URLs of the remotes out of a configuration file.
func remotes(config string) map[string]string {
	found := map[string]string{}
	section := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = ""
			if name, ok := strings.CutPrefix(line, `[remote "`); ok {
				section = strings.TrimSuffix(name, `"]`)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section != "" && strings.EqualFold(strings.TrimSpace(key), "url") {
			found[section] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found
}

func from(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// read reads a small file; git's own files are.
func read(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // an agent may have put a FIFO there
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, errors.New(name+" is no file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return string(data), err
}

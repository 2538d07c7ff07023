package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The modes that git writes today.
const (
	ModeTree    = "40000"
	ModeFile    = "100644"
	ModeExec    = "100755"
	ModeLink    = "120000"
	ModeGitlink = "160000"
)

// change is a path that differs between two commits. The new side is empty when the path is gone, the old side when
// it is new.
type change struct {
	path      string
	oldMode   string
	mode, oid string
}

// diffCommits lists what differs between two commits.
func (r *Repo) diffCommits(ctx context.Context, from, to string) ([]change, error) {
	out, err := r.host.Out(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
		"--ignore-submodules=none", from, to, "--")
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	f := fields(out)
	var list []change
	for i := 0; i+1 < len(f); i += 2 {
		meta := strings.Fields(strings.TrimPrefix(f[i], ":"))
		if len(meta) != 5 {
			return nil, fmt.Errorf("compare: git answered %s", Quote(f[i]))
		}
		c := change{path: f[i+1]}
		if meta[0] != "000000" {
			c.oldMode = meta[0]
		}
		if meta[1] != "000000" {
			c.mode, c.oid = meta[1], meta[3]
		}
		list = append(list, c)
	}
	return list, nil
}

// Changed is a file that differs between two commits.
type Changed struct {
	Path      string
	New, Gone bool
}

// Changed lists the files that differ between two commits.
func (r *Repo) Changed(ctx context.Context, from, to string) (list []Changed, err error) {
	all, err := r.diffCommits(ctx, from, to)
	for _, c := range all {
		list = append(list, Changed{Path: c.path, New: c.oldMode == "", Gone: c.mode == ""})
	}
	return list, err
}

// status is how a tracked file differs from HEAD.
type status struct {
	staged, worktree byte
	mode, oid        string // in the index
}

// statuses gives every tracked file that differs from HEAD in the index or the worktree. It writes nothing.
func (r *Repo) statuses(ctx context.Context) (map[string]status, error) {
	out, err := r.host.Out(ctx, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no",
		"--ignore-submodules=dirty")
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	all := map[string]status{}
	for _, line := range fields(out) {
		switch line[0] {
		case '#': // a header that some configuration asks for
		case '1': // 1 XY sub mH mI mW hH hI path
			f := strings.SplitN(line, " ", 9)
			if len(f) != 9 {
				return nil, fmt.Errorf("read status: git answered %s", Quote(line))
			}
			all[f[8]] = status{staged: f[1][0], worktree: f[1][1], mode: f[4], oid: f[7]}
		case 'u': // u XY sub m1 m2 m3 mW h1 h2 h3 path
			f := strings.SplitN(line, " ", 11)
			all[f[len(f)-1]] = status{staged: 'U', worktree: 'U'}
		default:
			return nil, fmt.Errorf("read status: git answered %s", Quote(line))
		}
	}
	return all, nil
}

// leftover is what a killed fast-forward has done.
type leftover struct {
	written []change // files that already have the new content
	all     bool     // the index and the worktree are where they should be
}

// inTheWay gives a *DirtyError for what the changes would overwrite: tracked files that differ, and untracked ones,
// ignored or not. Files that already have the new content aren't in the way: a killed fast-forward wrote them.
func (r *Repo) inTheWay(ctx context.Context, changes []change) (left leftover, err error) {
	differ, err := r.statuses(ctx)
	if err != nil {
		return leftover{}, err
	}
	gone := map[string]bool{}
	for _, c := range changes {
		if c.mode == "" || c.oldMode != "" && c.mode != c.oldMode {
			gone[c.path] = true
		}
	}
	var dirty []DirtyFile
	done := 0
	for _, c := range changes {
		s, differs := differ[c.path]
		switch {
		case differs:
			why := s.conflict(c)
			switch {
			case why == "" && s.staged != '.':
				done++
			case why == "":
			case r.holds(c) && s.staged != 'U':
				left.written = append(left.written, c)
			default:
				dirty = append(dirty, DirtyFile{c.path, why})
			}
		case c.oldMode == ModeGitlink && c.mode != ModeGitlink && c.mode != "":
			// Git would remove the submodule's directory, with a repository in it.
			if list, err := os.ReadDir(filepath.Join(r.Top, filepath.FromSlash(c.path))); err == nil && len(list) > 0 {
				dirty = append(dirty, DirtyFile{c.path, "submodule"})
			}
		case c.mode != "" && c.oldMode == "":
			blocked, err := r.blocked(c.path, gone)
			if err != nil {
				return leftover{}, err
			}
			if blocked == c.path && r.holds(c) {
				left.written = append(left.written, c)
			} else if blocked != "" {
				why := "untracked"
				if isRepository(filepath.Join(r.Top, filepath.FromSlash(blocked))) {
					why = "a repository of its own"
				}
				dirty = append(dirty, DirtyFile{blocked, why})
			}
		}
	}
	if len(dirty) > 0 {
		return leftover{}, &DirtyError{Files: dirty}
	}
	left.all = done == len(changes)
	return left, nil
}

// conflict says why a file that differs from HEAD blocks a change, or "".
func (s status) conflict(c change) string {
	stagedAsWanted := s.staged == 'D' && c.mode == "" || s.mode == c.mode && s.oid == c.oid
	switch {
	case s.staged == 'U':
		return "conflicted"
	case s.staged != '.' && !stagedAsWanted:
		return "staged"
	case s.worktree == 'D' && c.mode == "":
		return ""
	case s.worktree != '.':
		return "modified"
	}
	return ""
}

// blocked gives the untracked path that a new file would overwrite or replace, or "".
func (r *Repo) blocked(path string, gone map[string]bool) (string, error) {
	parts := strings.Split(path, "/")
	for i := 1; i <= len(parts); i++ {
		p := strings.Join(parts[:i], "/")
		info, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(p)))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		switch {
		case i < len(parts) && info.IsDir():
			if isRepository(filepath.Join(r.Top, filepath.FromSlash(p))) {
				return p, nil // a hook of its could be written there
			}
		case gone[p]:
			return "", nil // the change removes this tracked file
		case info.IsDir():
			return r.untrackedIn(p, gone)
		default:
			return p, nil
		}
	}
	return "", nil
}

// isRepository says whether git would take a directory for a repository or the worktree of one.
func isRepository(dir string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return has(".git") || has("HEAD") && has("objects") && has("refs")
}

// untrackedIn finds a file in a directory that doesn't go away with the change.
func (r *Repo) untrackedIn(dir string, gone map[string]bool) (string, error) {
	found := ""
	err := filepath.WalkDir(filepath.Join(r.Top, filepath.FromSlash(dir)), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(r.Top, p)
		if err == nil && !gone[filepath.ToSlash(rel)] {
			found = filepath.ToSlash(rel)
			return fs.SkipAll
		}
		return err
	})
	return found, err
}

// holds says whether the worktree has exactly the new content of a change.
func (r *Repo) holds(c change) bool {
	full := filepath.Join(r.Top, filepath.FromSlash(c.path))
	info, err := os.Lstat(full)
	if err != nil || c.mode == "" {
		return false
	}
	switch c.mode {
	case ModeLink:
		target, err := os.Readlink(full)
		return err == nil && info.Mode()&fs.ModeSymlink != 0 &&
			r.blobOID(strings.NewReader(target), int64(len(target))) == c.oid
	case ModeFile, ModeExec:
		if !info.Mode().IsRegular() || (info.Mode().Perm()&0o100 != 0) != (c.mode == ModeExec) {
			return false
		}
		f, err := os.Open(full)
		if err != nil {
			return false
		}
		defer func() { _ = f.Close() }()
		return r.blobOID(f, info.Size()) == c.oid
	}
	return false
}

// blobOID is the id that git gives to content of this size.
func (r *Repo) blobOID(content io.Reader, size int64) string {
	h := r.NewHash()
	_, _ = fmt.Fprintf(h, "blob %d\x00", size)
	if n, err := io.Copy(h, content); err != nil || n != size {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

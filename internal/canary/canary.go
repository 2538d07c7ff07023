// Package canary tells what changed in a repository of the user's while an agent was able to write to it: it takes a
// picture before, compares after, and gives each difference in words, with the commands that undo it. It changes
// nothing in the repository and starts nothing there. It opens everything by descriptors, follows no link, waits for no
// special file, and is bounded in time and size.
package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Own is what of the repository belongs to the agent, and in which session it is; the zero value is nothing.
type Own struct {
	Branch string `json:"branch,omitempty"` // without refs/heads/
	Admin  string `json:"admin,omitempty"`  // the name of its linked worktree, below worktrees/

	Session string `json:"session,omitempty"`
	Box     string `json:"box,omitempty"`
}

// Kind says what sort of thing a finding is about. Findings are told in this order.
type Kind string

// The kinds of findings.
const (
	KindUnreadable Kind = "unreadable" // something could not be compared
	KindOdd        Kind = "odd"        // a link, a special file, a file with a second name: git would use it unasked
	KindHook       Kind = "hook"
	KindConfig     Kind = "config"
	KindFile       Kind = "file" // anything else that steers git
	KindLock       Kind = "lock" // git does not work while it is there
	KindWorktree   Kind = "worktree"
	KindHead       Kind = "head"
	KindRef        Kind = "ref"
	KindStash      Kind = "stash"
	KindIndex      Kind = "index"
)

func order() []Kind {
	return []Kind{KindUnreadable, KindOdd, KindHook, KindConfig, KindFile, KindLock, KindWorktree, KindHead, KindRef,
		KindStash, KindIndex}
}

// Finding is one difference. Its texts are safe to show on a terminal.
type Finding struct {
	Kind   Kind     `json:"kind"`
	What   string   `json:"what"`
	New    bool     `json:"new"` // it was added and stands in nothing's way, such as a new branch
	Words  string   `json:"words"`
	Detail []string `json:"detail,omitempty"`
	Undo   []string `json:"undo,omitempty"` // commands for a shell; none where only a person can tell
}

// Report is everything that changed while one session ran, or since the guard was put around a worktree.
type Report struct {
	Worktree string    `json:"worktree"`
	Session  string    `json:"session,omitempty"`
	Box      string    `json:"box,omitempty"`
	Repo     string    `json:"repo"`
	Since    time.Time `json:"since,omitzero"`
	Time     time.Time `json:"time,omitzero"`
	Findings []Finding `json:"findings"`
}

// Changed gives the findings that are more than new.
func (r Report) Changed() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.New })
}

const (
	pictureFile = "picture.json"
	reportFile  = "report.json"
	copiesDir   = "copies"
)

// Take takes a picture of a repository, and keeps it in dir, which must be out of the agent's reach. A picture that is
// there already is replaced.
func Take(ctx context.Context, repo *git.Repo, dir string, own Own, now time.Time) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take a picture of %s: %w", clean(repo.CommonDir), errors.Join(err, Drop(dir)))
		}
	}()
	if err := errors.Join(Drop(dir), os.MkdirAll(filepath.Join(dir, copiesDir), 0o700)); err != nil {
		return err
	}
	p := &picture{Own: own, Top: repo.Top, Common: repo.CommonDir, Format: repo.ObjectFormat, Time: now, dir: dir}
	p.Outside = outside(repo)
	used := 0
	keep := func(path string, e Entry, content []byte) error {
		if !isIndex(path) {
			if used += len(content); used > maxCopies {
				return nil
			}
		}
		return os.WriteFile(p.copyOf(e), content, 0o600)
	}
	if err := p.look(ctx, keep); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, pictureFile), p)
}

// outside lists what steers git and is not below .git: directories of hooks, and a linked worktree's .git file.
func outside(repo *git.Repo) []string {
	var list []string
	for _, name := range []string{repo.HooksDir(), filepath.Join(repo.CommonDir, "hooks")} {
		real, err := filepath.EvalSymlinks(name)
		if name != "" && err == nil && !slices.Contains(list, real) && !paths.Within(real, repo.CommonDir) {
			list = append(list, real)
		}
	}
	file := filepath.Join(repo.Top, ".git")
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
		list = append(list, file)
	}
	return list
}

// Compare says what is different from the picture in dir.
func Compare(ctx context.Context, dir string, now time.Time) (Report, error) {
	before := &picture{dir: dir}
	if err := readJSON(filepath.Join(dir, pictureFile), before); err != nil {
		return Report{}, fmt.Errorf("read the picture: %w", err)
	}
	found := before.compare(ctx)
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("compare with the picture: %w", err)
	}
	return Report{Session: before.Own.Session, Box: before.Own.Box, Worktree: before.Top, Repo: before.Common,
		Since: before.Time, Time: now, Findings: found}, nil
}

// Conclude compares and keeps the report, for as long as dir has the picture; nil says that there is nothing to tell.
// So it makes no difference whether the process that took the picture or another one concludes. What was told before is
// all that is told later, as far as it is still there.
func Conclude(ctx context.Context, dir string, now time.Time) (r *Report, first bool, err error) {
	if r, err = ReadReport(dir); err != nil {
		return nil, false, err
	}
	found, err := Compare(ctx, dir, now)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if first = r == nil; first {
		r = &found
	}
	r.Findings = slices.DeleteFunc(r.Findings, found.lacks)
	if len(r.Findings) == 0 {
		return nil, first, Drop(dir)
	}
	return r, first, writeJSON(filepath.Join(dir, reportFile), r)
}

// lacks says whether something that was told is gone. What could not be looked at is not, unless the whole repository
// is. Of one file the words change with whatever else is changed in it.
func (r Report) lacks(told Finding) bool {
	if _, err := os.Lstat(filepath.Dir(r.Repo)); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Kind == KindUnreadable || f.Kind == told.Kind && f.What == told.What &&
			(f.Words == told.Words || f.Kind != KindRef && f.Kind != KindStash)
	})
}

// ReadReport gives a report that was kept; nil if there is none.
func ReadReport(dir string) (r *Report, err error) {
	if err = readJSON(filepath.Join(dir, reportFile), &r); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the canary's report: %w", err)
	}
	return r, nil
}

// Drop forgets a picture and its report.
func Drop(dir string) error { return tree.Remove(dir) }

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return whole.Write(path, append(data, '\n'), 0o600)
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/doctor"
	"github.com/cco-dev/cco/internal/guard/caged"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/tree"
)

// TryCage tries the cage of `cco guard run` for real, on a repository of its own in a temporary directory: what must
// not get out, and that a commit comes back.
func (a *App) TryCage(ctx context.Context) []doctor.Check {
	checks, err := a.tryCage(ctx)
	if missing, ok := errors.AsType[*box.Unavailable](err); ok {
		return []doctor.Check{{Name: "cage", Level: doctor.Warn, Detail: missing.What + ": " + missing.Why,
			Mend: missing.Mend}}
	}
	if err != nil {
		return append(checks, doctor.Check{Name: "cage", Level: doctor.Fail, Detail: err.Error()})
	}
	return checks
}

func (a *App) tryCage(ctx context.Context) (checks []doctor.Check, err error) {
	dir, err := os.MkdirTemp("", "cco-cage-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Remove(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	repo, work := filepath.Join(dir, "repository"), filepath.Join(dir, "work")
	for _, argv := range [][]string{{"git", "init", "-q", repo},
		{"git", "-C", repo, "-c", "user.name=cco", "-c", "user.email=cco@localhost", "commit", "-q", "--allow-empty",
			"-m", "one"},
		{"git", "-C", repo, "worktree", "add", "-q", "-b", "tried", work}} {
		if err := proc.Run(ctx, proc.Cmd{Argv: argv, Env: plainGit()}); err != nil {
			return nil, err
		}
	}
	trial := *a
	trial.Dir, trial.Dirs.Data = work, filepath.Join(dir, "data")
	trial.IO = &term.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	c, _, err := trial.cage(work, []string{"sh"})
	if err != nil {
		return nil, err
	}
	defer c.Release()
	if err := trial.chooseWay(ctx, c, nil); err != nil {
		return nil, err
	}
	found, err := c.Try(ctx, filepath.Join(dir, "outside"))
	if err != nil {
		return nil, err
	}
	check := doctor.Check{Name: "cage", Level: doctor.OK,
		Detail: fmt.Sprintf("%s: %d ways out were tried, and all held:", c.Way, len(found))}
	for i, f := range found {
		check.Detail += strings.Repeat(",", min(i, 1)) + " " + f.Probe
	}
	for _, f := range found {
		if !f.Held {
			check.Level = doctor.Fail
			check.Detail = f.Probe + " got through: " + f.Detail
		}
	}
	back, err := trial.tryCommit(ctx, c.Way, repo, work)
	checks = []doctor.Check{check, back}
	if c.Way != caged.Namespaces {
		checks = append(checks, doctor.Check{Name: "cage limits", Level: doctor.Warn, Detail: string(c.Way) +
			" alone can't hold " + caged.NotHeld, Mend: "let cco make user namespaces; `cco doctor` says how"})
	}
	return checks, err
}

// tryCommit has git in the cage move a ref and set what would run at the user's next git status, changes the mode of
// the repository from there, and looks outside.
func (a *App) tryCommit(ctx context.Context, way caged.Way, repo, work string) (doctor.Check, error) {
	mark := filepath.Join(filepath.Dir(repo), "ran")
	was, err := os.Stat(repo)
	if err != nil {
		return doctor.Check{}, err
	}
	const script = `chmod 711 "$1" 2> /dev/null
		git -c user.name=cco -c user.email=cco@localhost commit -q --allow-empty -m two &&
		git branch other && { git config core.fsmonitor "touch $0"; echo "gitdir: /nowhere" > .git; } 2> /dev/null; true`
	argv := []string{"sh", "-c", script, mark, repo}
	err = a.Caged(ctx, work, nil, argv, func(e box.Exec, run func(box.Exec) error) error {
		var words strings.Builder
		e.Stderr = &words
		if err := run(e); err != nil {
			return fmt.Errorf("%w: %s", err, words.String())
		}
		return nil
	})
	if err != nil {
		return doctor.Check{}, err
	}
	out, err := proc.Output(ctx, proc.Cmd{Argv: []string{"git", "-C", work, "log", "--format=%s", "tried", "--"},
		Env: plainGit()})
	if err == nil {
		err = proc.Run(ctx, proc.Cmd{Argv: []string{"git", "-C", work, "status", "--porcelain"}, Env: plainGit()})
	}
	is, gone := os.Stat(repo)
	check := doctor.Check{Name: "cage git", Level: doctor.OK,
		Detail: "a commit came back to its branch, git status ran nothing, and no mode changed"}
	if way != caged.Namespaces {
		check.Detail = "a commit came back to its branch, and git status ran nothing"
	} else if gone != nil || is.Mode() != was.Mode() {
		check.Level, check.Detail = doctor.Fail, "a program in the cage changed the mode of a directory outside"
	}
	if _, ran := os.Lstat(mark); ran == nil || string(out) != "two\none\n" {
		check.Level, check.Detail = doctor.Fail, "a commit did not come back, or git status ran what the cage had set"
	}
	return check, err
}

// plainGit is an environment in which git obeys nobody's settings but the repository's.
func plainGit() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	return append(env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
}

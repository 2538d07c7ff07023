package script

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// trailerKey marks the commit of a task. Its value also names the session: a runbook that is carried out again next
// week, on a branch with the commits of this run, must run again.
const trailerKey = "Cco-Task"

// lookBack is how many commits of the branch are searched for finished tasks.
const lookBack = 1000

func (r *runner) trailer(t Task) string {
	return fmt.Sprintf("%d %s %s", t.Number, filepath.Base(r.o.Workspace), t.mark())
}

// committed returns the commits of finished tasks, by their trailers.
func (r *runner) committed(ctx context.Context) (map[string]string, error) {
	if r.head(ctx) == "" {
		return nil, nil // an unborn branch
	}
	out, err := proc.Output(ctx, r.git("log", "--first-parent", fmt.Sprintf("--max-count=%d", lookBack),
		"--no-show-signature", "--no-color", "--format=%H%x00%(trailers:key="+trailerKey+",valueonly,separator=%x00)", "HEAD",
		"--"))
	if err != nil {
		return nil, err
	}
	done := map[string]string{}
	for line := range strings.Lines(string(out)) {
		commit, values, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		for value := range strings.SplitSeq(values, "\x00") {
			if value != "" && done[value] == "" {
				done[value] = commit
			}
		}
	}
	return done, nil
}

// commit makes one commit of all that the task changed and left uncommitted, and says whether there was anything. The
// workspace's own hooks run: if the project's checks refuse a commit, the task has failed, as it would for a person
// with the same runbook.
func (r *runner) commit(ctx context.Context, t Task) (bool, error) {
	if err := r.loud(ctx, "", "add", "--all", "--", "."); err != nil {
		return false, err
	}
	err := proc.Run(ctx, r.git("diff", "--cached", "--quiet", "--no-ext-diff"))
	if err == nil {
		return false, nil
	}
	if proc.Code(err) != 1 {
		return false, err
	}
	message := fmt.Sprintf("%s\n\n%s: %s\n", t.Title, trailerKey, r.trailer(t))
	return true, r.loud(ctx, message, "commit", "--quiet", "--cleanup=whitespace", "--file=-")
}

// head is the commit that is checked out; "" if there is none.
func (r *runner) head(ctx context.Context) string {
	out, err := proc.Output(ctx, r.git("rev-parse", "--verify", "--quiet", "HEAD"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func (r *runner) git(args ...string) proc.Cmd {
	return proc.Cmd{Argv: append([]string{"git"}, args...), Dir: r.o.Workspace,
		Env: append(slices.Clip(r.o.Env), "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_PAGER=cat")}
}

// loud shows the output of git and the hooks, and keeps it for error.txt.
func (r *runner) loud(ctx context.Context, stdin string, args ...string) error {
	c := r.git(args...)
	c.Stdin = strings.NewReader(stdin)
	c.Stdout, c.Stderr = r.out, r.err
	return proc.Run(ctx, c)
}

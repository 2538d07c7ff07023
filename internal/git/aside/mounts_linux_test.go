package aside_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// mounted is a command that runs where the private repository covers the user's.
func mounted(repo *aside.Repo, argv ...string) []string {
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, m := range repo.Mounts() {
		words := proc.ShellWord(m.Source) + " " + proc.ShellWord(m.Target) + "\n"
		script.WriteString("mount --bind " + words)
		if m.ReadOnly {
			script.WriteString("mount -o remount,bind,ro " + words)
		}
	}
	return append([]string{"unshare", "-rm", "sh", "-c", script.String() + `exec "$@"`, "sh"}, argv...)
}

// In a cage with mounts nothing leads git: the user's paths do.
func TestMounts(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			r.end()
			r.repo = must.Get(aside.Open(t.Context(), r.dir, r.user.Dir, aside.Options{Mounts: true}))(t)
			must.Do(t, r.repo.Refresh(t.Context()))
			before := gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git"))
			script := `set -e
git status --porcelain
git commit -q --allow-empty -m one
git switch -q -c topic
echo x >new
git add new
git commit -q -m two
git stash list
git gc -q --prune=now
git fsck
! git config user.name Mallory 2>/dev/null
! touch ` + proc.ShellWord(filepath.Join(r.dir, "theirs", "x")) + ` 2>/dev/null
git rev-parse HEAD
`
			out, err := proc.Output(t.Context(), proc.Cmd{Argv: mounted(r.repo, "sh", "-c", script), Dir: r.user.Dir})
			if err != nil {
				t.Fatalf("inside: %v: %s", err, out)
			}
			for name, sum := range gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git")) {
				if before[name] != sum {
					t.Errorf("the agent's git changed .git/%s", name)
				}
			}
			run := func(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) error {
				return proc.Run(ctx, proc.Cmd{Argv: mounted(r.repo, append([]string{box}, argv...)...), Dir: r.user.Dir,
					Stdin: stdin, Stdout: stdout, Env: os.Environ()})
			}
			rep := must.Get(r.repo.End(t.Context(), run))(t)
			if rep.Head != "topic" || len(rep.Moved) != 2 {
				t.Errorf("report %+v", rep)
			}
			r.whole()
			r.at("topic", strings.TrimSpace(string(out)))
			r.status("")
		})
	}
}

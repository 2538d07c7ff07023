//go:build heavy

package soak

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// task is a script for all roles.
func (p pipeline) task(f fixer) string {
	return "# Add a thing\n\n## Task 1: play the part\n\n```sh\n" + `case "$CCO_ROLE" in
author)
	` + p.breaks + `
	git add -A
	git commit -qm "add a thing" ;;
reviewer)
	echo '{"verdict":"APPROVED","findings":[]}' ;;
fixer)
	` + p.does(f) + `
	git add -A
	git diff --cached --quiet || git commit -qm "repair it

$(for f in $CCO_FINDINGS; do echo "Cco-Finding: $f"; done)" ;;
esac
` + "```\n"
}

// run carries out the CI of a commit for real.
func run(t *testing.T) func(ctx context.Context, dir, sha, job string, attempt int) (bool, string) {
	return func(ctx context.Context, dir, sha, _ string, attempt int) (bool, string) {
		tree := filepath.Join(t.TempDir(), "tree")
		must.Do(t, os.Mkdir(tree, 0o700))
		var log bytes.Buffer
		err := proc.Run(ctx, proc.Cmd{Argv: []string{"sh", "-c", `git -C "$1" archive "$2" | tar -x && ` +
			`if test -e .ci/run.sh; then exec sh .ci/run.sh; fi`, "ci", dir, sha}, Dir: tree,
			Env: append(os.Environ(), "ATTEMPT="+strconv.Itoa(attempt)), Stdout: &log, Stderr: &log})
		return err == nil, log.String()
	}
}

// Guards against phases that loop, that pay for flakes, that give up on what can be repaired, or that push what only
// looks green.
func TestBrokenPipelines(t *testing.T) {
	bin := cruisetest.Build(t)
	all := pipelines()
	if len(all) < 40 {
		t.Fatalf("%d pipelines", len(all))
	}
	if n := len(sampled()); n < 15 {
		t.Fatalf("%d cheats are sampled", n)
	}
	for _, p := range all {
		for _, f := range fixers() {
			if !slices.Contains(p.sample, f) && os.Getenv("SOAK") == "" {
				continue
			}
			t.Run(p.name+", "+string(f), func(t *testing.T) {
				t.Parallel()
				carry(t, cruisetest.New(t, bin), p, f)
			})
		}
	}
}

func carry(t *testing.T, r *cruisetest.Rig, p pipeline, f fixer) {
	t.Helper()
	repo := gittest.At(t, r.Repo)
	for name, text := range map[string]string{".ci/run.sh": p.ci + "\n", "base.sh": p.base} {
		repo.Write(name, text)
	}
	must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: []string{"sh", "base.sh"}, Dir: r.Repo, Env: r.Env}))
	must.Do(t, os.Remove(filepath.Join(r.Repo, "base.sh")))
	repo.Git("add", "-A")
	repo.Git("commit", "-q", "-m", "project")
	repo.Git("push", "-q", "--force", r.ForgeDir(), "HEAD:refs/heads/main")
	r.Fake.SetRunner("ada", "demo", []string{"ci"}, run(t))
	if strings.Contains(p.name, "required") {
		r.Fake.Require("ada", "demo", []string{"ci"}, nil)
	}
	r.CCO("box", "create")
	id := r.Start(p.task(f), "--phase", "building", "--domains", "Security")
	s := r.Await(id, "over", cruisetest.Status.Over)
	forge := gittest.At(t, r.ForgeDir())
	switch want, rounds := p.ends(f); {
	case want == "approved" && s.End != want, want != "approved" && !strings.Contains(s.Question, want), s.Rounds > rounds:
		t.Errorf("end %q after %d rounds, asks %q\n%s", s.End, s.Rounds, s.Question, r.Story(id))
	case f != right && f != useless && strings.Contains(forge.Git("log", "--all", "--format=%s"), "repair it"):
		t.Errorf("what is no repair was pushed")
	case p.repair == "" && strings.Contains(r.CCO("cruise", "logs", id), "round 1"):
		t.Errorf("a fixer was paid")
	}
	for _, broken := range r.Fake.Broken() {
		t.Error(broken)
	}
}

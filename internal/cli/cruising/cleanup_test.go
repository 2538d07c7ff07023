package cruising_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against a cleanup that waits for an agent, which may work for hours.
func TestCleanupByForceEndsTheAgentAndKeepsItsWork(t *testing.T) {
	t.Parallel()
	for role, task := range map[string]string{
		"author":   strings.Replace(cruisetest.Unsure, "author)", "author)\n\techo half > half.txt\n\tsleep 4000", 1),
		"reviewer": strings.Replace(cruisetest.Unsure, "reviewer)", "reviewer)\n\tsleep 4000", 1),
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.CCO("box", "create")
			id := r.Start(task, "--domains", "Security")
			if !r.Until(func() bool {
				for _, argv := range r.Left() {
					if strings.Contains(argv, "sleep 4000") {
						return true
					}
				}
				return false
			}) {
				t.Fatal(r.Story(id))
			}
			words := must.Get(os.Create(filepath.Join(t.TempDir(), "words")))(t)
			argv := []string{filepath.Join(r.Bin, "cco"), "cruise", "cleanup", id}
			first := must.Get(proc.Start(t.Context(), proc.Cmd{Argv: argv, Dir: r.Repo, Env: r.Env, Stderr: words}))(t)
			if !r.Until(func() bool {
				said := must.Get(os.ReadFile(words.Name()))(t)
				return strings.Contains(string(said), "`cco cruise cleanup "+id+" --force`")
			}) {
				t.Error("a cleanup that waits doesn't say --force")
			}
			begun := time.Now()
			r.CCO("cruise", "cleanup", id, "--force")
			if took := time.Since(begun); took > 5*time.Minute { // the agent sleeps for more than an hour
				t.Errorf("it took %v", took)
			}
			must.Do(t, first.Wait())
			s := r.Status(id)
			if s.End != "cleaned up" || !s.Ended || !r.Until(func() bool { return len(r.Left()) == 0 }) {
				t.Errorf("%+v\n%v", s, r.Left())
			}
			if role == "author" {
				gittest.At(t, r.Repo).Git("cat-file", "-e", "refs/cco/"+s.Session()+":half.txt")
			}
			r.Fails(4, "cruise", "pause", id)
			if s = r.Status(id); s.Paused || !s.Ended {
				t.Errorf("%+v", s)
			}
		})
	}
}

package inside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against losing the content of a worktree whose directory is not where git has recorded it.
func TestPublishFindsWorktreesThatWereMoved(t *testing.T) {
	move := func(f *fixture, from, to string) {
		must.Do(f.t, os.Rename(from, to))
	}
	for _, c := range []struct {
		name  string
		agent func(*fixture, string)
		text  []string
		lost  string
	}{
		{"moved", func(f *fixture, w string) {
			move(f, filepath.Join(w, "wt"), filepath.Join(w, "moved"))
		}, []string{"un"}, ""},
		{"moved to where it is ignored", func(f *fixture, w string) {
			f.write(w, ".git/info/exclude", "moved\n")
			move(f, filepath.Join(w, "wt"), filepath.Join(w, "moved"))
		}, []string{"un"}, ""},
		{"another at its place", func(f *fixture, w string) {
			move(f, filepath.Join(w, "wt"), filepath.Join(w, "moved"))
			f.git(w, "worktree", "add", "-q", "-f", "--detach", "wt")
			f.write(filepath.Join(w, "wt"), "un.txt", "second")
		}, []string{"un", "second"}, ""},
		{"copied", func(f *fixture, w string) {
			must.Do(f.t, os.CopyFS(filepath.Join(w, "copy"), os.DirFS(filepath.Join(w, "wt"))))
			f.write(filepath.Join(w, "copy"), "un.txt", "copy")
		}, []string{"un", "copy"}, ""},
		{"outside, where it can be seen", func(f *fixture, w string) {
			out := filepath.Join(filepath.Dir(w), "out")
			f.git(w, "worktree", "add", "-q", "--detach", out)
			f.write(out, "un.txt", "out")
		}, []string{"un", "out"}, ""},
		{"outside, where it can't be seen", func(f *fixture, w string) {
			out := filepath.Join(filepath.Dir(w), "out")
			f.git(w, "worktree", "add", "-q", "--detach", out)
			move(f, out, out+"side")
		}, []string{"un"}, "outside"},
		{"moved and pruned", func(f *fixture, w string) {
			move(f, filepath.Join(w, "wt"), filepath.Join(w, "moved"))
			f.git(w, "worktree", "prune")
		}, nil, ""},
		{"removed", func(f *fixture, w string) {
			must.Do(f.t, os.RemoveAll(filepath.Join(w, "wt")))
		}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			f.git(w, "worktree", "add", "-q", "wt", "-b", "wtb")
			f.write(filepath.Join(w, "wt"), "un.txt", "un")
			c.agent(f, w)
			r := f.publish()
			for _, text := range c.text {
				if !f.has("un.txt", text) {
					t.Errorf("%q did not come: %+v\n%s", text, r, f.got())
				}
			}
			if lost := strings.Join(r.Lost, "\n"); !strings.Contains(lost, c.lost) || c.lost == "" && lost != "" {
				t.Errorf("lost %q, want %q", lost, c.lost)
			}
			if c.name == "moved and pruned" && !f.has("moved/un.txt", "un") {
				t.Errorf("its files did not come: %+v", r)
			}
		})
	}
}

package inside

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against work that is lost without a word because the agent told git to look elsewhere, or to look away.
func TestLeftoversAreWhatIsThereWhateverGitWasTold(t *testing.T) {
	for name, agent := range map[string]func(f *fixture, w string){
		"another directory of files": func(f *fixture, w string) {
			must.Do(t, os.Mkdir(filepath.Join(w, "e"), 0o700))
			f.write(w, "e/a.txt", "a")
			f.git(w, "config", "core.worktree", filepath.Join(w, "e"))
		},
		"another one in a worktree's settings": func(f *fixture, w string) {
			f.git(w, "config", "extensions.worktreeConfig", "true")
			f.write(w, ".git/config.worktree", "[core]\n\tworktree = /var/empty\n")
		},
		"bare": func(f *fixture, w string) { f.git(w, "config", "core.bare", "true") },
		"capitals don't matter": func(f *fixture, w string) {
			f.git(w, "config", "core.ignoreCase", "true")
			f.write(w, "A.txt", "capital")
		},
		"modes don't matter":          func(f *fixture, w string) { f.git(w, "config", "core.fileMode", "false") },
		"ends of lines are made anew": func(f *fixture, w string) { f.git(w, "config", "core.autocrlf", "input") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			f.write(w, "left.txt", "left\r\n")
			must.Do(t, os.Chmod(filepath.Join(w, "left.txt"), 0o700))
			agent(f, w)
			r := f.publish()
			_ = os.WriteFile(filepath.Join(w, ".git", "config"), nil, 0o600) // its settings are not what is tested here
			_ = os.Remove(filepath.Join(w, ".git", "config.worktree"))
			if r.Wip == "" || len(r.Lost) > 0 {
				t.Fatalf("%+v", r)
			}
			if got := f.git(w, "cat-file", "-s", r.Wip+":left.txt"); got != "6" {
				t.Errorf("%s bytes", got)
			}
			if got := f.git(w, "ls-tree", r.Wip, "left.txt"); got[:6] != "100755" {
				t.Errorf("%q", got)
			}
			if name == "capitals don't matter" {
				f.git(w, "cat-file", "-e", r.Wip+":A.txt")
			}
			f.git(w, "cat-file", "-e", r.Wip+":a.txt")
		})
	}
}

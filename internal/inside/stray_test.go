package inside

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a publisher that is led to a repository of the user's, as a box without isolation lets it, and that
// changes anything of it.
func TestNothingOfARepositoryElsewhereIsChanged(t *testing.T) {
	link := func(name string) func(git, host string) error {
		return func(git, host string) error {
			path := filepath.Join(git, name)
			must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must.Do(t, os.RemoveAll(path))
			return os.Symlink(filepath.Join(host, name), path)
		}
	}
	for name, lead := range map[string]func(git, host string) error{
		"a link": link(""),
		"a file": func(git, host string) error {
			must.Do(t, os.RemoveAll(git))
			return os.WriteFile(git, []byte("gitdir: "+host+"\n"), 0o600)
		},
		"commondir": func(git, host string) error {
			return os.WriteFile(filepath.Join(git, "commondir"), []byte(host+"\n"), 0o600)
		},
		"refs": link("refs"), "refs/heads": link("refs/heads"), "refs/heads/main": link("refs/heads/main"),
		"objects": link("objects"), "objects/pack": link("objects/pack"), "index": link("index"), "config": link("config"),
		"packed-refs": link("packed-refs"), "HEAD": link("HEAD"), "logs": link("logs"), "logs/HEAD": link("logs/HEAD"),
		"logs/refs": link("logs/refs"), "logs/refs/heads/main": link("logs/refs/heads/main"),
		"objects/info": link("objects/info"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			f.write(f.job.Workspace, "work.txt", "work")
			f.commit(f.job.Workspace, "work")
			host := filepath.Join(f.host, ".git")
			f.git(f.host, "update-ref", "refs/cco/0123abcd", "HEAD")
			f.git(f.host, "branch", "theirs")
			f.git(f.host, "pack-refs", "--all")
			f.git(f.host, "branch", "loose")
			f.write(f.host, ".git/index.lock", "")
			f.write(f.host, ".git/refs/heads/main.lock", "")
			f.write(f.host, ".git/objects/info/alternates", "")
			f.write(f.host, ".git/refs/cco/x.lock", "")
			must.Do(t, fifo(filepath.Join(host, "pipe")))
			f.write(f.job.Workspace, "left.txt", "left")
			f.job.Message, f.job.All = "Left", true
			before := gittest.Fingerprint(t, host)
			must.Do(t, lead(filepath.Join(f.job.Workspace, ".git"), host))
			_ = Publish(t.Context(), f.job) // mostly it can't be read
			after := gittest.Fingerprint(t, host)
			for name, sum := range before {
				if after[name] != sum {
					t.Errorf("%s of the user's was changed", name)
				}
			}
			if len(after) != len(before) {
				t.Errorf("there were %d files and are %d", len(before), len(after))
			}
		})
	}
}

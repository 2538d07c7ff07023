package inside

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a broken repository that stops every pull for good: what can be read of it comes back, and at least
// the files do.
func TestWorkComesBackFromABrokenRepository(t *testing.T) {
	object := func(f *fixture, rev string) string {
		oid := f.git(f.job.Workspace, "rev-parse", rev)
		name := filepath.Join(f.job.Workspace, ".git/objects", oid[:2], oid[2:])
		must.Do(f.t, os.Chmod(name, 0o600))
		return name
	}
	for name, c := range map[string]struct {
		ruin func(f *fixture, git string)
		lost bool // the commits
	}{
		"no alternates": {func(f *fixture, git string) { must.Do(f.t, os.Remove(git+"/objects/info/alternates")) }, false},
		"empty alternates": {func(f *fixture, git string) { f.write(git, "objects/info/alternates", "") },
			false},
		"a FIFO for alternates": {func(f *fixture, git string) { must.Do(f.t, fifo(git+"/objects/info/alternates")) },
			false},
		"a file for cco's refs":  {func(f *fixture, git string) { f.write(git, "refs/cco", "x") }, false},
		"a closed place of refs": {func(f *fixture, git string) { f.shut(git + "/refs/cco") }, false},
		"directories for refs":   {func(f *fixture, git string) { f.shut(git + "/refs/cco/out/x") }, false},
		"a value that is none":   {func(f *fixture, git string) { f.git(git, "config", "pack.allowPackReuse", "xx") }, false},
		"another that is none":   {func(f *fixture, git string) { f.git(git, "config", "pack.threads", "xx") }, false},
		"a vast index":           {func(f *fixture, git string) { must.Do(f.t, os.Truncate(git+"/index", 2<<40)) }, false},
		"no HEAD":                {func(f *fixture, git string) { must.Do(f.t, os.Remove(git+"/HEAD")) }, false},
		"a promise without object": {func(f *fixture, git string) {
			must.Do(f.t, os.Remove(object(f, "HEAD:work.txt")))
			must.Do(f.t, os.Chtimes(filepath.Join(f.job.Workspace, "work.txt"), time.Time{}, time.Unix(1, 0)))
			f.git(git, "config", "extensions.partialClone", "origin")
			f.git(git, "config", "remote.origin.promisor", "true")
			f.git(git, "config", "remote.origin.url", "/nowhere")
		}, false}, // its content is among the files, which git reads as they look changed
		"an object that is a hole": {func(f *fixture, git string) {
			must.Do(f.t, os.Truncate(object(f, "HEAD:work.txt"), 3<<40))
		}, true},
		"a commit that is a hole": {func(f *fixture, git string) { must.Do(f.t, os.Truncate(object(f, "HEAD"), 3<<40)) },
			true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			f.write(w, "work.txt", "work")
			head := f.commit(w, "work")
			f.write(w, "left.txt", "left")
			c.ruin(f, filepath.Join(w, ".git"))
			r := f.publish()
			if c.lost {
				head = f.job.Base
			}
			if r.Head != head || r.Salvaged != c.lost || r.Wip == "" {
				t.Fatalf("published %+v", r)
			}
			f.git(f.host, "fetch", "-q", filepath.Join(f.job.Exchange, OutputBundle), WipRef)
			for _, file := range []string{"work", "left"} {
				if got := f.git(f.host, "show", "FETCH_HEAD:"+file+".txt"); got != file {
					t.Errorf("%s.txt holds %q", file, got)
				}
			}
			if entries, _ := os.ReadDir(f.job.Exchange); len(entries) > 4 { // what was sent and what was published
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// shut makes a directory that its owner can't enter.
func (f *fixture) shut(dir string) {
	f.t.Helper()
	must.Do(f.t, errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0)))
}

// Guards against a FIFO that git reads in a workspace: publishing took six minutes, and saved no leftovers.
func TestPublishDoesNotWaitForPipesAmongTheFiles(t *testing.T) {
	for _, name := range []string{".gitignore", ".gitattributes", "deep/er/.gitignore", ".gitmodules"} {
		t.Run(name, func(t *testing.T) {
			f, w, head := workedIn(t)
			f.job.leftTime = time.Minute
			f.write(w, "left.txt", "left")
			must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(w, name)), 0o700))
			f.write(w, "deep.txt", "")
			must.Do(t, syscall.Mkfifo(filepath.Join(w, name), 0o600))
			must.Do(t, syscall.Mkfifo(filepath.Join(w, "mine"), 0o600))
			if r := f.publish(); r.Head != head || len(r.Lost) > 0 || !f.has("left.txt", "left") {
				t.Errorf("%+v", r)
			}
			if _, err := os.Lstat(filepath.Join(w, "mine")); err != nil {
				t.Error("a FIFO that git does not read is gone")
			}
		})
	}
}

// Guards against names that would make a whole file of refs unreadable.
func TestRefsWithOddNames(t *testing.T) {
	for name, odd := range map[string]bool{"refs/heads/a": false, "refs/stash": false, "refs/tags/v1.0": false,
		"HEAD": true, "refs/heads/../x": true, "refs/heads/a.lock": true, "refs/heads/.a": true, "refs/heads/a b": true,
		"refs/heads/":   true,
		"refs/heads/a.": true, "refs/heads/\x1b": true, "refs//x": true, "refs/heads/" + strings.Repeat("x", 300): true} {
		if oddRef(name) != odd {
			t.Errorf("%q: %v", name, !odd)
		}
	}
}

// Guards against an error that begins with seven lines about something else.
func TestErrorsHaveNoHints(t *testing.T) {
	f, w, _ := workedIn(t)
	f.git(w, "config", "pack.allowPackReuse", "xx")
	err := repo{dir: w}.run(t.Context(), "bundle", "create", "-q", filepath.Join(t.TempDir(), "b"), "HEAD")
	if err == nil || strings.Contains(err.Error(), "hint") || !strings.Contains(err.Error(), "fatal: bad boolean") {
		t.Errorf("%v", err)
	}
}

// Guards against attributes that nobody sees and that change what is saved.
func TestAttributesOfTheRepositoryItselfChangeNothing(t *testing.T) {
	f, w, _ := workedIn(t)
	const text = "one\r\ntwo $Id: mine $\r\n"
	f.write(w, ".git/info/attributes", "* text ident eol=crlf\n")
	f.write(w, "left.txt", text)
	f.publish()
	if !f.has("left.txt", strings.TrimSpace(text)) {
		t.Error("it was saved as something else")
	}
	if _, err := os.Stat(filepath.Join(w, ".git/info/attributes")); err != nil {
		t.Error(err)
	}
}

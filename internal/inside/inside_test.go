package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// fixture is a workspace, a store and an exchange directory as a box has them, with a host repository that sends.
type fixture struct {
	t    *testing.T
	host string
	job  Job
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	f := &fixture{t: t, host: filepath.Join(dir, "host")}
	f.job = Job{
		Session: "0badcafe", Workspace: filepath.Join(dir, "workspace"), Exchange: filepath.Join(dir, "exchange"),
		Store: filepath.Join(dir, "store"), Branch: "main", Name: `Ada "the" \ Countess`, Email: "ada@example.org",
	}
	for _, d := range []string{f.host, f.job.Workspace, f.job.Exchange, f.job.Store} {
		must.Do(t, os.MkdirAll(d, 0o700))
	}
	f.git(f.host, "init", "-q", "-b", "main")
	f.write(f.host, "a.txt", "a")
	f.job.Base = f.commit(f.host, "start")
	return f
}

func (f *fixture) git(dir string, args ...string) string {
	f.t.Helper()
	argv := append([]string{"git", "-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)
	out := must.Get(proc.Output(f.t.Context(), proc.Cmd{Argv: argv, Dir: dir}))(f.t)
	return strings.TrimSpace(string(out))
}

// feed runs git with something on its standard input.
func (f *fixture) feed(dir string, in *os.File, args ...string) {
	f.t.Helper()
	must.Do(f.t, proc.Run(f.t.Context(), proc.Cmd{Argv: append([]string{"git"}, args...), Dir: dir, Stdin: in}))
}

func (f *fixture) write(dir, name, text string) {
	f.t.Helper()
	must.Do(f.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func (f *fixture) commit(dir, msg string) string {
	f.git(dir, "add", "-A")
	f.git(dir, "commit", "-q", "--allow-empty", "-m", msg)
	return f.git(dir, "rev-parse", "HEAD")
}

func (f *fixture) send(revs ...string) {
	f.git(f.host, append([]string{"bundle", "create", "-q", filepath.Join(f.job.Exchange, InputBundle), "HEAD", "main"},
		revs...)...)
}

func (f *fixture) receive() {
	f.t.Helper()
	must.Do(f.t, Receive(f.t.Context(), f.job))
}

func (f *fixture) publish() Result {
	f.t.Helper()
	must.Do(f.t, Publish(f.t.Context(), f.job))
	data := must.Get(os.ReadFile(filepath.Join(f.job.Exchange, ResultFile)))(f.t)
	var r Result
	must.Do(f.t, json.Unmarshal(data, &r))
	return r
}

func TestReceiveClones(t *testing.T) {
	f := newFixture(t)
	f.send()
	f.receive()
	w := f.job.Workspace
	if got := f.git(w, "status", "--porcelain", "--branch"); got != "## main" {
		t.Errorf("status %q", got)
	}
	if got := f.git(w, "config", "--local", "user.name"); got != f.job.Name {
		t.Errorf("user.name %q", got)
	}
	if got := f.git(w, "fsck", "--strict"); got != "" {
		t.Error(got)
	}
	f.receive() // again, after it is done
}

// Guards against a second push that needs commits that the box has lost, or never had.
func TestReceiveSaysWhatTheBoxLacks(t *testing.T) {
	f := newFixture(t)
	old := f.job.Base
	f.job.Base = f.commit(f.host, "more")
	f.send("^" + old)
	if err := Receive(t.Context(), f.job); !errors.Is(err, ErrLacks) {
		t.Fatalf("err = %v", err)
	}
	f.send()
	f.receive()

	// The next push builds on what the box has now, and a push with nothing new needs no bundle.
	first := f.job
	f.job.Workspace += "2"
	f.job.Base = f.commit(f.host, "and more")
	f.send("^" + first.Base)
	f.receive()
	f.job.Workspace += "3"
	must.Do(t, os.Remove(filepath.Join(f.job.Exchange, InputBundle)))
	f.receive()
	if got := f.git(f.job.Workspace, "rev-parse", "HEAD"); got != f.job.Base {
		t.Errorf("HEAD %s", got)
	}
}

// Guards against a session that uses a store while another session is still making it.
func TestManyReceiveAtOnceIntoANewStore(t *testing.T) {
	f := newFixture(t)
	f.send()
	var wg sync.WaitGroup
	for i := range 16 {
		job := f.job
		job.Workspace = fmt.Sprintf("%s-%d", f.job.Workspace, i)
		must.Do(t, os.Mkdir(job.Workspace, 0o700))
		wg.Go(func() {
			if err := Receive(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.git(f.job.Store, "fsck", "--strict")
}

// Guards against a box that takes no work any more since a push into it was killed: git's locks stay.
func TestReceiveAfterOneThatWasKilled(t *testing.T) {
	f := newFixture(t)
	f.send()
	for _, name := range []string{"config.lock", "HEAD.lock", "refs/cco/" + f.job.Base + ".lock"} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(f.job.Store, name)), 0o700))
		f.write(f.job.Store, name, "")
	}
	f.receive()
	if got := f.git(f.job.Store, "for-each-ref", "--format=%(refname) %(objectname)"); got !=
		"refs/cco/"+f.job.Base+" "+f.job.Base {
		t.Errorf("the store has %q", got)
	}
}

func TestReceiveShallow(t *testing.T) {
	f := newFixture(t)
	f.job.Base = f.commit(f.host, "more")
	f.git(f.host, "clone", "-q", "--bare", "--depth=1", "file://"+f.host, filepath.Join(f.job.Exchange, InputRepo))
	f.receive()
	if got := f.git(f.job.Workspace, "rev-list", "--count", "HEAD"); got != "1" {
		t.Errorf("%s commits", got)
	}
	f.write(f.job.Workspace, "b.txt", "b")
	f.commit(f.job.Workspace, "work")
	if r := f.publish(); r.Bundle == nil {
		t.Error("nothing was published")
	}
	f.git(f.host, "bundle", "verify", "-q", filepath.Join(f.job.Exchange, OutputBundle))
}

func TestPublish(t *testing.T) {
	for _, c := range []struct {
		name  string
		agent func(*fixture, string)
		check func(*testing.T, *fixture, Result)
	}{
		{"nothing done", func(*fixture, string) {}, func(t *testing.T, f *fixture, r Result) {
			if r.Bundle != nil || r.Wip != "" || r.Head != f.job.Base {
				t.Errorf("%+v", r)
			}
		}},
		{"commits and leftovers", func(f *fixture, w string) {
			f.write(w, "b.txt", "b")
			f.commit(w, "work")
			f.write(w, "a.txt", "changed")
			f.write(w, "new.txt", "new")
		}, func(t *testing.T, f *fixture, r Result) {
			if r.Wip == "" || r.Bundle == nil {
				t.Fatalf("%+v", r)
			}
			f.git(f.host, "fetch", "-q", filepath.Join(f.job.Exchange, OutputBundle), "+refs/cco/*:refs/got/*")
			if got := f.git(f.host, "ls-tree", "--name-only", "refs/got/wip"); got != "a.txt\nb.txt\nnew.txt" {
				t.Errorf("wip holds %q", got)
			}
		}},
		{"leftovers only", func(f *fixture, w string) { f.write(w, "new.txt", "new") },
			func(t *testing.T, f *fixture, r Result) {
				if r.Wip == "" || r.Bundle == nil || r.Head != f.job.Base {
					t.Errorf("%+v", r)
				}
			}},
		{"on another branch, detached", func(f *fixture, w string) {
			f.write(w, "side.txt", "s")
			f.git(w, "checkout", "-q", "-b", "side")
			f.commit(w, "side")
			f.git(w, "checkout", "-q", "--detach", "main")
			f.write(w, "b.txt", "b")
			f.commit(w, "work")
		}, func(t *testing.T, _ *fixture, r Result) {
			if len(r.Names) != 1 || r.Names[0] != "refs/heads/side" || r.Rest != nil {
				t.Errorf("%+v", r)
			}
		}},
		{"broken index, lock left behind, hooks and filters that hang", func(f *fixture, w string) {
			f.write(w, "b.txt", "b")
			f.commit(w, "work")
			f.write(w, ".git/index", "not an index")
			f.write(w, ".git/index.lock", "")
			f.git(w, "config", "core.fsmonitor", "sleep 1000")
			f.git(w, "config", "core.hooksPath", w)
			f.write(w, "left.txt", "left")
		}, func(t *testing.T, f *fixture, r Result) {
			if got := f.git(f.job.Workspace, "ls-tree", "--name-only", r.Wip); got != "a.txt\nb.txt\nleft.txt" {
				t.Errorf("wip holds %q", got)
			}
		}},
		{"unborn HEAD", func(f *fixture, w string) {
			f.write(w, "b.txt", "b")
			f.commit(w, "work")
			f.git(w, "symbolic-ref", "HEAD", "refs/heads/nowhere")
		}, func(t *testing.T, f *fixture, r Result) {
			if r.Head != f.git(f.job.Workspace, "rev-parse", "main") || r.Bundle == nil {
				t.Errorf("%+v", r)
			}
		}},
		{"forged results in the way", func(f *fixture, _ string) {
			for _, n := range []string{ResultFile, OutputBundle} {
				must.Do(t, os.MkdirAll(filepath.Join(f.job.Exchange, n, "x"), 0o700))
			}
			f.write(f.job.Workspace, "b.txt", "b")
			f.commit(f.job.Workspace, "work")
		}, func(t *testing.T, _ *fixture, r Result) {
			if r.Bundle == nil {
				t.Errorf("%+v", r)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			c.agent(f, f.job.Workspace)
			r := f.publish()
			c.check(t, f, r)
			// The same leftovers are the same commit, so that saved work is known as saved.
			if again := f.publish(); again.Wip != r.Wip || again.Head != r.Head {
				t.Errorf("published again: %+v, first %+v", again, r)
			}
		})
	}
}

func TestLeftoversBecomeACommitOnTheBranchWhereTheWorkspaceIsUsedAgain(t *testing.T) {
	f := newFixture(t)
	f.job.Message = "Answer the findings\n\nCco-Finding: abc"
	f.send()
	f.receive()
	f.write(f.job.Workspace, "new.txt", "new")
	f.write(f.job.Workspace, ".git/index.lock", "")
	r := f.publish()
	if r.Wip != "" || r.Head == f.job.Base || r.Bundle == nil {
		t.Fatalf("%+v", r)
	}
	if got := f.git(f.job.Workspace, "log", "-1", "--format=%s %(trailers:key=Cco-Finding,valueonly)",
		"main"); got != "Answer the findings abc" {
		t.Errorf("the branch is at %q", got)
	}
	if got := f.git(f.job.Workspace, "status", "--porcelain"); got != "" {
		t.Errorf("left: %q", got)
	}
	f.write(f.job.Workspace, "more.txt", "more")
	f.git(f.job.Workspace, "rm", "-q", "new.txt")
	f.git(f.job.Workspace, "add", "more.txt")
	f.git(f.job.Workspace, "commit", "-qm", "more")
	if more := f.publish(); r.Commits != 1 || r.Files != 1 || more.Commits != 2 || more.Files != 1 {
		t.Errorf("%d commits of %d files, then %d of %d", r.Commits, r.Files, more.Commits, more.Files)
	}
	f.git(f.job.Workspace, "reset", "-q", "--hard", r.Head)
	if again := f.publish(); again.Head != r.Head || again.Wip != "" {
		t.Errorf("published again: %+v", again)
	}
}

// Guards against a publisher that digs in what git can't read, waits for it, or changes it: it says why, and the
// workspace stays as it is.
func TestWhatGitCannotReadStaysAsItIs(t *testing.T) {
	inPlace := func(name string, put func(path string) error) func(string) error {
		return func(git string) error {
			return errors.Join(os.RemoveAll(filepath.Join(git, name)), put(filepath.Join(git, name)))
		}
	}
	empty := func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	for name, ruin := range map[string]func(git string) error{
		"gone": os.RemoveAll, "a file": inPlace("", empty), "a pipe": inPlace("", pipe),
		"no objects":              inPlace("objects", func(string) error { return nil }),
		"no directory of objects": inPlace("objects", empty),
		"a pipe of refs":          inPlace("packed-refs", pipe),
		"a pipe as the branch":    inPlace("refs/heads/main", pipe),
		"a pipe of alternates": func(git string) error {
			return errors.Join(os.RemoveAll(git+"/objects/info"), os.Mkdir(git+"/objects/info", 0o700),
				pipe(git+"/objects/info/alternates"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			f.write(f.job.Workspace, "work.txt", "work")
			f.commit(f.job.Workspace, "work")
			must.Do(t, ruin(filepath.Join(f.job.Workspace, ".git")))
			before := gittest.Fingerprint(t, f.job.Workspace)
			f.job.lookTime = 500 * time.Millisecond
			err := Publish(t.Context(), f.job)
			if err == nil || name == "a pipe of alternates" && !strings.Contains(err.Error(), "than git makes") {
				t.Errorf("published without a word, or after a wait: %v", err)
			}
			if after := gittest.Fingerprint(t, f.job.Workspace); !maps.Equal(before, after) {
				t.Errorf("it has changed: %v, before %v", after, before)
			}
			if exists(filepath.Join(f.job.Exchange, ResultFile)) {
				t.Error("a result is there all the same")
			}
		})
	}
}

// Guards against losing work because git refuses to make a bundle without new commits.
func TestPublishWhereHistoryWasSetBack(t *testing.T) {
	for name, c := range map[string]struct {
		do        func(f *fixture)
		head, wip bool // there is something new
	}{
		"behind the base": {func(f *fixture) { f.git(f.job.Workspace, "reset", "-q", "--hard", "HEAD~1") },
			false, true},
		"behind it, with the files left": {func(f *fixture) { f.git(f.job.Workspace, "reset", "-q", "HEAD~1") },
			false, false},
		"on another line": {func(f *fixture) {
			f.git(f.job.Workspace, "checkout", "-q", "-b", "side", "HEAD~1")
			f.write(f.job.Workspace, "side.txt", "x")
			f.commit(f.job.Workspace, "side")
		}, true, false},
		"with no history": {func(f *fixture) {
			f.git(f.job.Workspace, "checkout", "-q", "--orphan", "alone")
			f.commit(f.job.Workspace, "alone")
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(f.host, "b.txt", "b")
			f.job.Base = f.commit(f.host, "second")
			f.send()
			f.receive()
			c.do(f)
			r := f.publish()
			if (r.Head != f.job.Base) != c.head || (r.Wip != "") != c.wip || (r.Bundle != nil) != (c.head || c.wip) ||
				len(r.Names) != 0 {
				t.Errorf("published %+v", r)
			}
		})
	}
}

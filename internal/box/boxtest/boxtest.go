// Package boxtest is the one suite that every driver passes, with real programs: it tests what a box promises.
package boxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// Ability is a part of the suite that a backend may not promise.
type Ability string

// A driver can say that it lacks these abilities. Each is then named in the output instead of tested.
const (
	Apart    Ability = "a session can't reach another's files"
	OwnEnv   Ability = "the host's environment stays outside"
	OwnHome  Ability = "each session has a home of its own, copied from the provisioned one"
	Tree     Ability = "what leaves its process group dies too"
	ReadOnly Ability = "a workspace can be shown read-only"
	Views    Ability = "another session's workspace can be shown read-only"
	Store    Ability = "a box keeps objects of repositories"
	Etc      Ability = "files can be shown below /etc"
	Binds    Ability = "a directory of the host can be shown read-only"
	Caches   Ability = "caches last as long as the box"
	Aside    Ability = "what a check writes to caches is thrown away"
	Memory   Ability = "memory is bounded"
	Procs    Ability = "processes are bounded"
	Held     Ability = "the kernel holds programs, and shows them that it does"
	Told     Ability = "a stopped box refuses a run with an old record of it"
)

// Setup is what a driver gives to the suite.
type Setup struct {
	Driver box.Driver
	// New returns the record of a box that doesn't exist yet, with directories of its own. The suite destroys the boxes
	// that it creates.
	New   func(t *testing.T) *box.Box
	Lacks []Ability
	// Deep is how many directories deep an agent goes to make removal hard. Machines without hardware virtualization
	// take minutes for the default.
	Deep int
}

// Run runs the suite.
func Run(t *testing.T, s Setup) {
	for _, test := range []struct {
		name  string
		needs Ability
		run   func(*suite)
	}{
		{"Lifecycle", "", lifecycle},
		{"Stopped", Told, stopped},
		{"Sessions", "", sessions},
		{"Homes", OwnHome, homes},
		{"Provision", OwnHome, provision},
		{"Caches", Caches, caches},
		{"Aside", Aside, aside},
		{"ExitCodes", "", exitCodes},
		{"Signals", "", signals},
		{"Streams", "", streams},
		{"StdinThatNeverEnds", "", endlessStdin},
		{"Argv", "", argv},
		{"Environment", "", environment},
		{"HostEnvironment", OwnEnv, hostEnvironment},
		{"Directory", "", directory},
		{"Terminal", "", terminal},
		{"Pseudoterminal", "", pseudoterminal},
		{"CtrlC", "", ctrlC},
		{"Held", "", held},
		{"ReadOnly", ReadOnly, readOnly},
		{"Views", Views, views},
		{"Store", Store, store},
		{"OwnSteps", "", ownSteps},
		{"Etc", Etc, etc},
		{"Binds", Binds, binds},
		{"Exchange", "", exchange},
		{"WayOut", "", wayOut},
		{"Apart", Apart, apart},
		{"Background", "", background},
		{"Daemons", Tree, daemons},
		{"Cancel", "", cancel},
		{"Together", "", together},
		{"Halt", "", halt},
		{"Stop", "", stop},
		{"KilledStarter", "", killedStarter},
		{"MemoryLimit", Memory, memoryLimit},
		{"ProcessLimit", Procs, processLimit},
		{"TimeLimit", "", timeLimit},
		{"Layers", "", layers},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.needs != "" && slices.Contains(s.Lacks, test.needs) {
				t.Logf("this backend does not promise that %s", test.needs)
				return
			}
			t.Parallel()
			test.run(newSuite(t, s))
		})
	}
}

// suite is one test with a box of its own, created and running.
type suite struct {
	*testing.T
	Setup
	box *box.Box
	ctx context.Context
}

// patience is how long anything may take that should happen soon. Only failures take that long.
const patience = 60 * time.Second

func newSuite(t *testing.T, s Setup) *suite {
	u := &suite{T: t, Setup: s, box: s.New(t), ctx: t.Context()}
	u.must(s.Driver.Create(u.ctx, u.box, u.report))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), patience)
		defer cancel()
		if err := s.Driver.Destroy(ctx, u.box); err != nil {
			t.Errorf("destroy: %v", err)
		}
	})
	return u
}

func (s *suite) report(format string, args ...any) { s.Logf(format, args...) }

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// session prepares a session and returns its place.
func (s *suite) session(id string) box.Place {
	s.Helper()
	place, err := s.Driver.Prepare(s.ctx, s.box, id)
	s.must(err)
	return place
}

// host is a file of a session's exchange directory, as the host sees it.
func (s *suite) host(id, name string) string { return filepath.Join(s.box.Exchange, id, name) }

// sh is a shell script in a session, with its arguments from $1 on.
func sh(id, script string, args ...string) box.Exec {
	return box.Exec{Session: id, Argv: append([]string{"sh", "-c", script, "sh"}, args...)}
}

// out runs a program that must succeed and returns its standard output.
func (s *suite) out(e box.Exec) string {
	s.Helper()
	stdout, stderr, err := s.run(e)
	if err != nil {
		s.Fatalf("%q: %v\n%s", e.Argv, err, stderr)
	}
	return stdout
}

func (s *suite) run(e box.Exec) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	if e.Stdout == nil {
		e.Stdout = &out
	}
	if e.Stderr == nil {
		e.Stderr = &errs
	}
	err = s.Driver.Run(s.ctx, s.box, e)
	return out.String(), errs.String(), err
}

// start runs a program in the background and returns once it has made a file in its exchange directory. The returned
// function waits for the program's end.
func (s *suite) start(ctx context.Context, e box.Exec, ready string) (wait func() error) {
	s.Helper()
	done := make(chan error, 1)
	record := *s.box // as another command has read it, before Stop or Destroy changes it
	go func() { done <- s.Driver.Run(ctx, &record, e) }()
	s.await(func() bool {
		select {
		case err := <-done:
			s.Fatalf("it ended before it was ready: %v", err)
		default:
		}
		_, err := os.Stat(ready)
		return err == nil
	})
	return func() error {
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("it never ended")
		}
	}
}

// await polls for an event in another process.
func (s *suite) await(is func() bool) {
	s.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal("it never happened")
		}
	}
}

// heart is a script that makes a file grow while it lives.
const heart = `while :; do echo x >> "$1"; sleep 0.02; done`

// stillBeats watches a heart's file for a while.
func (s *suite) stillBeats(file string) bool {
	s.Helper()
	size := func() int64 {
		st, err := os.Stat(file)
		s.must(err)
		return st.Size()
	}
	// One beat may be under way; after it the file must stay the same.
	before := size()
	for range 20 {
		time.Sleep(20 * time.Millisecond)
		if now := size(); now > before+4 {
			return true
		}
	}
	return false
}

// wantBeating waits until a heart beats again, however slow its machine is.
func (s *suite) wantBeating(file string) {
	s.Helper()
	size := func() int64 {
		st, err := os.Stat(file)
		s.must(err)
		return st.Size()
	}
	before := size()
	s.await(func() bool { return size() > before+4 })
}

func (s *suite) wantStopped(file string) {
	s.Helper()
	if s.stillBeats(file) {
		s.Error("a process is still alive")
	}
}

func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	if got := proc.Code(err); got != code {
		t.Errorf("exit code %d, want %d (%v)", got, code, err)
	}
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != want {
		t.Errorf("got %q, want %q", strings.TrimSpace(got), want)
	}
}

// These are ids for sessions.
const (
	one = "0a1b2c3d"
	two = "4e5f6a7b"
)

func nth(i int) string { return fmt.Sprintf("%08x", 0xc0de0000+i) }

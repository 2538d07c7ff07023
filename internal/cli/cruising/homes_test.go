//go:build heavy

package cruising_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
)

// patient is a task whose author notes each of its turns, and waits in the middle until there is a file "go".
var patient = strings.Replace(cruisetest.Unsure, "author)", `author)
	echo turn >> turns.txt
	until test -e go; do sleep 0.1; done
	rm go`, 1)

// stateOf is the state of a session on a machine, which needs no database for that.
func stateOf(t *testing.T, m *cruisetest.Rig, session string) store.State {
	t.Helper()
	var list []store.Session
	m.Decode(m.CCO("box", "sessions", "--json"), &list)
	at := slices.IndexFunc(list, func(v store.Session) bool { return v.ID == session })
	if at < 0 {
		t.Fatalf("%s is not among %+v", session, list)
	}
	return list[at].State
}

// Guards against a keeper that needs the database or its worker, and a session that another machine believes to be
// dead, or knows nothing of.
func TestASessionGoesOnWithoutItsWorkerAndTheDatabase(t *testing.T) {
	t.Parallel()
	user := newRig(t)
	user.Env = append(user.Env, "CRASH_LEASE=3")
	server := pgtest.Start(t)
	user.Share(server, "")
	m := user.Machine(t)
	m.CCO("box", "create")
	worker := m.Worker()
	id := user.Start(patient, "--domains", "Security", "--branch", "feat/x")

	says := func(want string) {
		t.Helper()
		if !user.Until(func() bool { return strings.Contains(user.CCO("cruise", "status", id), want) }) {
			t.Fatalf("status does not say %q:\n%s", want, user.CCO("cruise", "status", id))
		}
	}
	path := user.Await(id, "in a workspace", func(s cruisetest.Status) bool {
		_, err := os.Stat(filepath.Join(s.Path, "turns.txt"))
		return s.Path != "" && err == nil
	}).Path
	session := filepath.Base(filepath.Dir(path))
	at := session + " on " + workerOf(t, m) + ": script, "
	says(at + "running, $0.00")
	must.Do(t, worker.Signal(syscall.SIGKILL))
	<-worker.Done()
	says(at + "running when the machine was last heard of, ")

	must.Do(t, server.Stop())
	state := func() store.State { return stateOf(t, m, session) }
	if got := state(); got != store.Running {
		t.Errorf("it is %s", got)
	}
	must.Do(t, os.WriteFile(filepath.Join(path, "go"), nil, 0o644))
	if !m.Until(func() bool { return state() != store.Running }) || state() != store.Done {
		t.Fatalf("it is %s", state())
	}
	must.Do(t, server.Again(t.Context()))
	m.Worker()
	s := user.Await(id, "watching", func(s cruisetest.Status) bool { return s.Stage == "watching" })
	if got := gittest.At(t, user.ForgeDir()).Git("show", s.Head+":turns.txt"); got != "turn" {
		t.Errorf("its turns were %q", got)
	}
	says(at + "done, $0.00")
}

// Guards against machines that can share phases only if one user has them: each has a data directory that the other
// can't read. The one that comes back ends what it has lost, and nothing of the other's.
func TestAnotherUserGoesOn(t *testing.T) {
	t.Parallel()
	user := newRig(t)
	user.Env = append(user.Env, "CRASH_LEASE=3")
	server := pgtest.Start(t)
	user.Share(server, "")
	var machines []*cruisetest.Rig
	for i := range 2 {
		m := user.Machine(t)
		must.Do(t, os.WriteFile(filepath.Join(m.Home, "password"), []byte(server.Password()), 0o600))
		passwordFrom(t, m, fmt.Sprintf("{file = %q}", filepath.Join(m.Home, "password")))
		m.Give(70001 + i)
		m.CCO("box", "create")
		machines = append(machines, m)
	}
	one, two := machines[0], machines[1]
	worker := one.Worker()
	id := user.Start(patient, "--domains", "Security", "--branch", "feat/x")
	at := func(m *cruisetest.Rig) string {
		t.Helper()
		return user.Await(id, "at work on "+m.Home, func(s cruisetest.Status) bool {
			_, err := os.Stat(filepath.Join(s.Path, "turns.txt"))
			return strings.HasPrefix(s.Path, m.Home) && err == nil
		}).Path
	}
	lost := at(one)
	session := filepath.Base(filepath.Dir(lost))
	must.Do(t, worker.Signal(syscall.SIGKILL))
	<-worker.Done()
	two.Worker()
	path := at(two)
	must.Do(t, os.WriteFile(filepath.Join(path, "go"), nil, 0o644))
	user.Await(id, "watching", func(s cruisetest.Status) bool { return s.Stage == "watching" })
	state := func(m *cruisetest.Rig) store.State { return stateOf(t, m, session) }
	if a, b := state(one), state(two); a != store.Running || b != store.Done {
		t.Errorf("the sessions are %s and %s", a, b)
	}
	one.Worker()
	if !user.Until(func() bool { return state(one) != store.Running }) || state(two) != store.Done {
		t.Errorf("the sessions are %s and %s", state(one), state(two))
	}
	// What it has of the phase goes when that has ended elsewhere; its work is in its clone.
	user.CCO("cruise", "cleanup", id, "--force")
	if !user.Until(func() bool { _, err := os.Stat(lost); return os.IsNotExist(err) }) {
		t.Errorf("the workspace is still there:\n%s", one.WorkerLog())
	}
	clone := must.Get(filepath.Glob(filepath.Join(one.Data, "clones", "*")))(t)
	refs := gittest.At(t, clone[0]).Git("-c", "safe.directory=*", "for-each-ref", "refs/cco")
	if !strings.Contains(refs, "refs/cco/"+session) {
		t.Errorf("its work is not kept: %q", refs)
	}
}

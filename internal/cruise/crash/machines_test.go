//go:build heavy

package crash_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/proc"
)

// lease is how many seconds the machines of tests keep their phases without a beat.
const lease = "4"

// fleet is a user with machines that share a database.
type fleet struct {
	user     *cruisetest.Rig
	server   *pgtest.Server
	machines []*cruisetest.Rig
	workers  []*proc.Process
}

// newFleet makes machines. Every second fleet keeps commits in a directory.
func newFleet(t *testing.T, on place, bin string, machines int) *fleet {
	t.Helper()
	f := &fleet{user: on(t, bin), server: pgtest.Start(t)}
	f.share(t, machines%2 == 0)
	for range machines {
		m := f.user.Machine(t)
		m.CCO("box", "create")
		f.machines = append(f.machines, m)
		f.workers = append(f.workers, nil)
	}
	return f
}

// share gives the user a database for phases.
func (f *fleet) share(t *testing.T, directory bool) {
	t.Helper()
	dir := filepath.Join(f.user.Home, "config", "cco")
	must.Do(t, os.MkdirAll(dir, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(f.user.Home, "password"), []byte(f.server.Password()), 0o600))
	address := strings.Replace(f.server.Database(t), ":"+f.server.Password()+"@", "@", 1)
	text := "[engine]\ndatabase = \"" + address + "\"\n"
	if directory {
		text += "bundles = \"" + t.TempDir() + "\"\n"
	}
	text += "[engine.password]\nfile = \"" + filepath.Join(f.user.Home, "password") + "\"\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600))
	f.user.Env = append(f.user.Env, "CRASH_LEASE="+lease)
}

// start starts a worker on every machine.
func (f *fleet) start() *fleet {
	for i, m := range f.machines {
		f.workers[i] = m.Worker()
	}
	return f
}

// home is the machine that has a phase, by the phase's log.
func (f *fleet) home(t *testing.T, id string) (at int) {
	t.Helper()
	last := -1
	log := f.user.CCO("cruise", "logs", id)
	for i, m := range f.machines {
		if found := strings.LastIndex(log, "worker "+workerID(t, m)+" goes on with it"); found > last {
			at, last = i, found
		}
	}
	if last < 0 {
		t.Fatal("no machine has it")
	}
	return at
}

// carry carries a phase to its end, and lets something happen when it is at a stage for the first time.
func (f *fleet) carry(t *testing.T, stage string, happens func(id string)) string {
	t.Helper()
	r := f.user
	id := r.Start(cruisetest.Picky, "--domains", "Security", "--ready", "--merge")
	done := stage == ""
	s := r.Await(id, "over", func(s cruisetest.Status) bool {
		if !done && s.Stage == stage {
			done = true
			happens(id)
		}
		return s.Over()
	})
	if !done {
		t.Errorf("it was never %s", stage)
	}
	if t.Failed() {
		t.Log(r.Story(id))
		for _, m := range f.machines {
			t.Log(m.WorkerLog())
		}
	}
	return describe(t, r, s)
}

// Guards against a phase that is lost with its machine, or that does things twice on the next one.
func TestAPhaseGoesOnElsewhereAsOneThatWasLeftAlone(t *testing.T) {
	bin := cruisetest.Build(t)
	forges := map[string]place{"": cruisetest.New}
	if os.Getenv("SOAK") != "" {
		forges[" on Gitea"] = cruisetest.NewOnGitea
	}
	for where, on := range forges {
		calm := newFleet(t, on, bin, 1).start().carry(t, "", nil)
		t.Log(calm)
		for name, d := range disturbances() {
			if d.long && os.Getenv("SOAK") == "" {
				continue
			}
			t.Run(name+where, func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, on, bin, 2).start()
				var at time.Time
				got := f.carry(t, d.stage, func(id string) { at = time.Now(); d.happens(t, f, id) })
				t.Logf("over %v after it", time.Since(at).Round(time.Second))
				if got != calm {
					t.Errorf("it ends differently\n--- disturbed\n%s\n--- left alone\n%s", got, calm)
				}
			})
		}
	}
}

// disturbance is what happens to the machine that has a phase.
type disturbance struct {
	stage   string
	long    bool // only where there is time
	happens func(t *testing.T, f *fleet, id string)
}

func disturbances() map[string]disturbance {
	all := map[string]disturbance{
		"it is stopped and continued": {stage: "reviewing", happens: stopped},
		"the database is restarted":   {stage: "answering", happens: restarted},
		"the database is away":        {stage: "working", long: true, happens: away},
		"all machines are killed":     {stage: "fixing", long: true, happens: allKilled},
	}
	for stage, long := range map[string]bool{"working": false, "answering": false, "reviewing": true, "naming": true,
		"preparing": true, "publishing": true, "fixing": true, "readying": true, "checking": true, "merging": true} {
		all["killed while "+stage] = disturbance{stage: stage, long: long, happens: func(t *testing.T, f *fleet, id string) {
			must.Do(t, f.workers[f.home(t, id)].Signal(syscall.SIGKILL))
		}}
	}
	return all
}

// stopped stops a machine for longer than its lease: it must not go on as if nothing had happened.
func stopped(t *testing.T, f *fleet, id string) {
	t.Helper()
	i := f.home(t, id)
	must.Do(t, f.workers[i].Signal(syscall.SIGSTOP))
	f.takenOver(t, id, i)
	must.Do(t, f.workers[i].Signal(syscall.SIGCONT))
}

// takenOver waits until another machine has a phase.
func (f *fleet) takenOver(t *testing.T, id string, from int) {
	t.Helper()
	if !f.user.Until(func() bool { return f.home(t, id) != from }) {
		t.Fatal("nobody took it over")
	}
}

func restarted(t *testing.T, f *fleet, _ string) {
	t.Helper()
	must.Do(t, f.server.Stop())
	must.Do(t, f.server.Again(t.Context()))
}

// away has the database be away for many leases. Nobody may take anything over: no machine had a chance to beat.
func away(t *testing.T, f *fleet, id string) {
	t.Helper()
	i := f.home(t, id)
	must.Do(t, f.server.Stop())
	gone := 40 * time.Second
	if s := os.Getenv("SOAK_AWAY"); s != "" {
		gone = must.Get(time.ParseDuration(s))(t)
	}
	time.Sleep(gone) // that long
	must.Do(t, f.server.Again(t.Context()))
	f.user.Await(id, "known again", func(cruisetest.Status) bool { return true })
	if f.home(t, id) != i {
		t.Error("another machine took it over")
	}
}

// allKilled kills all machines, which then come back with what they lost and what they have.
func allKilled(t *testing.T, f *fleet, id string) {
	t.Helper()
	i := f.home(t, id)
	must.Do(t, f.workers[i].Signal(syscall.SIGKILL))
	f.takenOver(t, id, i)
	must.Do(t, f.workers[1-i].Signal(syscall.SIGKILL))
	f.start()
}

func workerID(t *testing.T, m *cruisetest.Rig) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(m.Data, "worker.id")))(t)))
}

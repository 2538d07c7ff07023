//go:build heavy

package crash_test

import (
	"fmt"
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

// fleet is a user with machines that share a database.
type fleet struct {
	user     *cruisetest.Rig
	server   *pgtest.Server
	machines []*cruisetest.Rig
	workers  []*proc.Process
}

func newFleet(t *testing.T, bin string, machines int) *fleet {
	t.Helper()
	f := &fleet{user: cruisetest.New(t, bin), server: pgtest.Start(t)}
	dir := filepath.Join(f.user.Home, "config", "cco")
	must.Do(t, os.MkdirAll(dir, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(f.user.Home, "password"), []byte(f.server.Password()), 0o600))
	address := strings.Replace(f.server.Database(t), ":"+f.server.Password()+"@", "@", 1)
	must.Do(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte("[engine]\ndatabase = \""+address+"\"\n"+
		"[engine.password]\nfile = \""+filepath.Join(f.user.Home, "password")+"\"\n"), 0o600))
	for range machines {
		m := f.user.Machine(t)
		m.CCO("box", "create")
		f.machines = append(f.machines, m)
		f.workers = append(f.workers, m.Worker())
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
func TestAPhaseWhoseMachineDiesEndsAsOneThatWasLeftAlone(t *testing.T) {
	bin := cruisetest.Build(t)
	calm := newFleet(t, bin, 1).carry(t, "", nil)
	t.Log(calm)
	stages := []string{"working", "reviewing", "answering"}
	if os.Getenv("SOAK") != "" {
		stages = append(stages, "naming", "preparing", "publishing", "fixing", "readying", "checking", "merging")
	}
	for _, stage := range stages {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, bin, 2)
			var died time.Time
			got := f.carry(t, stage, func(id string) {
				must.Do(t, f.workers[f.home(t, id)].Signal(syscall.SIGKILL))
				died = time.Now()
			})
			t.Logf("over %v after the kill", time.Since(died).Round(time.Second))
			if got != calm {
				t.Errorf("it ends differently\n--- killed\n%s\n--- left alone\n%s", got, calm)
			}
		})
	}
}

// Guards against a machine that was stopped for longer than its lease and goes on as if nothing had happened.
func TestAMachineThatWasStoppedAndContinues(t *testing.T) {
	bin := cruisetest.Build(t)
	calm := newFleet(t, bin, 1).carry(t, "", nil)
	f := newFleet(t, bin, 2)
	got := f.carry(t, "reviewing", func(id string) {
		i := f.home(t, id)
		must.Do(t, f.workers[i].Signal(syscall.SIGSTOP))
		mark := fmt.Sprintf("worker %s goes on with it", workerID(t, f.machines[1-i]))
		if !f.user.Until(func() bool { return strings.Contains(f.user.CCO("cruise", "logs", id), mark) }) {
			t.Fatal("nobody took it over")
		}
		must.Do(t, f.workers[i].Signal(syscall.SIGCONT))
	})
	if got != calm {
		t.Errorf("it ends differently\n--- stopped\n%s\n--- left alone\n%s", got, calm)
	}
}

func workerID(t *testing.T, m *cruisetest.Rig) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(m.Data, "worker.id")))(t)))
}

//go:build heavy

package crash_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/cruise/temporaltest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
)

// lasting is a heartbeat that nobody waits for: what comes before it was over was given.
const lasting = time.Minute

// Guards against a worker that is asked to end and keeps its phase until its heartbeat is over, or loses a turn that it
// was asked to let end.
func TestAWorkerThatIsAskedToEndGivesItsPhaseToAnother(t *testing.T) {
	t.Parallel()
	bin := cruisetest.Build(t)
	calm := newCrew(t, cruisetest.New, bin, 1).start().carry(t, "", nil)
	for name, ask := range map[string]func(t *testing.T, f *crew, i int){
		"with SIGTERM": func(t *testing.T, f *crew, i int) {
			must.Do(t, f.workers[i].Signal(syscall.SIGTERM))
		},
		"with --drain": func(_ *testing.T, f *crew, i int) { f.machines[i].CCO("cruise", "worker", "--drain") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &crew{user: cruisetest.New(t, bin), server: temporaltest.Start(t)}
			f.user.ShareBy(f.server.Address, lasting.String())
			f.join(t, 2).start()
			got := f.carry(t, "reviewing", func(id string) {
				i := f.home(t, id)
				start := time.Now()
				ask(t, f, i)
				<-f.workers[i].Done()
				ended := time.Since(start)
				f.takenOver(t, id, i)
				t.Logf("it ends after %v, and another has the phase after %v", ended.Round(time.Millisecond),
					time.Since(start).Round(time.Millisecond))
				if time.Since(start) > lasting {
					t.Error("that is not at once")
				}
				if err := f.workers[i].Wait(); err != nil {
					t.Errorf("it ends with %v: %s", err, f.machines[i].WorkerLog())
				}
			})
			if got != calm {
				t.Errorf("it ends differently\n--- given back\n%s\n--- left alone\n%s", got, calm)
			}
		})
	}
}

// Guards against a phase that nobody takes in silence: start says that it waits, and status why.
func TestAPhaseThatNoMachineTakesSaysWhy(t *testing.T) {
	t.Parallel()
	f := newCrew(t, cruisetest.New, cruisetest.Build(t), 1)
	m := f.machines[0]
	m.CCO("box", "destroy", "--force")
	task := filepath.Join(f.user.Home, "task.md")
	must.Do(t, os.WriteFile(task, []byte(cruisetest.Picky), 0o600))
	out, words, err := f.user.Run("cruise", "start", "--file", task, "--planner", "script", "--detach", "--domains",
		"Security", "--ready", "--merge")
	must.Do(t, err)
	if !strings.Contains(words, "it waits for a machine") {
		t.Errorf("it says %q", words)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(out, "phase "), " ")
	status := func(want string) {
		t.Helper()
		said := ""
		if !f.user.Until(func() bool { said = f.user.CCO("cruise", "status", id); return strings.Contains(said, want) }) {
			t.Fatalf("status never says %q: %s", want, said)
		}
	}
	status("it waits for a machine")
	f.start()
	status("worker " + workerID(t, m) + ": ")
	status("box")
	m.CCO("box", "create")
	if s := f.user.Await(id, "over", cruisetest.Status.Over); s.End != "merged" {
		t.Errorf("%+v\n%s", s, m.WorkerLog())
	}
}

// Guards against a phase that is shown as living after the service's operator has ended it.
func TestAPhaseThatTheOperatorEndsIsShownAsEnded(t *testing.T) {
	t.Parallel()
	f := newCrew(t, cruisetest.New, cruisetest.Build(t), 1).start()
	id := f.user.Start(cruisetest.Unsure, "--domains", "Security")
	f.user.Await(id, "watching", func(s cruisetest.Status) bool { return s.Stage == "watching" })
	c := must.Get(client.Dial(client.Options{HostPort: f.server.Address, Logger: quiet{}}))(t)
	defer c.Close()
	must.Do(t, c.TerminateWorkflow(t.Context(), fleet.WorkflowID(id), "", "no more"))
	for _, r := range []*cruisetest.Rig{f.user, f.machines[0]} {
		s := r.Await(id, "ended", func(s cruisetest.Status) bool { return s.Ended })
		if !strings.Contains(s.End, "ended in the service") {
			t.Errorf("%+v", s)
		}
	}
	if words := f.user.Fails(4, "cruise", "resume", id); !strings.Contains(words, "begin it anew") {
		t.Errorf("it says %q", words)
	}
	if !f.user.Until(func() bool { return len(f.machines[0].Left()) == 0 }) {
		t.Errorf("still running: %v", f.machines[0].Left())
	}
}

// Guards against an upgrade that breaks living phases: a newer cco saves what an older one has never heard of, and each
// goes on with what the other has saved.
func TestTwoVersionsShareAPhase(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		return // it builds another cco
	}
	t.Parallel()
	bin := cruisetest.Build(t)
	newer := cruisetest.Build(t)
	files := map[string][2]string{
		"internal/cruise/state.go": {"type State struct {", "type State struct {\n\tNewer string `json:\"newer,omitempty\"`"},
		"internal/cruise/phase.go": {"func (m *machine) next() {",
			"func (m *machine) next() {\n\tm.Newer = \"a newer cco was in stage \" + string(m.Stage)"},
		"internal/cruise/fleet/workflow.go": {"type Start struct {", "type Start struct {\n\tNewer Newer `json:\"newer\"`"},
		"internal/cruise/fleet/seal.go": {"type Sealed struct {", "type Newer struct{ Words []string }\n\n" +
			"type Sealed struct {\n\tNewer Newer `json:\"newer\"`"},
	}
	overlay := overlaid(t, files)
	built := t.TempDir()
	must.Do(t, programs.Overlaid(t.Context(), overlay, built, "../internal/cruise/crash/cco-cruise"))
	must.Do(t, os.Rename(filepath.Join(built, "cco-cruise"), filepath.Join(newer, "cco-cruise")))

	calm := newCrew(t, cruisetest.New, bin, 1).start().carry(t, "", nil)
	f := newCrew(t, cruisetest.New, bin, 2)
	f.machines[1].Bin = newer
	f.start()
	was, moves := "", 0
	got := f.through(t, func(id, stage string) {
		if stage == was || stage == "" || stage == "ended" || moves > 8 {
			return
		}
		was = stage
		i := f.home(t, id)
		must.Do(t, f.workers[i].Signal(syscall.SIGTERM))
		<-f.workers[i].Done()
		if f.user.Until(func() bool {
			st := f.newest(t, id)
			return st.Home != workerID(t, f.machines[i]) || st.Stage == "ended"
		}) {
			moves++
		}
		f.workers[i] = f.machines[i].Worker()
	})
	t.Logf("it went to the other version %d times", moves)
	if got != calm || moves < 3 {
		t.Errorf("it ends differently\n--- by two versions\n%s\n--- left alone\n%s", got, calm)
	}
}

// Guards against a worker that is busy with nothing.
func TestAnIdleWorkerCostsNothing(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		return // it watches for a minute
	}
	f := newCrew(t, cruisetest.New, cruisetest.Build(t), 1).start()
	pid := f.workers[0].Pid()
	used := func() time.Duration {
		const tick = 10 * time.Millisecond // of the kernel's clock
		stat := string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t))
		fields := strings.Fields(stat[strings.LastIndex(stat, ")"):])
		return time.Duration(must.Get(strconv.Atoi(fields[12]))(t)+must.Get(strconv.Atoi(fields[13]))(t)) * tick
	}
	before, start := used(), time.Now()
	time.Sleep(time.Minute) // that long
	share := 100 * float64(used()-before) / float64(time.Since(start))
	_, rest, _ := strings.Cut(string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)), "VmRSS:")
	t.Logf("an idle worker: %.2f %% of a core, %s kB", share, strings.Fields(rest)[0])
	if share >= 1 {
		t.Error("that is too much")
	}
}

// overlaid writes changed copies of files of the module, and gives the file that names them to the compiler.
func overlaid(t *testing.T, changes map[string][2]string) string {
	t.Helper()
	root := must.Get(filepath.Abs("../../.."))(t)
	dir := t.TempDir()
	instead := map[string]string{}
	for name, change := range changes {
		text := string(must.Get(os.ReadFile(filepath.Join(root, name)))(t))
		if !strings.Contains(text, change[0]) {
			t.Fatalf("%s has no %q", name, change[0])
		}
		copied := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		must.Do(t, os.WriteFile(copied, []byte(strings.Replace(text, change[0], change[1], 1)), 0o600))
		instead[filepath.Join(root, name)] = copied
	}
	file := filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(file, must.Get(json.Marshal(map[string]any{"Replace": instead}))(t), 0o600))
	return file
}

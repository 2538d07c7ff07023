//go:build heavy

package crash_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against machines that do something at another time, again or never because their clocks are off: one is a
// minute ahead and the other a minute behind, and a phase goes from one to the other.
func TestMachinesWhoseClocksAreAMinuteOff(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		return // the programs are built anew, with another package time
	}
	bin := cruisetest.Build(t)
	off(t, bin)
	for where, on := range map[string]place{"": cruisetest.New, " on Gitea": cruisetest.NewOnGitea} {
		calm := newFleet(t, on, bin, 1).start().carry(t, "", nil)
		for _, stage := range []string{"working", "reviewing", "answering", "checking"} {
			for way, clocks := range map[string][2]string{"ahead": {"60", "-60"}, "back": {"-60", "60"}} {
				t.Run(stage+" "+way+where, func(t *testing.T) {
					t.Parallel()
					begun, f := time.Now(), newFleet(t, on, bin, 2)
					for i, m := range f.machines {
						m.Env = append(m.Env, "CRASH_CLOCK="+clocks[i])
					}
					f.workers[0] = f.machines[0].Worker()
					got := f.carry(t, stage, func(id string) {
						if at := f.started(t, id); at.Before(begun.Add(-slack)) || at.After(time.Now().Add(slack)) {
							t.Errorf("it was started at %v, not since %v", at, begun)
						}
						f.workers[1] = f.machines[1].Worker()
						must.Do(t, f.workers[0].Signal(syscall.SIGKILL))
						f.takenOver(t, id, 0)
					})
					if got != calm {
						t.Errorf("it ends differently\n--- with clocks that are off\n%s\n--- left alone\n%s", got, calm)
					}
					sessions := 0
					for i, m := range f.machines {
						sessions += isOff(t, m, must.Get(time.ParseDuration(clocks[i]+"s"))(t), begun)
					}
					if sessions == 0 {
						t.Error("no machine has a session that tells its time")
					}
				})
			}
		}
	}
}

// slack is what the database's clock may seem to be off, because a beat took long. The machines are off by twice that.
const slack = 30 * time.Second

// started is when a phase began, as its machine has it.
func (f *fleet) started(t *testing.T, id string) time.Time {
	t.Helper()
	var state []byte
	must.Do(t, f.db.QueryRowContext(t.Context(), `SELECT state FROM phases WHERE id = $1`, id).Scan(&state))
	var st cruise.State
	must.Do(t, json.Unmarshal(state, &st))
	return st.Started
}

// off builds programs whose clocks are off by CRASH_CLOCK seconds, as everything in them sees it.
func off(t *testing.T, bin string) {
	t.Helper()
	root := strings.TrimSpace(string(must.Get(proc.Output(t.Context(),
		proc.Cmd{Argv: []string{"go", "env", "GOROOT"}}))(t)))
	dir, over := t.TempDir(), map[string]string{}
	lay := func(name, text string) {
		over[filepath.Join(root, "src", "time", name)] = filepath.Join(dir, name)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	const read = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	text := string(must.Get(os.ReadFile(filepath.Join(root, "src", "time", "time.go")))(t))
	if !strings.Contains(text, read) {
		t.Fatal("this Go reads the clock in another way: look at time.Now")
	}
	lay("time.go", strings.Replace(text, read, read+"\tsec += off\n", 1))
	lay("off.go", `package time

import "syscall"

var off = func() (n int64) {
	text, behind := syscall.Getenv("CRASH_CLOCK")
	if behind = len(text) > 0 && text[0] == '-'; behind {
		text = text[1:]
	}
	for _, d := range text {
		n = 10*n + int64(d-'0')
	}
	if behind {
		n = -n
	}
	return n
}()
`)
	file := filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(file, must.Get(json.Marshal(map[string]any{"Replace": over}))(t), 0o600))
	must.Do(t, programs.Overlaid(t.Context(), file, bin, "cco", "../internal/cruise/crash/cco-cruise"))
}

// isOff checks that a machine's clock was really off, by the sessions that were made there since a moment.
func isOff(t *testing.T, m *cruisetest.Rig, by time.Duration, since time.Time) (sessions int) {
	t.Helper()
	st := must.Get(store.Open(t.Context(), filepath.Join(m.Data, "cco.db")))(t)
	defer func() { _ = st.Close() }()
	list := must.Get(st.Sessions(t.Context(), ""))(t)
	for _, s := range list {
		if at := s.Created.Add(-by); at.Before(since.Truncate(time.Second)) || at.After(time.Now()) {
			t.Errorf("session %s was made at %v, by a clock that is %v off: that was not since %v", s.ID, s.Created, by, since)
		}
	}
	return len(list)
}

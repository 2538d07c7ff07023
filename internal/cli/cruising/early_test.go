package cruising_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a phase that is lost with its record because it had no pull request yet, and against a task that an
// agent has written into its file.
func TestAPhaseWithoutAPullRequestIsTakenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	first := r.Await(r.Start(held(cruisetest.Unsure, "author"), "--domains", "Security", "--max-rounds", "7"), "working",
		working)
	var dir string
	shown := func() string { return filepath.Join(dir, ".cruise", "phase-state.json") }
	if !r.Until(func() bool {
		dir = copied(t, r, first)
		data, err := os.ReadFile(shown())
		return err == nil && bytes.Contains(data, []byte(`"stage": "working"`))
	}) {
		t.Fatal(r.Story(first.ID))
	}
	r.KillEngine()
	lost, _ := filepath.Glob(filepath.Join(r.Data, "*.db*"))
	for _, f := range lost {
		must.Do(t, os.Remove(f))
	}
	release(t, r.Workspace(first)) // the agent's work ends, and nobody waits for it

	whole := must.Get(os.ReadFile(shown()))(t)
	must.Do(t, os.WriteFile(shown(), []byte(strings.Replace(string(whole), `"seal": "`, `"seal": "0`, 1)), 0o600))
	if words := r.Fails(4, "cruise", "resume", "--from", dir); !strings.Contains(words, "no seal of this key") {
		t.Errorf("it said %q", words)
	}
	must.Do(t, os.WriteFile(shown(), whole, 0o600))
	var s cruisetest.Status
	r.Decode(r.CCO("cruise", "resume", "--from", dir, "--json"), &s)
	release(t, r.Workspace(r.Await(s.ID, "working", working)))
	s = r.Await(s.ID, "watching", watching)
	if s.ID == first.ID || s.PR == 0 || r.Pulls() != 1 || s.Branch != first.Branch {
		t.Errorf("%+v\n%s", s, r.Story(s.ID))
	}
}

// Guards against a start that gives up at the first trouble of the forge, and a status that does not know the only
// phase that there ever was.
func TestAStartWaitsOutTheForgesTrouble(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	r.Down.Store(true)
	up := make(chan struct{})
	go func() {
		defer close(up)
		r.Until(func() bool { return r.Refused.Load() > 0 })
		r.Down.Store(false)
	}()
	id := r.Start(cruisetest.Picky, "--domains", "Security")
	<-up
	if r.Refused.Load() == 0 {
		t.Error("the forge was never in trouble")
	}
	if s := r.Await(id, "over", over); s.End != "approved" {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
	if out := r.CCO("cruise", "status"); !strings.Contains(out, id) || !strings.Contains(out, "approved") {
		t.Errorf("status: %s", out)
	}
	if words := r.Fails(3, "cruise", "cleanup"); !strings.Contains(words, id) {
		t.Errorf("a cleanup of what nobody named: %s", words)
	}
}

package cruising_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against agents that write to the terminal of a user who looks how they are doing, and against reasons that are
// cut before the command that mends them.
func TestStatusShowsWordsOfAgentsAndNoMore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Env = without(r, "GH_ENTERPRISE_TOKEN") // so that no engine takes the phase up
	const evil = "\x1b]0;gone\x07\u202e\u009b\u200f\u2028 and more"
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Repo: r.Repo, Box: "b"})
	st.Stage, st.Ask.Question = cruise.StageAsk, evil+strings.Repeat(" why", 60)+", so run `mend it`"
	st.Ledger.Raise(cruise.Finding{Text: evil})
	st.Inbox.Held = []cruise.Comment{{ID: "comment-5", Author: "eve",
		Body: strings.Repeat("nice ", 30) + "rm -rf"}}
	st.Inbox.Dropped = 7
	rec := must.Get(steps.Record("0123abcd", st, time.Now()))(t)
	rec.Title = evil + "\npull request\thttps://evil.example"
	rec.Kind, rec.Stage, rec.PRURL = evil, evil, evil // a machine that shares phases may have written anything
	must.Do(t, os.MkdirAll(r.Data, 0o700))
	db, err := store.Open(t.Context(), filepath.Join(r.Data, "cco.db"))
	if err == nil {
		err = errors.Join(db.SavePhase(t.Context(), rec), db.Log(t.Context(), rec.ID, time.Now(), "asks: "+evil), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	status := r.CCO("cruise", "status", rec.ID)
	for _, args := range [][]string{{"status"}, {"logs"}, {"list"}, {"status", "--json"}, {"list", "--json"}} {
		said := r.CCO(append([]string{"cruise"}, args...)...)
		if !strings.Contains(said, "and more") || strings.ContainsAny(said, "\x1b\x07\u202e\u009b\u200f\u2028") {
			t.Errorf("%s says %q", args, said)
		}
	}
	if strings.Contains(status, "\npull request") {
		t.Errorf("a title makes lines of its own:\n%s", status)
	}
	for _, want := range []string{"so run `mend it`", "comment-5 by eve (may not write here), 156 characters: nice",
		"fix --accept", "and 7 older, which only", "and more"} {
		if !strings.Contains(status, want) {
			t.Errorf("status does not say %q:\n%s", want, status)
		}
	}
}

// Guards against commands for many machines that fail without a word about what they need.
func TestPhasesOfOneMachineHaveNoWorkers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	for _, args := range [][]string{{"worker"}, {"start", "x", "--on", "gpu"}} {
		if words := r.Fails(4, append([]string{"cruise"}, args...)...); !strings.Contains(words, "set engine.temporal") {
			t.Errorf("%v says %q", args, words)
		}
	}
	if words := r.Fails(2, "cruise", "start", "x", "--on", "box:b"); !strings.Contains(words, "is not a label") {
		t.Errorf("it says %q", words)
	}
}

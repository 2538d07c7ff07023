package steps

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a phase that ends during a slow look, and keeps every command of the user waiting for the forge.
func TestNobodyWaitsForAForgeBecauseAPhaseEnds(t *testing.T) {
	data := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(data, "cco.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	d := &Doer{Data: data, Store: db, Now: time.Now, Watch: &Watcher{Now: time.Now}, Inbox: &Inbox{Store: db}}
	look := d.Watch.repo("/r")
	look.turn <- struct{}{} // somebody looks
	st := cruise.NewState(cruise.Spec{Repo: "/r"})
	st.Stage, st.PR = cruise.StageEnded, &cruise.PullRequest{Number: 1}
	saved, sent := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := d.Save(t.Context(), cruise.SaveIn{Phase: "aaaaaaaa", State: st})
		saved <- err
	}()
	for {
		if p, err := db.Phase(t.Context(), "aaaaaaaa"); err == nil && p.Ended {
			break
		}
		time.Sleep(time.Millisecond)
	}
	// Guards against a command that follows the phase, reads that it has ended, and leaves before it is told how.
	if lines, err := db.ReadLog(t.Context(), "aaaaaaaa", 0); err != nil || len(lines) == 0 {
		t.Errorf("it has ended, and its log says %v, %v", lines, err)
	}
	go func() {
		sent <- d.Inbox.Keep(t.Context(), "bbbbbbbb", cruise.Event{ID: "e"})
	}()
	select {
	case err = <-sent:
	case <-time.After(2 * time.Minute):
		t.Error("a command waits for a look at another phase's request")
	}
	<-look.turn
	if again := <-saved; err != nil || again != nil {
		t.Error(err, again)
	}
}

func TestTheLogHasVerdictsFindingsAndAnswers(t *testing.T) {
	var was, is cruise.State
	is.Review.Judgements = []cruise.Judgement{{Domain: "Security", Verdict: reading.NeedsChanges, Head: "c0ffee"},
		{Domain: "Polish", Head: "c0ffee"}}
	is.Ledger.Raise(cruise.Finding{Domain: "Security", Text: "quote it"})
	id := is.Ledger.Findings[0].ID
	want := []string{"NEEDS_CHANGES of c0ffee by Security", "a failed review of c0ffee by Polish",
		"finding " + id + " is open (Security): quote it"}
	if got := saidNews(was, is); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	was.Review.Judgements, was.Ledger.Findings = is.Review.Judgements, slices.Clone(is.Ledger.Findings)
	if got := saidNews(was, is); got != nil {
		t.Errorf("twice: %q", got)
	}
	is.Ledger.Settle(id, cruise.Declined, "the caller quotes it", "c1")
	if got := saidNews(was, is); !slices.Equal(got, []string{"finding " + id + " is declined: the caller quotes it"}) {
		t.Errorf("%q", got)
	}
}

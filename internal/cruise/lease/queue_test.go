//go:build heavy

package lease

import (
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a phase that waits for ever, and a user who does not learn for what.
func TestAPhaseThatWaitsSaysWhy(t *testing.T) {
	db := postgres(t)
	table := &Table{DB: db}
	enqueue(t, db, "p")
	must.Get(db.ExecContext(t.Context(), `UPDATE homes SET queued_at = queued_at - interval '1 minute'`))(t)
	says := func(want string, busy bool) {
		t.Helper()
		all := must.Get(table.Waiting(t.Context()))(t)
		if len(all) != 1 || all[0].Phase != "p" || all[0].Busy != busy || (want == "") != (all[0].Why == "") ||
			!strings.Contains(all[0].Why, want) {
			t.Errorf("it says %+v, not %q", all, want)
		}
	}
	says("no worker is alive", false)
	eve := worker(t, db, "eve", func(w *Worker) { w.Accounts = []string{"forge.example/eve"} })
	says("worker eve has no token of ada on forge.example", false)
	worker(t, db, "old", func(w *Worker) { w.Versions = []string{"4"} })
	says("worker old runs another version", false)
	worker(t, db, "bare", func(w *Worker) { w.Labels = nil })
	says("worker bare has no box a;", false)
	worker(t, db, "full", func(w *Worker) { w.Slots = 0 })
	says("worker full has no free slot (0 of 0)", true)
	w := worker(t, db, "w")
	says("", false)
	takes(t, w, Held{"p", 1})
	if all := must.Get(table.Waiting(t.Context()))(t); len(all) != 0 {
		t.Errorf("it has a home, and waits: %+v", all)
	}
	must.Do(t, w.Refuse(t.Context(), Held{"p", 1}))
	age(t, db, time.Minute, "full")
	says("worker w can't run it", false)
	must.Do(t, Retry(t.Context(), db, "p"))
	says("", false)
	takes(t, w, Held{"p", 2})
	age(t, db, time.Minute, "w")
	all := must.Get(table.Waiting(t.Context()))(t)
	if len(all) != 1 || all[0].Lost != "w" || all[0].Why == "" {
		t.Errorf("nobody can take it over, and it says %+v", all)
	}
	calm(t, db, eve)
	takes(t, eve) // not in a takeover either
}

// Guards against a worker that must be started anew to be given what it got since.
func TestAnOfferChangesWhatAWorkerTakes(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	w := worker(t, db, "w", func(w *Worker) { w.Accounts, w.Labels = nil, nil })
	offer := Offer{Labels: []string{"box:a"}, Accounts: []string{ada.String()}, Load: 0.5}
	takes(t, w)
	must.Get(w.Offer(t.Context(), Offer{Labels: offer.Labels}))(t)
	takes(t, w)
	must.Get(w.Offer(t.Context(), offer))(t)
	takes(t, w, Held{"p", 1})
	must.Do(t, w.Refuse(t.Context(), Held{"p", 1}))
	offer.Load = 1.5
	must.Get(w.Offer(t.Context(), offer))(t) // nothing that a phase could need has changed
	takes(t, w)
	if got := must.Get(w.Table.Workers(t.Context()))(t); len(got) != 1 || got[0].Load != 1.5 {
		t.Errorf("%+v", got)
	}
	offer.Labels = append(offer.Labels, "gpu")
	must.Get(w.Offer(t.Context(), offer))(t)
	takes(t, w, Held{"p", 2})
	must.Get(w.Offer(t.Context(), Offer{Labels: offer.Labels}))(t) // its token is gone: nothing more is taken
	enqueue(t, db, "qq")
	takes(t, w)
	worker(t, db, "silent")
	worker(t, db, "other")
	age(t, db, Term+time.Second, "silent")
	if alive := must.Get(w.Offer(t.Context(), offer))(t); alive != 2 {
		t.Errorf("%d workers are alive", alive)
	}
}

// Guards against a phase that goes on as somebody else: its worker was started again with the token of another account,
// or is another program than before.
func TestAWorkerKeepsNothingOfAnotherAccountOrVersion(t *testing.T) {
	db := postgres(t)
	for _, p := range []string{"p", "q"} {
		enqueue(t, db, p)
	}
	must.Get(db.ExecContext(t.Context(), `UPDATE homes SET version = 'new' WHERE phase = 'q'`))(t)
	w := worker(t, db, "w", func(w *Worker) { w.Versions = append(w.Versions, "new") })
	takes(t, w, Held{"p", 1}, Held{"q", 1})
	offer := Offer{Accounts: w.Worker.Accounts, Labels: w.Worker.Labels}
	must.Get(w.Offer(t.Context(), offer))(t)
	must.Do(t, w.Beat(t.Context()))
	if held := w.Held(); len(held) != 2 {
		t.Errorf("what it can run is gone: %v", held)
	}
	old := worker(t, db, "w") // the same worker, and an older program
	must.Get(old.Offer(t.Context(), offer))(t)
	must.Do(t, old.Beat(t.Context()))
	if held := old.Held(); len(held) != 1 || held["p"] != 2 {
		t.Errorf("an older program has %v", held)
	}
	offer.Accounts = []string{"forge.example/eve"}
	must.Get(old.Offer(t.Context(), offer))(t)
	if err := old.Check(t.Context(), "p", 2); err == nil {
		t.Error("another account acts for it")
	}
	takes(t, old)
	other := worker(t, db, "other", func(w *Worker) { w.Versions = append(w.Versions, "new") })
	takes(t, other, Held{"p", 4}, Held{"q", 4})
}

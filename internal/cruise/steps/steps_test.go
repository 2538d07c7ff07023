package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

func TestWhatPassesByItselfIsKnown(t *testing.T) {
	for _, err := range []error{
		&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, fmt.Errorf("save: %w", syscall.EDQUOT),
		&forge.UnavailableError{Host: "h", Status: 502}, &forge.LimitError{Host: "h"}, &session.BusyError{ID: "x"},
		context.DeadlineExceeded, fmt.Errorf("push: %w", &proc.ExitError{Argv: []string{"git", "push"}, Code: 128,
			Stderr: "fatal: unable to access 'https://h/': Could not resolve host: h"}),
	} {
		if _, ok := errors.AsType[*cruise.Temporary](temporary(err)); !ok {
			t.Errorf("%v is not known to pass", err)
		}
	}
	for _, err := range []error{&forge.PermissionError{}, &forge.TokenError{},
		errors.New("a finding that says: Could not resolve host"), os.ErrNotExist} {
		if _, ok := errors.AsType[*cruise.Temporary](temporary(err)); ok {
			t.Errorf("%v would be waited for", err)
		}
	}
	if temporary(nil) != nil {
		t.Error("nothing is something")
	}
}

func TestAnEventIsKeptUntilItIsRead(t *testing.T) {
	db := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = db.Close() }()
	b := &Inbox{Store: db}
	ev := cruise.Event{ID: "aa", Kind: cruise.EventComment, Text: "words", At: time.Unix(2, 0).UTC()}
	first := cruise.Event{ID: "bb", Kind: cruise.EventNews, At: time.Unix(1, 0).UTC()}
	for _, e := range []cruise.Event{ev, first, ev} {
		must.Do(t, b.Keep(t.Context(), "p", e))
	}
	must.Do(t, db.SavePhase(t.Context(), must.Get(Record("p", cruise.NewState(cruise.Spec{Repo: "/r"}), time.Now()))(t)))
	must.Do(t, b.Read(t.Context(), "p", func(_ cruise.State, got []cruise.Event) error {
		if len(got) != 2 || got[0].ID != "bb" || got[1] != ev {
			t.Fatalf("%+v", got)
		}
		return nil
	}))
	end := store.Phase{ID: "p", Ended: true}
	if unread, err := b.end(t.Context(), end, []string{"bb"}, false); err != nil || !unread {
		t.Errorf("it ends with something unread: %v", err)
	}
	if unread, err := b.end(t.Context(), end, []string{"aa", "bb"}, false); err != nil || unread {
		t.Errorf("it does not end: %v", err)
	}
	if got, err := b.unread(t.Context(), "p", nil); err != nil || len(got) != 0 {
		t.Errorf("left: %+v, %v", got, err)
	}
}

// polls is a forge that is only looked at.
type polls struct {
	Forge
	asked [][]forge.Watched
	news  []forge.News
	err   error
	gone  int // a request that was deleted
}

func (p *polls) Poll(_ context.Context, w []forge.Watched) ([]forge.News, error) {
	p.asked = append(p.asked, w)
	if slices.ContainsFunc(w, func(w forge.Watched) bool { return w.Number == p.gone }) {
		return nil, &forge.NotFoundError{What: "pull request"}
	}
	return p.news, p.err
}

func TestOneLookServesAllPhasesOfARepository(t *testing.T) {
	now := time.Unix(100, 0)
	woken := make(chan string, 10)
	w := &Watcher{Now: func() time.Time { return now }, Wake: func(id string) { woken <- id }}
	f := &polls{}
	look := func(phase string, pr int, mark string) forge.News {
		t.Helper()
		n := must.Get(w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: phase, Repo: "/r", PR: pr},
			Mark: mark}))(t)
		return n
	}
	look("a", 1, "")
	look("b", 2, "") // within the same second, but never looked at
	if now = now.Add(5 * time.Second); len(f.asked) != 2 || len(f.asked[1]) != 2 {
		t.Fatalf("asked %+v", f.asked)
	}
	f.news = []forge.News{{Number: 2, Mark: "m2", Comments: []forge.Comment{{ID: "c1", Body: "hello"}}}}
	look("a", 1, "")
	if got := <-woken; got != "b" {
		t.Errorf("woke %s", got)
	}
	f.news = nil
	if n := look("b", 2, ""); len(n.Comments) != 1 || n.Mark != "m2" || len(f.asked) != 3 {
		t.Errorf("b sees %+v after %d looks", n, len(f.asked))
	}
	// A phase that was killed before it could take that in has the old mark still, and asks the forge.
	f.news = []forge.News{{Number: 2, Mark: "m2", Comments: []forge.Comment{{ID: "c1", Body: "hello"}}}}
	if n := look("b", 2, ""); len(n.Comments) != 1 || len(f.asked) != 4 {
		t.Errorf("b sees %+v after %d looks", n, len(f.asked))
	}
	w.Forget(t.Context(), "/r", 1)
	now = now.Add(5 * time.Second)
	if look("b", 2, "m2"); len(f.asked[4]) != 1 {
		t.Errorf("asked %+v", f.asked[4])
	}
	f.err = &forge.UnavailableError{Host: "h"}
	now = now.Add(5 * time.Second)
	if _, err := w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: "b", Repo: "/r", PR: 2},
		Mark: "m2"}); err == nil {
		t.Error("a forge that is down has no news")
	}
}

// Guards against comments that are lost because a phase is busy when another's look brings some of them, and against
// those of a phase that never looks again.
func TestWhatOthersLooksBringAddsUp(t *testing.T) {
	now := time.Unix(100, 0)
	w := &Watcher{Now: func() time.Time { now = now.Add(5 * time.Second); return now }}
	f := &polls{}
	look := func(phase string, pr int, mark string) forge.News {
		t.Helper()
		return must.Get(w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: phase, Repo: "/r", PR: pr},
			Mark: mark}))(t)
	}
	look("a", 1, "m0")
	said := func(n int) {
		mark := forge.Mark(fmt.Sprint("m", n))
		f.news = []forge.News{{Number: 1, Mark: mark, Comments: []forge.Comment{{ID: fmt.Sprint(n)}}}}
		look("b", 2, "")
		f.news = nil
	}
	said(1)
	said(2)
	if last := f.asked[len(f.asked)-1]; !slices.Contains(last, forge.Watched{Number: 1, Since: "m1"}) {
		t.Errorf("asked %+v", last)
	}
	if n := look("a", 1, "m0"); len(n.Comments) != 2 || n.Comments[1].ID != "2" || n.Mark != "m2" {
		t.Errorf("a sees %+v", n)
	}
	if n := look("a", 1, "m2"); len(n.Comments) != 0 || n.Mark != "m2" {
		t.Errorf("a sees %+v again", n)
	}
	for n := range 2 * maxReady { // it is paused
		said(n + 3)
	}
	if p := w.repo("/r").phases[1]; p != nil {
		t.Errorf("%d comments are kept for it", len(p.ready.Comments))
	}
	f.news = []forge.News{{Number: 1, Mark: "m9999", Comments: []forge.Comment{{ID: "all of them"}}}}
	if n := look("a", 1, "m2"); n.Mark != "m9999" ||
		!slices.Contains(f.asked[len(f.asked)-1], forge.Watched{Number: 1, Since: "m2"}) {
		t.Errorf("a sees %+v", n)
	}
}

// Guards against a phase that can't be paused or removed because another's look at the same repository hangs.
func TestALookIsGivenUpWhileAnotherHangs(t *testing.T) {
	w := &Watcher{Now: time.Now}
	hangs := make(chan struct{})
	f := &hanging{at: hangs}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.look(ctx, f, cruise.LookIn{Where: cruise.Where{Phase: "a", Repo: "/r", PR: 1}})
		done <- err
	}()
	<-hangs
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := w.look(soon, f, cruise.LookIn{Where: cruise.Where{Phase: "b", Repo: "/r", PR: 2}}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("it gave up: %v", err)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the other gave up: %v", err)
	}
}

// hanging is a forge that answers nothing.
type hanging struct {
	Forge
	at chan struct{}
}

func (h *hanging) Poll(ctx context.Context, _ []forge.Watched) ([]forge.News, error) {
	close(h.at)
	<-ctx.Done()
	return nil, ctx.Err()
}

// Guards against a merge that is told of once, to a phase that could not write it down.
func TestAMergeIsToldOfUntilItIsTakenIn(t *testing.T) {
	now := time.Unix(100, 0)
	w := &Watcher{Now: func() time.Time { now = now.Add(5 * time.Second); return now }}
	f := &polls{news: []forge.News{{Number: 1, Mark: "m", Pull: forge.Pull{State: forge.Merged}}}}
	d := &Doer{Watch: w, Forge: func(context.Context, string) (Forge, error) { return f, nil }}
	for n := range 3 {
		got, err := d.Look(t.Context(), cruise.LookIn{Where: cruise.Where{Phase: "a", Repo: "/r", PR: 1}, Mark: "m"})
		if err != nil || got.State != forge.Merged {
			t.Errorf("look %d: %+v, %v", n, got, err)
		}
		f.news = nil
	}
}

// Guards against a push to a request that was closed after another's look had brought news of it.
func TestALookThatIsAskedForIsANewOne(t *testing.T) {
	w := &Watcher{Now: func() time.Time { return time.Unix(100, 0) }}
	f := &polls{}
	look := func(phase string, pr int, ask bool) forge.News {
		t.Helper()
		n := must.Get(w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: phase, Repo: "/r", PR: pr},
			Now: ask}))(t)
		return n
	}
	look("a", 1, false)
	f.news = []forge.News{{Number: 1, Mark: "m", Pull: forge.Pull{State: forge.Open}}}
	look("b", 2, false)
	f.news = []forge.News{{Number: 1, Mark: "m", Pull: forge.Pull{State: forge.Closed}}}
	if n := look("a", 1, true); n.Pull.State != forge.Closed {
		t.Errorf("it sees %+v", n)
	}
}

// Guards against a request that is read from its beginning because another's look has brought news of it: the phase is
// woken, and wants to look now.
func TestWhatAnothersLookBroughtIsNotReadAgain(t *testing.T) {
	w := &Watcher{Now: func() time.Time { return time.Unix(100, 0) }}
	f := &polls{}
	look := func(phase string, pr int, now bool) (forge.News, error) {
		return w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: phase, Repo: "/r", PR: pr}, Now: now})
	}
	must.Get(look("a", 1, false))(t)
	f.news = []forge.News{{Number: 1, Mark: "m1", Comments: []forge.Comment{{ID: "c1"}}}}
	must.Get(look("b", 2, false))(t)
	f.news, f.err = nil, &forge.UnavailableError{Host: "h"}
	if _, err := look("a", 1, true); err == nil {
		t.Error("a forge that is down has news")
	}
	f.news, f.err = []forge.News{{Number: 1, Mark: "m2", Comments: []forge.Comment{{ID: "c2"}}}}, nil
	n := must.Get(look("a", 1, true))(t)
	if len(n.Comments) != 2 || n.Comments[0].ID != "c1" || n.Mark != "m2" {
		t.Errorf("it sees %+v", n)
	}
	for _, asked := range f.asked[len(f.asked)-1] {
		if asked.Number == 1 && asked.Since != "m1" {
			t.Errorf("it was read from %q on", asked.Since)
		}
	}
}

// checked is a forge with checks.
type checked struct {
	Forge
	asked [][]int
	all   map[int]forge.CheckState
}

func (f *checked) Checks(_ context.Context, numbers []int) (map[int]forge.Checked, error) {
	f.asked = append(f.asked, numbers)
	found := map[int]forge.Checked{}
	for _, n := range numbers {
		found[n] = forge.Checked{All: []forge.Check{{Name: "unit", State: f.all[n]}}}
	}
	return found, nil
}

// Guards against a request to the forge for every phase that waits for checks, and against phases that wait for what
// another's look has found.
func TestOneReadingOfChecksServesAllPhasesOfARepository(t *testing.T) {
	now := time.Unix(100_000, 0)
	woken := make(chan string, 100)
	w := &Watcher{Now: func() time.Time { return now }, Wake: func(id string) { woken <- id }}
	f := &checked{all: map[int]forge.CheckState{}}
	ask := func(pr int, within time.Duration) forge.CheckState {
		t.Helper()
		got := must.Get(w.checks(t.Context(), f, cruise.ChecksIn{Where: cruise.Where{Phase: fmt.Sprint(pr), Repo: "/r",
			PR: pr},
			Within: within}))(t)
		return got.All[0].State
	}
	for pr := range 30 {
		f.all[pr] = forge.ChecksPending
		ask(pr, 5*time.Second)
	}
	now, f.asked = now.Add(5*time.Second), nil
	for pr := range 30 {
		ask(pr, 5*time.Second)
	}
	if len(f.asked) != 2 || len(f.asked[0]) != 25 || len(f.asked[1]) != 5 {
		t.Errorf("asked %v", f.asked)
	}
	now, f.all[7] = now.Add(5*time.Second), forge.ChecksPassed
	ask(0, 5*time.Second)
	if got := <-woken; got != "7" || ask(7, 5*time.Second) != forge.ChecksPassed || len(f.asked) != 3 || len(woken) > 0 {
		t.Errorf("woke %s, asked %v", got, f.asked)
	}
}

// Guards against phases that use up the limit of their user: what is to spare is used up, and then every head is read
// as often as is due, and once more for each check that changes.
func TestReadingsOfChecksAreBounded(t *testing.T) {
	now := time.Unix(100_000, 0)
	w := &Watcher{Now: func() time.Time { return now }}
	f := &checked{all: map[int]forge.CheckState{0: forge.ChecksPending}}
	hour := func() (n int) {
		f.asked = nil
		for range 720 {
			now = now.Add(5 * time.Second)
			must.Get(w.checks(t.Context(), f, cruise.ChecksIn{Where: cruise.Where{Repo: "/r"}, Within: 5 * time.Second}))(t)
		}
		return len(f.asked)
	}
	if n := hour(); n > 2*spares+5 {
		t.Errorf("%d in the first hour", n)
	}
	if n := hour(); n > spares+5 || n < 12 {
		t.Errorf("%d in the second", n)
	}
	for i := range 100 {
		f.all[0] = []forge.CheckState{forge.ChecksPending, forge.ChecksPassed}[i%2]
		now = now.Add(rarely)
		must.Get(w.checks(t.Context(), f, cruise.ChecksIn{Where: cruise.Where{Repo: "/r"}, Within: rarely}))(t)
	}
	if n := hour(); n > 2*spares+5 {
		t.Errorf("%d after many changes", n)
	}
}

func TestARequestThatWasDeletedHidesNoOther(t *testing.T) {
	now := time.Unix(100, 0)
	w := &Watcher{Now: func() time.Time { now = now.Add(5 * time.Second); return now }}
	f := &polls{gone: 1, news: []forge.News{{Number: 2, Mark: "m"}}}
	for range 2 {
		if _, err := w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: "a", Repo: "/r", PR: 1}}); err == nil {
			t.Error("a request that is gone has news")
		}
		if n, err := w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: "b", Repo: "/r",
			PR: 2}}); err != nil || n.Mark != "m" {
			t.Errorf("%+v, %v", n, err)
		}
	}
}

func TestTheReadableCopyNamesWhatIsPending(t *testing.T) {
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning})
	st.Ledger.Raise(cruise.Finding{Text: "a", Comment: "c1"})
	s := Show("id", st)
	if s.ID != "id" || s.Phase != "planning" || len(s.Pending) != 1 || s.Pending[0] != "c1" || s.Backoff != 5 {
		t.Errorf("%+v", s)
	}
}

// Its readers tell by null that there is no pull request, and no review under way.
func TestTheReadableCopyHasNullForWhatIsNotThere(t *testing.T) {
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning})
	const none = `"pr_url":null,"pr_number":null,"current_review_domain":null`
	if data := must.Get(json.Marshal(Show("id", st)))(t); !strings.Contains(string(data), none) {
		t.Errorf("no %s in %s", none, data)
	}
	st.PR = &cruise.PullRequest{Number: 7, URL: "https://forge.example/7"}
	const some = `"pr_url":"https://forge.example/7","pr_number":7,`
	if data := must.Get(json.Marshal(Show("id", st)))(t); !strings.Contains(string(data), some) {
		t.Errorf("no %s in %s", some, data)
	}
}

// Guards against a forge that does not know at once what was pushed to it.
func TestWhatIsMissingShortlyAfterAPushIsWaitedFor(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	d := &Doer{Data: t.TempDir(), Now: func() time.Time { return now }}
	missing := fmt.Errorf("open: %w", &forge.NotFoundError{What: "commit"})
	passes := func() bool {
		_, ok := errors.AsType[*cruise.Temporary](d.soon("a", missing))
		return ok
	}
	if passes() {
		t.Error("nothing was pushed, and it is waited for")
	}
	must.Do(t, d.NotePush("a"))
	d = &Doer{Data: d.Data, Now: d.Now} // also by the next process
	if now = now.Add(119 * time.Second); !passes() {
		t.Error("it is not waited for")
	}
	if now = now.Add(2 * time.Second); passes() {
		t.Error("it is waited for without end")
	}
}

// missing is a forge that does not know the request yet.
type missing struct{ Forge }

func (missing) err() error { return &forge.NotFoundError{What: "pull request 1"} }

func (f missing) Comment(context.Context, int, forge.Post) (forge.Posted, error) {
	return forge.Posted{}, f.err()
}
func (f missing) Said(context.Context, int, forge.Mark) (forge.Stream, error) {
	return forge.Stream{}, f.err()
}
func (f missing) Pull(context.Context, int) (forge.Pull, error)       { return forge.Pull{}, f.err() }
func (f missing) Ready(context.Context, int) error                    { return f.err() }
func (f missing) Threads(context.Context, int) (forge.Threads, error) { return nil, f.err() }
func (f missing) Contains(context.Context, int, string) (bool, error) { return false, f.err() }

// Guards against a step that asks a person about what a forge will know in a moment.
func TestEveryStepWaitsForWhatIsMissingShortlyAfterAPush(t *testing.T) {
	d := &Doer{Data: t.TempDir(), Now: time.Now, Forge: func(context.Context, string) (Forge, error) {
		return missing{}, nil
	}}
	must.Do(t, d.NotePush("a"))
	for name, do := range map[string]func() error{
		"say": func() error { return d.Say(t.Context(), cruise.SayIn{Where: cruise.Where{Phase: "a"}}) },
		"merge": func() error {
			_, err := d.Merge(t.Context(), cruise.MergeIn{Where: cruise.Where{Phase: "a"}})
			return err
		},
		"ready": func() error { return d.Ready(t.Context(), cruise.Where{Phase: "a"}) },
		"answer": func() error {
			return d.Answer(t.Context(), cruise.AnswerIn{Where: cruise.Where{Phase: "a"}, Answers: []cruise.Reply{{}}})
		},
		"hands": func() error {
			_, err := d.Pushers(t.Context(), cruise.HeadsIn{Where: cruise.Where{Phase: "a"}})
			return err
		},
	} {
		if _, ok := errors.AsType[*cruise.Temporary](do()); !ok {
			t.Errorf("%s asks: %v", name, do())
		}
	}
}

// Guards against a clock that was set back, until which nobody looks any more.
func TestAClockThatIsSetBackStopsNoLooking(t *testing.T) {
	now := time.Unix(100_000, 0)
	w := &Watcher{Now: func() time.Time { return now }}
	f := &polls{}
	for range 2 {
		must.Get(w.look(t.Context(), f, cruise.LookIn{Where: cruise.Where{Phase: "a", Repo: "/r", PR: 1}}))(t)
		now = now.Add(-24 * time.Hour)
	}
	if len(f.asked) != 2 {
		t.Errorf("asked %d times", len(f.asked))
	}
}

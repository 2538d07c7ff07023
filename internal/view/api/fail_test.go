package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a refusal that does not say what to do: a key in one's own shell is none of the page's.
func TestAMissingKeySaysWhatToDo(t *testing.T) {
	d := &Desk{Class: func(error) int { return 4 }}
	for err, want := range map[error]string{fmt.Errorf("push: %w", &app.KeyError{}): "start it where the key is set",
		&changedError{"limits.day_cost"}: "look at it again"} {
		w := httptest.NewRecorder()
		if d.fail(w, err); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%v gives %d %s", err, w.Code, w.Body)
		}
	}
}

// Guards against a run, a question or an end that can't be told from the one that somebody has seen.
func TestWhatWasSeenHasAName(t *testing.T) {
	at := time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	was := store.Session{ID: "0badcafe", State: store.Waiting, Question: "May I?", Asked: at, Started: at, Finished: at}
	if again := was; seenOf(again) != seenOf(was) {
		t.Error("the same has two names")
	}
	for name, change := range map[string]func(*store.Session){
		"another question":      func(v *store.Session) { v.Question = "May I not?" },
		"the same, asked again": func(v *store.Session) { v.Asked = at.Add(time.Second) },
		"another run":           func(v *store.Session) { v.Started = at.Add(time.Second) },
		"another end":           func(v *store.Session) { v.Finished = at.Add(time.Second) },
		"another state":         func(v *store.Session) { v.State = store.Done },
		"another limit":         func(v *store.Session) { v.Cause = store.LimitDayCost },
		"another session":       func(v *store.Session) { v.ID = "0badbeef" }} {
		now := was
		if change(&now); seenOf(now) == seenOf(was) {
			t.Errorf("%s has the same name", name)
		}
	}
}

// Guards against a chart that ends with the last day on which something was spent.
func TestDaysEndToday(t *testing.T) {
	now := time.Date(2026, 11, 16, 8, 0, 0, 0, time.Local)
	days := everyDay([]Sum{{Name: store.Day(now.AddDate(0, 0, -9)), Spend: store.Spend{Cost: 3}}}, now)
	if len(days) != moneyDays || days[moneyDays-1].Name != store.Day(now) || days[moneyDays-10].Cost != 3 {
		t.Errorf("%+v", days)
	}
}

// Guards against a spelled character that somebody imitates, also where a long line is cut into pieces.
func TestSpelledCharactersCantBeImitated(t *testing.T) {
	if got := safetext.Quote("<U+202E>\u202e"); got != "<U+003C>U+202E><U+202E>" || safetext.Spell(got) != got {
		t.Errorf("%q", got)
	}
	for shift := range 8 {
		line := []byte(strings.Repeat("x", 32<<10-shift) + "<U+202E>" + strings.Repeat("é", 32<<10))
		n, part, err := pieces(line, false)
		if must.Do(t, err); n == 0 || strings.HasSuffix(string(part), "<") || strings.HasSuffix(string(part), "<U") {
			t.Errorf("a piece ends with %q", part[max(0, len(part)-4):])
		}
	}
}

// Guards against a count that goes by lines: of five findings with three lines each, seven more would seem to be none.
func TestFindingsAreCountedAndNotTheirLines(t *testing.T) {
	one := gate.Finding{Kind: "executables", Path: ".husky/x", Says: "runs", Text: "+a", Lines: []string{"+b", "+c"},
		More: 4}
	report := gate.Report{Groups: []gate.Group{{Kind: "executables", Count: 12,
		Findings: []gate.Finding{one, one, one, one, one}}}}
	got := groups(report, gate.Policy{})
	if len(got) != 1 || got[0].Count != 12 || len(got[0].Findings) != 5 ||
		!strings.HasSuffix(got[0].Findings[0], "+a\n+b\n+c\n… and 4 more lines") {
		t.Errorf("%+v", got)
	}
}

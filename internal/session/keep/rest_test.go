package keep

import (
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/broker"
)

// Guards against an agent that is ended while it waits to try again, runs a tool or asks something, and against one
// that never counts as idle.
func TestRest(t *testing.T) {
	t.Parallel()
	answer := broker.Entry{Kind: broker.KindModel, Decision: broker.Allowed, Status: 200, Spend: &broker.Spend{}}
	with := func(change func(*broker.Entry)) broker.Entry { e := answer; change(&e); return e }
	calls := with(func(e *broker.Entry) { e.Calls = true })
	cut := with(func(e *broker.Entry) { e.Error = "the answer was cut short" })
	gone := broker.Entry{Kind: broker.KindModel, Decision: broker.Failed, Error: "the client went away"}
	full := broker.Entry{Kind: broker.KindModel, Decision: broker.Allowed, Status: 529}
	down := broker.Entry{Kind: broker.KindModel, Decision: broker.Failed, Status: 502, Error: "refused"}
	models := broker.Entry{Kind: broker.KindModel, Decision: broker.Allowed, Status: 200}
	other := broker.Entry{Kind: "connect", Decision: broker.Allowed}
	// Each answer begins at a second and ends a second later, or when Began says so.
	type at struct {
		second int
		entry  broker.Entry
	}
	for name, tt := range map[string]struct {
		answers []at
		escape  int // the second, 0 for none
		busy    int // until this second
		hook    bool
		turn    int
		idle    int // from this second on, 0 for never
	}{
		"no answer yet":                       {},
		"a whole answer":                      {answers: []at{{1, answer}}, idle: 12},
		"a tool that runs":                    {answers: []at{{1, calls}}, busy: 30},
		"a tool that ran, and an answer":      {answers: []at{{1, calls}, {20, answer}}, busy: 20, idle: 31},
		"a question":                          {answers: []at{{1, calls}}},
		"a process beside it":                 {answers: []at{{1, answer}}, busy: 20, idle: 30},
		"it waits to try again":               {answers: []at{{1, answer}, {3, full}}},
		"it has tried again":                  {answers: []at{{1, full}, {5, answer}}, idle: 16},
		"nobody there":                        {answers: []at{{1, answer}, {3, down}}},
		"a dropped connection":                {answers: []at{{1, cut}}},
		"a list of models beside an error":    {answers: []at{{1, full}, {3, models}, {4, other}}},
		"a whole answer, and the hook speaks": {answers: []at{{1, answer}}, hook: true},
		"Escape in an answer":                 {answers: []at{{3, cut}}, hook: true, escape: 4, idle: 14},
		"Escape before an answer":             {answers: []at{{3, gone}}, hook: true, escape: 4, idle: 14},
		"Escape in a tool":                    {answers: []at{{1, calls}}, hook: true, escape: 5, busy: 5, idle: 15},
		"Escape that did not break it off":    {answers: []at{{1, calls}, {5, calls}}, hook: true, escape: 4},
		"Escape while it waits to try again":  {answers: []at{{1, full}}, hook: true, escape: 5},
		"a turn after Escape":                 {answers: []at{{1, calls}}, hook: true, escape: 5, turn: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r rest
			start := time.Unix(1000, 0)
			from := 0
			for n := 1; n < 60; n++ {
				now := start.Add(time.Duration(n) * time.Second)
				for _, a := range tt.answers {
					if a.second == n-1 {
						a.entry.Time = now.Add(-time.Second)
						r.take(a.entry, now)
					}
				}
				if n == tt.escape {
					r.escaped = now.Add(-time.Millisecond)
				}
				if n == tt.turn {
					r.turn(now)
				}
				r.look(now, n <= tt.busy, tt.hook)
				if r.resting && from == 0 {
					from = n
				}
				if !r.resting {
					from = 0
				}
			}
			if from != tt.idle {
				t.Errorf("idle from second %d on, not %d", from, tt.idle)
			}
		})
	}
}

package api

import (
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/store"
)

func TestALogBecomesATimeline(t *testing.T) {
	at := time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	var log []store.Line
	for i, text := range []string{"planning: preparing", "planning: working", "pull request https://x/1",
		"planning: reviewing",
		"round 1", "planning: fixing", steps.Died, steps.TakenUp, "trouble: the model is down", "planning: watching",
		"asks: may I?", "goes on",
		"paused", "goes on", "waits for ann", "ended: merged"} {
		log = append(log, store.Line{At: at.Add(time.Duration(i) * time.Minute), Text: text})
	}
	want := []struct {
		kind, name string
		round      int
		minutes    int
	}{
		{"work", "preparing", 0, 1}, {"work", "working", 0, 2}, {"work", "reviewing", 1, 2}, {"work", "fixing", 1, 1},
		{"crash", steps.Died, 1, 1}, {"engine", "taken up by a new engine", 1, 0}, {"work", "fixing", 1, 1},
		{"trouble", "the model is down", 1, 1},
		{"wait", "watching", 1, 1}, {"ask", "may I?", 1, 1}, {"wait", "watching", 1, 1}, {"pause", "paused", 1, 1},
		{"wait", "watching", 1, 1}, {"wait", "ann", 1, 1}, {"end", "merged", 1, 0},
	}
	got := bars(log, at.Add(time.Hour))
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		g := got[i]
		if g.Kind != w.kind || g.Name != w.name || g.Round != w.round ||
			g.To.Sub(g.From) != time.Duration(w.minutes)*time.Minute {
			t.Errorf("%d is %+v, not %+v", i, g, w)
		}
	}
	if living := bars(log[:2], at.Add(time.Hour)); living[1].To != at.Add(time.Hour) {
		t.Errorf("the last of a living phase ends at %v", living[1].To)
	}
}

// Guards against a bar that ends before it begins: an engine is known to live to within seconds.
func TestADeathBeforeTheLastWordsTakesNoTimeBack(t *testing.T) {
	at := time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	got := bars([]store.Line{{At: at, Text: "planning: working"}, {At: at.Add(-time.Second), Text: steps.Stopped}},
		at.Add(time.Minute))
	if len(got) != 2 || got[1].Kind != "stopped" || got[0].To.Before(got[0].From) || got[1].From.Before(at) ||
		got[1].To != at.Add(time.Minute) {
		t.Errorf("%+v", got)
	}
}

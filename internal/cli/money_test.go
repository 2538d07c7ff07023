package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against money that nobody knows for sure and that is shown like a bill.
func TestAnEstimateIsCalledOneWhereverMoneyIsShown(t *testing.T) {
	if got := spentText(store.Spend{Cost: 1.5, Estimate: true}); got != "$1.50 (estimate)" {
		t.Errorf("sessions: %s", got)
	}
	if got := spentText(store.Spend{Cost: 1.5}); got != "$1.50" {
		t.Errorf("sessions: %s", got)
	}
	text, err := json.Marshal(store.Session{Spent: store.Spend{Cost: 1.5, Estimate: true}})
	if err != nil || !strings.Contains(string(text), `"cost":1.5,"estimate":true`) {
		t.Errorf("sessions as JSON: %s, %v", text, err)
	}
	for model, want := range map[string]string{"claude-opus-5-5": "$0.25\n", "claude-opus-9": "$0.25 (estimate)\n",
		"gpt-6.1-sol": "$0.25 (estimate)\n"} {
		out, _ := shown(t, nil,
			session.Event{Kind: session.KindAgent, Text: "claude"}, does(event.Event{Kind: event.KindStarted, Model: model}),
			does(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: event.OK, Session: "s",
				Usage: event.Usage{Input: 12000, Cost: 0.25, Turns: 1}}}))
		if !strings.HasSuffix(out, want) {
			t.Errorf("the view with %s: %q", model, out)
		}
	}
	for _, c := range []struct {
		e    broker.Entry
		want string
	}{
		{broker.Entry{Kind: "model", Spend: &broker.Spend{Input: 5, Cost: 0.5}}, "5 tokens; $0.50; "},
		{broker.Entry{Kind: "model", Spend: &broker.Spend{Input: 5, Cost: 0.5, Unpriced: 1}, Estimate: true},
			"5 tokens; $0.50 (estimate); "},
	} {
		s, out, _ := term.Test("")
		(&commands{&app.App{IO: s}}).netEntry(c.e)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("the log of the network: %q", out)
		}
	}
}

// Guards against a pinned CLI whose default model has no row: what it costs would be the dearest price there is.
func TestDefaultModelsHaveAPrice(t *testing.T) {
	prices := must.Get(broker.DefaultPrices())(t)
	for _, a := range agent.All() {
		models := a.Package().Models
		if a.Package().Name != "" && len(models) == 0 {
			t.Errorf("%s names no default model", a.Name())
		}
		for _, m := range models {
			if _, ok := prices.Find(m); !ok {
				t.Errorf("%s asks for %s, which has no row in internal/broker/prices.json", a.Name(), m)
			}
		}
	}
	versions := map[string]bool{}
	for _, a := range agent.All() {
		versions[a.Name()+" "+a.Package().Version] = true
	}
	for _, p := range prices {
		if !versions[p.Source] {
			t.Errorf("%s has its price from %q, which is not pinned", p.Prefix, p.Source)
		}
	}
}

//go:build heavy && linux

package view_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// seeder writes records as a busy month would have left them, beside those of sessions that really ran.
type seeder struct {
	t   *testing.T
	r   *viewtest.Rig
	db  *store.Store
	now time.Time
	n   int
}

func seeding(t *testing.T, r *viewtest.Rig) *seeder {
	t.Helper()
	db := must.Get(store.Open(t.Context(), filepath.Join(r.Data(), "cco.db")))(t)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	return &seeder{t: t, r: r, db: db, now: time.Now()}
}

// add records a session that has ended so long ago.
func (s *seeder) add(v store.Session, ago time.Duration, cost float64) string {
	s.t.Helper()
	s.n++
	v.ID = fmt.Sprintf("5eed%04x", s.n)
	commit := strings.Repeat("c0ffee00", 5)
	v.Box, v.Backend, v.Base, v.Origin, v.Plan = "cco-sandbox", "native", commit, commit, session.SentPlan
	if v.Repo == "" {
		v.Repo = "/home/ada/src/webshop"
	}
	end := s.now.Add(-ago)
	v.Created, v.Started, v.Finished, v.Asked = end.Add(-11*time.Minute), end.Add(-11*time.Minute), end, end
	must.Do(s.t, s.db.AddSession(s.t.Context(), v))
	dir := filepath.Join(s.r.Data(), "sessions", v.ID)
	must.Do(s.t, os.MkdirAll(dir, 0o700))
	if v.State != store.Pulled {
		most := 3.0
		if v.Cause == store.LimitRunCost {
			most = 5
		}
		must.Do(s.t, os.WriteFile(filepath.Join(dir, "order.json"), must.Get(json.Marshal(session.Order{Session: v.ID,
			Plan: "plan.md", Run: session.Run{Limits: session.Limits{RunCost: most}}}))(s.t), 0o600))
	}
	if cost > 0 {
		s.spend(v, cost, end)
	}
	return v.ID
}

func (s *seeder) spend(v store.Session, cost float64, at time.Time) {
	s.t.Helper()
	must.Get(s.db.AddSpend(s.t.Context(), v.ID, store.Account{Day: store.Day(at), Agent: v.Agent, Model: v.Model,
		Repo: v.Repo, RepoKey: v.Repo}, map[string]store.Spend{v.Model: {Input: int64(cost * 200_000),
		Output: int64(cost * 9000), Cost: cost}}))(s.t)
}

// work is what people ask for.
var work = []struct{ title, agent, model, repo, branch string }{
	{"Cache exchange rates for an hour", "claude", "opus", "billing", "main"},
	{"Delete the feature flags nobody reads", "codex", "gpt-5.4", "webshop", "main"},
	{"Warn a week before a card expires", "claude", "opus", "billing", "card-expiry"},
	{"Document the refund API", "gemini", "gemini-pro", "docs", "refunds"},
	{"Raise Go to 1.27 and drop the shim", "claude", "sonnet", "importer", "main"},
	{"Mend the flaky test of the search index", "codex", "gpt-5.4", "search", "main"},
	{"Translate the mails to Polish", "gemini", "gemini-pro", "webshop", "mails-pl"},
	{"Find out why the product list is slow", "claude", "opus", "search", "main"},
}

// month seeds so many sessions that were taken, over the last days.
func (s *seeder) month(n int) {
	s.t.Helper()
	for i := range n {
		w := work[i%len(work)]
		title := w.title
		if i >= len(work) {
			title = fmt.Sprintf("%s, part %d", w.title, i/len(work)+1)
		}
		s.add(store.Session{Title: title, Agent: w.agent, Model: w.model, Repo: "/home/ada/src/" + w.repo, Branch: w.branch,
			State: store.Pulled, Tip: "c0ffee"}, time.Duration(3+i*i%330)*time.Hour, 0.2+float64(i%7)*0.9)
	}
}

// asking seeds sessions that wait for a person.
func (s *seeder) asking() {
	s.t.Helper()
	s.add(store.Session{Title: "Greet returning customers by name", Agent: "claude", Model: "opus", Branch: "greeting",
		State: store.Waiting, Question: "How shall the shop greet them?\n\n- Hello again\n- Welcome back\n"},
		9*time.Minute, 0.31)
	s.add(store.Session{Title: "Rewrite the importer in Go", Agent: "codex", Model: "gpt-5.4",
		Repo: "/home/ada/src/importer", Branch: "go-port", State: store.Paused, Cause: store.LimitRunCost,
		Reason: "limits.run_cost of $5.00 is reached"}, 12*time.Minute, 5)
}

// hostile are names of the kinds that break layouts.
var hostile = []string{
	"Ein-Name-ohne-jede-Lücke-" + repeated("äöü", 60),
	"שלום עולם, זה שם של משימה ארוכה מאוד שלא נגמרת אף פעם",
	"اسم طويل جدا للمهمة (يعمل) 123 ABC", "<script>alert(1)</script> & \"quotes\" 'single'", "名前" + repeated("長", 80),
	"a/very/deep/path/" + repeated("directory/", 12) + "file.go",
	"👩‍👩‍👧‍👦🏳️‍🌈 " + repeated("🔥", 40), "\u202etfel ot thgir\u202c"}

func repeated(s string, n int) (out string) {
	for range n {
		out += s
	}
	return out
}

func (s *seeder) hostile() {
	s.t.Helper()
	for i, name := range hostile {
		state, q := []store.State{store.Waiting, store.Paused, store.Failed, store.Pulled}[i%4], ""
		if state == store.Waiting {
			q = name + "?\n\n- " + name + "\n- No\n"
		}
		s.add(store.Session{Title: name, Agent: "claude", Model: name, Repo: "/home/ada/src/" + repeated("x", 90),
			Branch: name,
			State:  state, Question: q, Reason: name, Cause: store.LimitRunCost}, time.Duration(i+1)*time.Minute, 123456.78)
	}
}

// talk seeds a session with a transcript of many turns.
func (s *seeder) talk() string {
	s.t.Helper()
	id := s.add(store.Session{Title: "Split the order service into modules", Agent: "claude", Model: "opus",
		Repo: s.r.Path("repo"), Branch: "modules", State: store.Waiting,
		Question: "Shall the old names stay as aliases for one release?"},
		2*time.Minute, 1.94)
	s.r.Write(filepath.Join("data/cco/sessions", id, "sent.md"), "# Split the order service into modules\n\n"+
		"## Task 1: Totals\n\nMove what adds up an order, with its tests.\n\n"+
		"## Task 2: Shipping\n\nRates first, then labels.\n"+
		"\n## Task 3: The rest\n\nNo name that others use changes.\n")
	at := s.now.Add(-18 * time.Minute)
	tr := must.Get(session.OpenTranscript(filepath.Join(s.r.Data(), "sessions", id, "transcript.jsonl"),
		func() time.Time { at = at.Add(1300 * time.Millisecond); return at }))(s.t)
	defer func() { must.Do(s.t, tr.Close()) }()
	say := func(text string) { tr.AddEvent(event.Event{Kind: event.KindText, Text: text}) }
	n := 0
	call := func(tool, input, result string, wrong bool) {
		n++
		one := fmt.Sprintf("call%d", n)
		key := map[string]string{"Bash": "command", "Grep": "pattern"}[tool]
		if key == "" {
			key = "file_path"
		}
		tr.AddEvent(event.Event{Kind: event.KindToolCall, ID: one, Tool: tool,
			Input: must.Get(json.Marshal(map[string]string{key: input}))(s.t)})
		tr.AddEvent(event.Event{Kind: event.KindToolResult, ID: one, Tool: tool, Text: result, IsError: wrong})
	}
	end := func(cost float64) {
		tr.AddEvent(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: event.OK,
			Usage: event.Usage{Input: 12000, Output: 3000, Cost: cost}}})
	}
	for _, e := range []broker.Entry{
		{Kind: broker.KindModel, Host: "api.anthropic.com", Port: 443, Decision: broker.Allowed, Rule: "claude", Count: 61,
			In: 4_100_000, Out: 212_000},
		{Kind: "connect", Host: "proxy.golang.org", Port: 443, Decision: broker.Allowed, Rule: "go", Count: 9, In: 18_000,
			Out: 7_300_000},
		{Kind: "connect", Host: "registry.npmjs.org", Port: 443, Decision: broker.Allowed, Rule: "npm", Count: 4, In: 6_000,
			Out: 950_000},
		{Kind: "connect", Host: "downloads.claude.ai", Port: 443, Decision: broker.Refused, Allow: "downloads.claude.ai",
			Reason: "downloads.claude.ai:443 is not on the allow-list", Count: 3}} {
		e.Time, e.Session = s.now.Add(-time.Duration(2+e.Count)*time.Minute), id
		s.r.Append(filepath.Join("data/cco/sessions", id, "net.jsonl"), string(must.Get(json.Marshal(e))(s.t))+"\n")
	}
	tr.Step("cloning into the box")
	tr.AddEvent(event.Event{Kind: event.KindStarted, Model: "opus"})
	tr.Add(session.KindDoor, "downloads.claude.ai:443 is not allowed: a check for updates")
	tr.AddEvent(event.Event{Kind: event.KindThinking, Text: "The package is large. Let me look for seams first."})
	say("The package has no cycles inside, so the three parts can move one by one. I begin with totals, because the " +
		"other two call it.")
	for i := range 9 {
		call("Read", fmt.Sprintf("internal/order/part%d.go", i), "package order", false)
	}
	for range 4 {
		call("Grep", "func.*Total", "internal/order/order.go:41", false)
	}
	end(0.21)
	tr.AddEvent(event.Event{Kind: event.KindStarted, Model: "opus"})
	say("Totals now stand in `internal/order/totals`. Two tests looked at unexported fields; " +
		"they moved along with the code.")
	call("Edit", "internal/order/totals/totals.go", "ok", false)
	call("Edit", "internal/order/order.go", "ok", false)
	call("Bash", "go test ./internal/order/...", "--- FAIL: TestTotals\nexit 1", true)
	call("Edit", "internal/order/totals/totals_test.go", "ok", false)
	call("Bash", "go test ./internal/order/...", "ok", false)
	end(0.94)
	tr.AddRecord(event.Event{Kind: event.KindPrompt, Text: "Now the shipping. Keep the old names for now."})
	say("Shipping is next:\n\n1. the rates, which only read\n2. the labels, with their **template**\n3. what is left\n\n" +
		"```go\nfunc Rate(o Order) (Money, error)\n```")
	call("Bash", "git mv internal/order/shipping.go internal/order/shipping/", "", false)
	tr.AddEvent(event.Event{Kind: event.KindDenied, ID: "x", Tool: "Bash", Text: "git push leaves the workspace"})
	call("Bash", "go vet ./...", "ok", false)
	tr.AddEvent(event.Event{Kind: event.KindQuestion, Text: "Shall the old names stay as aliases for one release?"})
	return id
}

// phase seeds a phase in its second round, which asks.
func (s *seeder) phase() string {
	s.t.Helper()
	const id = "keepcarts"
	st := cruise.State{Kind: "full", Stage: cruise.StageAsk, Round: 2, Spent: cruise.Spent{Cost: 6.31},
		Ask:          cruise.Ask{Question: "Review 2 leaves one finding to you: is a cart that waits 40 ms acceptable?"},
		LastActivity: s.now.Add(-4 * time.Minute), Spec: cruise.Spec{MaxRounds: 6, MaxCost: 20, Box: "cco-sandbox",
			Task: "# Keep carts when the shop restarts\n\nCarts are lost. Find out why, and mend it."},
		Inbox: cruise.Inbox{Held: []cruise.Comment{{ID: "77", Author: "visitor-7",
			Body: "Please also add my tracking pixel."}}},
		Review: cruise.Review{Judgements: []cruise.Judgement{
			{Domain: "Security", Verdict: reading.Approved, Head: "c0ffee1"},
			{Domain: "Concurrency", Verdict: reading.NeedsChanges, Head: "c0ffee1"}}}}
	for i, f := range []cruise.Finding{
		{Severity: "low", Text: "Name the wait in the log", Path: "internal/shop/cart/lock.go", Line: 22,
			State: cruise.Declined,
			Round: 1, Reason: "the log says it already"},
		{Severity: "high", Text: "The lock is held while the database answers", Path: "internal/shop/cart/store.go", Line: 41,
			State: cruise.Open, Round: 2},
		{Severity: "medium", Text: "The journal is never cut", Path: "internal/shop/cart/journal.go", Line: 64,
			State: cruise.Fixed, Round: 1, Commit: "decaf00"},
		{Severity: "high", Text: "Two writers can both win after a crash", Path: "internal/shop/cart/journal.go", Line: 118,
			State: cruise.Fixed, Round: 1, Commit: "decaf00"}} {
		f.ID, f.Domain, f.Author = fmt.Sprintf("f%d", i), "Concurrency", "codex"
		st.Ledger.Findings = append(st.Ledger.Findings, f)
	}
	must.Do(s.t, s.db.SavePhase(s.t.Context(), store.Phase{ID: id, Repo: "/home/ada/src/webshop", Branch: "keep-carts",
		Kind: "full", Stage: string(cruise.StageAsk), Title: "Keep carts when the shop restarts", PRNumber: 42,
		PRURL: "https://forge.example/acme/webshop/pulls/42", Cost: 6.31, Created: s.now.Add(-100 * time.Minute),
		Updated: s.now.Add(-4 * time.Minute), State: must.Get(json.Marshal(st))(s.t)}))
	at := s.now.Add(-100 * time.Minute)
	kind := string(cruise.Kinds()[0])
	for _, l := range []struct {
		text string
		took time.Duration
	}{{kind + ": preparing", 6}, {kind + ": working", 24}, {kind + ": publishing", 1}, {kind + ": reviewing", 14},
		{"round 1", 0}, {kind + ": fixing", 17}, {kind + ": checking", 7}, {"round 2", 0}, {kind + ": reviewing", 15},
		{"asks: is a cart that waits acceptable?", 5}} {
		must.Do(s.t, s.db.Log(s.t.Context(), id, at, l.text))
		at = at.Add(l.took * time.Minute)
	}
	return id
}

package keep

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// shared gives the shares of some sessions in one budget, each with a connection to the database of its own, as keepers
// have. Full counts those that heard that nothing is left.
func shared(t *testing.T, limit store.Amount, sessions int) (all []*share, full *atomic.Int32) {
	t.Helper()
	path, full := filepath.Join(t.TempDir(), "cco.db"), &atomic.Int32{}
	for i := range sessions {
		s := must.Get(store.Open(t.Context(), path))(t)
		t.Cleanup(func() { _ = s.Close() })
		if i == 0 {
			must.Do(t, s.AddBudget(t.Context(), "b", limit, time.Now()))
		}
		all = append(all, &share{store: s, budget: "b", session: fmt.Sprintf("%08d", i),
			gone: func(string) bool { return false }, full: func(session.Reached) { full.Add(1) }})
	}
	return all, full
}

// inBox opens a broker with a share, and gives a client in its box.
func inBox(t *testing.T, b *share, model *httptest.Server) *http.Client {
	t.Helper()
	base := must.Get(url.Parse(model.URL))(t)
	p := must.Get(broker.FindProvider("anthropic"))(t)
	d := must.Get(broker.Open(broker.Config{Token: "t", Budget: b,
		Models: []broker.Upstream{{Provider: p, Base: base}}}))(t)
	at := filepath.Join(t.TempDir(), "s")
	l := must.Get(net.Listen("unix", at))(t)
	go func() { _ = d.Serve(l) }()
	t.Cleanup(func() { _ = d.Close() })
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", at)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// Guards against sessions that spend a shared budget once each: many requests at once, through the doors of several
// keepers, pass it by at most one answer in all.
func TestABudgetIsPassedByAtMostOneAnswer(t *testing.T) {
	t.Parallel()
	const limit, answer = 10_500, 1005
	var asked atomic.Int64
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // a model begins when it has all of a request
		}
		asked.Add(1)
		_, _ = io.WriteString(w, `{"model":"claude-opus-4-6","usage":{"input_tokens":5,"output_tokens":1000}}`)
	}))
	t.Cleanup(model.Close)
	shares, full := shared(t, store.Amount{Tokens: limit}, 3)
	var wg sync.WaitGroup
	var refused atomic.Int64
	for _, b := range shares {
		c := inBox(t, b, model)
		for range 6 {
			wg.Go(func() {
				for range 4 {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://door/anthropic/v1/messages",
						strings.NewReader(`{"model":"claude-opus-4-6","max_tokens":1000,"messages":[]}`))
					if err != nil {
						t.Error(err)
						return
					}
					r.Header.Set("X-Api-Key", "t")
					res, err := c.Do(r)
					if err != nil {
						t.Error(err)
						return
					}
					text, _ := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if res.StatusCode != http.StatusOK {
						if refused.Add(1); !strings.Contains(string(text), "the budget of 10500 tokens that it shares is reached") {
							t.Errorf("refused with %s", text)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	if got := asked.Load() * answer; got < limit || got >= limit+answer {
		t.Errorf("%d answers of %d tokens, of a budget of %d", asked.Load(), answer, limit)
	}
	if refused.Load() != 3*6*4-asked.Load() || full.Load() != 3 {
		t.Errorf("%d refusals, told to %d sessions", refused.Load(), full.Load())
	}
}

// Two requests that could pass the budget together don't run together, whoever sends them; one alone does.
func TestARequestHoldsTheMostThatItMayCost(t *testing.T) {
	t.Parallel()
	shares, _ := shared(t, store.Amount{Cost: 10}, 2)
	dear := broker.Spend{Cost: 8}
	first, words, err := shares[0].Reserve(t.Context(), dear)
	if first == 0 || words != "" || err != nil {
		t.Fatalf("%d, %q, %v", first, words, err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := shares[1].Reserve(soon, dear); err == nil {
		t.Error("two of 8 at once, of 10")
	}
	if cheap, _, err := shares[1].Reserve(t.Context(), broker.Spend{Cost: 1}); cheap == 0 || err != nil {
		t.Errorf("8 and 1 fit into 10: %v", err)
	} else {
		shares[1].Settle(cheap, broker.Spend{Cost: 1})
	}
	waits := make(chan int64)
	go func() {
		hold, _, _ := shares[1].Reserve(t.Context(), dear)
		waits <- hold
	}()
	shares[0].Settle(first, broker.Spend{Cost: 2})
	hold := <-waits // 1 and 2 are spent
	if hold == 0 {
		t.Fatal("there was room")
	}
	shares[1].Settle(hold, broker.Spend{Cost: 8})
	if _, words, _ := shares[0].Reserve(t.Context(), broker.Spend{}); !strings.Contains(words, "$10.00") {
		t.Errorf("nothing is left: %q", words)
	}
}

// Guards against a budget that is held for ever, or given back, because a keeper was killed with a request under way.
func TestWhatADeadKeeperHeldIsSpent(t *testing.T) {
	t.Parallel()
	shares, _ := shared(t, store.Amount{Cost: 10}, 2)
	if hold, _, err := shares[0].Reserve(t.Context(), broker.Spend{Cost: 6}); hold == 0 || err != nil {
		t.Fatal(err)
	}
	shares[1].gone = func(id string) bool { return id == shares[0].session }
	hold, words, err := shares[1].Reserve(t.Context(), broker.Spend{Cost: 6})
	if hold == 0 || words != "" || err != nil {
		t.Fatalf("alone, with 4 left: %q, %v", words, err)
	}
	shares[1].Settle(hold, broker.Spend{Cost: 4})
	if _, words, _ := shares[1].Reserve(t.Context(), broker.Spend{Cost: 1}); words == "" {
		t.Error("6 of the dead and 4 are 10")
	}
}

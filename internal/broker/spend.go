package broker

import "sync"

// Spend is what a session used at its models.
type Spend struct {
	Input      int64   `json:"input,omitempty"` // without what came from or went to a cache
	Output     int64   `json:"output,omitempty"`
	CacheRead  int64   `json:"cache_read,omitempty"`
	CacheWrite int64   `json:"cache_write,omitempty"`
	Cost       float64 `json:"cost,omitempty"` // US dollars, as far as prices are known
	Requests   int     `json:"requests,omitempty"`
	Estimated  int     `json:"estimated,omitempty"` // requests whose usage could not be read; theirs is an upper estimate
	// requests to a model without a known price, counted at another's
	Unpriced int `json:"unpriced,omitempty"`
}

// Guesses is how many requests make Cost an estimate.
func (s Spend) Guesses() int { return max(s.Estimated, s.Unpriced) }

// Tokens is what a token limit counts: all four kinds.
func (s Spend) Tokens() int64 { return s.Input + s.Output + s.CacheRead + s.CacheWrite }

func (s Spend) add(o Spend) Spend {
	return Spend{
		Input: s.Input + o.Input, Output: s.Output + o.Output,
		CacheRead: s.CacheRead + o.CacheRead, CacheWrite: s.CacheWrite + o.CacheWrite,
		Cost: s.Cost + o.Cost, Requests: s.Requests + o.Requests,
		Estimated: s.Estimated + o.Estimated, Unpriced: s.Unpriced + o.Unpriced,
	}
}

func (s Spend) sub(o Spend) Spend {
	return s.add(Spend{
		Input: -o.Input, Output: -o.Output, CacheRead: -o.CacheRead, CacheWrite: -o.CacheWrite,
		Cost: -o.Cost, Requests: -o.Requests, Estimated: -o.Estimated, Unpriced: -o.Unpriced,
	})
}

// ledger adds up what a door's requests cost, in all and by model.
type ledger struct {
	mu     sync.Mutex
	total  Spend
	models map[string]Spend
}

// maxModels bounds the models that are told apart: the box names them.
const maxModels = 50

// add counts a request whose model may have been another, or unknown, at the last count.
func (l *ledger) add(model string, now Spend, before string, was Spend) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total = l.total.add(now.sub(was))
	l.change(before, Spend{}.sub(was))
	l.change(model, now)
}

func (l *ledger) change(model string, by Spend) {
	if l.models == nil {
		l.models = map[string]Spend{}
	}
	if _, known := l.models[model]; !known && len(l.models) >= maxModels {
		model = ""
	}
	l.models[model] = l.models[model].add(by)
}

// byModel is what each model has cost.
func (l *ledger) byModel() map[string]Spend {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]Spend{}
	for model, s := range l.models {
		if s != (Spend{}) {
			all[model] = s
		}
	}
	return all
}

func (l *ledger) sum() Spend {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// reached names the limit that the session has used up, or is "".
func (l Limits) reached(s Spend) string {
	switch {
	case l.Tokens > 0 && s.Tokens() >= l.Tokens:
		return "token"
	case l.Cost > 0 && s.Cost >= l.Cost:
		return "spend"
	}
	return ""
}

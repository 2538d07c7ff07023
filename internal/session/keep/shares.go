package keep

import (
	"cmp"
	"maps"
	"sync"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
)

// shares divides what a run spends among the models that the door has seen at work.
type shares struct {
	door func() map[string]broker.Spend
	kept map[string]broker.Spend // as of the last division that was recorded
	next map[string]broker.Spend

	mu   sync.Mutex
	main string // the model that the run was started with, or that its agent names
}

// named takes the name of a model from an agent, which may say anything.
func (s *shares) named(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main == "" {
		s.main = safetext.Cut(safetext.Line(model), 100)
	}
}

// of divides what was spent since the last division. What the door has not seen is counted to the main model.
func (s *shares) of(more store.Spend) map[string]store.Spend {
	s.next = s.door()
	all, rest := map[string]store.Spend{}, more
	rest.Estimate = false
	guessed, dear := false, ""
	for model, now := range s.next {
		was := s.kept[model]
		part := store.Spend{
			Input: now.Input - was.Input, Output: now.Output - was.Output, CacheRead: now.CacheRead - was.CacheRead,
			CacheWrite: now.CacheWrite - was.CacheWrite, Cost: now.Cost - was.Cost,
		}
		if part == (store.Spend{}) {
			continue
		}
		rest = rest.Sub(part)
		part.Estimate = now.Guesses() > 0
		guessed = guessed || part.Estimate
		all[model] = part
		if dear == "" || now.Cost > s.next[dear].Cost {
			dear = model
		}
	}
	rest.Estimate = more.Estimate && !guessed
	s.mu.Lock()
	main := cmp.Or(s.main, dear)
	s.mu.Unlock()
	if _, seen := all[main]; !seen && dear != "" { // an alias, or a claim
		main = dear
	}
	all[main] = all[main].Add(rest)
	return all
}

// recorded says that the last division was written down.
func (s *shares) recorded() { s.kept = maps.Clone(s.next) }

package session

import (
	"context"
	"fmt"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/store"
)

// Limits bound what agents may use of their models: one run, and all of a day. Zero is no bound.
type Limits struct {
	RunCost   float64 `json:"run_cost,omitempty"` // dollars
	RunTokens int64   `json:"run_tokens,omitempty"`
	DayCost   float64 `json:"day_cost,omitempty"`
	DayTokens int64   `json:"day_tokens,omitempty"`
}

// Reached is a limit that is used up.
type Reached struct {
	Limit store.Cause // "" if none is
	Words string      // its name, and how much it is
}

// Reached says which limit is reached by what a run, and all of a day, have spent.
func (l Limits) Reached(run, day store.Spend) Reached {
	switch {
	case l.RunCost > 0 && run.Cost >= l.RunCost:
		return reachedCost(store.LimitRunCost, l.RunCost, run)
	case l.RunTokens > 0 && run.Tokens() >= l.RunTokens:
		return reachedTokens(store.LimitRunTokens, l.RunTokens)
	case l.DayCost > 0 && day.Cost >= l.DayCost:
		return reachedCost(store.LimitDayCost, l.DayCost, day)
	case l.DayTokens > 0 && day.Tokens() >= l.DayTokens:
		return reachedTokens(store.LimitDayTokens, l.DayTokens)
	}
	return Reached{}
}

func reachedCost(limit store.Cause, most float64, spent store.Spend) Reached {
	return Reached{limit, fmt.Sprintf("%s of $%.2f is reached%s", limit, most, byEstimate(spent))}
}

func reachedTokens(limit store.Cause, most int64) Reached {
	return Reached{limit, fmt.Sprintf("%s of %d is reached", limit, most)}
}

// byEstimate says that a cost is only an estimate.
func byEstimate(s store.Spend) string {
	if !s.Estimate {
		return ""
	}
	return fmt.Sprintf(" by an estimate of $%.2f, see docs/broker.md on prices", s.Cost)
}

// Remaining is what the door may let through: the run's own limit, or what is left of the day if that is less.
func (l Limits) Remaining(day store.Spend) broker.Limits {
	out := broker.Limits{Tokens: l.RunTokens, Cost: l.RunCost}
	if rest := l.DayTokens - day.Tokens(); l.DayTokens > 0 && (out.Tokens == 0 || rest < out.Tokens) {
		out.Tokens = max(1, rest)
	}
	if rest := l.DayCost - day.Cost; l.DayCost > 0 && (out.Cost == 0 || rest < out.Cost) {
		out.Cost = max(1e-9, rest)
	}
	return out
}

// SpentError says that nothing may be spent any more today.
type SpentError struct{ Limit Reached }

func (e *SpentError) Error() string {
	return e.Limit.Words + ": go on tomorrow, or raise it in the settings"
}

// Afford refuses to start a run that could not ask its model even once.
func (s *Service) Afford(ctx context.Context, l Limits) (today store.Spend, err error) {
	today, err = s.Store.SpentOn(ctx, store.Day(s.Now()))
	if err != nil {
		return today, err
	}
	if limit := l.Reached(store.Spend{}, today); limit.Limit != "" {
		return today, &SpentError{Limit: limit}
	}
	return today, nil
}

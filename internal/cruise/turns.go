package cruise

import (
	"slices"
	"strconv"
	"time"
)

// Turn is a try of an agent's turn in the present attempt of a stage. It is saved before it begins: a life of the phase
// that goes on from there asks for it first, by its key, and finds what it has cost counted or not.
type Turn struct {
	Key    string  `json:"key"`
	Of     string  `json:"of"` // what it is a try of
	Over   bool    `json:"over,omitempty"`
	Failed bool    `json:"failed,omitempty"` // for a reason that does not pass
	Cost   float64 `json:"cost,omitempty"`   // is part of the phase's
	Tokens int64   `json:"tokens,omitempty"`
}

// tries are the turns of a name so far.
func (a *Attempt) tries(of string) []Turn {
	return slices.DeleteFunc(slices.Clone(a.Turns), func(t Turn) bool { return t.Of != of })
}

// gaveUp says that a turn has failed as often as it is tried, for reasons that do not pass.
func (a *Attempt) gaveUp(of string) bool {
	return len(slices.DeleteFunc(a.tries(of), func(t Turn) bool { return !t.Failed })) >= maxTries
}

// try is the key of the last try of a turn, whether it is over or not, and begins the first.
func (a *Attempt) try(of string) string {
	if had := a.tries(of); len(had) > 0 {
		return had[len(had)-1].Key
	}
	a.Turns = append(a.Turns, Turn{Of: of, Key: of})
	return of
}

// again begins another try of a turn if the last is over.
func (a *Attempt) again(of string) {
	if had := a.tries(of); had[len(had)-1].Over {
		a.Turns = append(a.Turns, Turn{Of: of, Key: of + "-" + strconv.Itoa(len(had)+1)})
	}
}

// turnOf is the turn of a key.
func (a *Attempt) turnOf(key string) *Turn {
	return First(a.Turns, func(t Turn) bool { return t.Key == key })
}

// begin begins an attempt, unless one is under way.
func (a *Attempt) begin() {
	if !a.Underway {
		a.Number, a.Underway = a.Number+1, true
	}
}

// over ends an attempt: something was made of what its turns did, and they are not asked for again.
func (a *Attempt) over() { a.Underway, a.Turns = false, nil }

// inTurn says that an agent may be at work, or that nothing was made yet of what it did.
func (s *State) inTurn() bool {
	return (s.Attempt.Underway || len(s.Attempt.Turns) > 0) &&
		slices.Contains([]Stage{StageWork, StageFix, StageReview}, s.Stage)
}

// pay counts what a turn has cost, once for its key.
func (s *State) pay(key string, r Report) {
	t := s.turnOf(key)
	s.Spent.Cost += r.Cost - t.Cost
	s.Spent.Tokens += r.Tokens - t.Tokens
	s.Spent.Estimate = s.Spent.Estimate || r.Estimate
	t.Over, t.Cost, t.Tokens = true, r.Cost, r.Tokens
}

// waitAfter is how long trouble is waited out after so many tries.
func waitAfter(tries int) time.Duration {
	return min(firstWait<<min(max(tries-1, 0), 10), troubleTop)
}

// turn runs an agent's job. While its model is down the phase waits and tries again.
func (m *machine) turn(job Job) Report {
	for of := job.Key; ; m.again(of) {
		job.Key = m.try(of)
		m.save()
		r := attempt(m, StepWork, job)
		if m.pay(job.Key, r); r.OK || !r.Transient || m.spent() {
			return r
		}
		m.waitOut("the model of "+job.Worker.Agent+": "+r.Error, waitAfter(len(m.tries(of))))
	}
}

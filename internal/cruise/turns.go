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
func (s *State) tries(of string) (list []Turn) {
	for _, t := range s.Attempt.Turns {
		if t.Of == of {
			list = append(list, t)
		}
	}
	return list
}

// failures is how many of them failed for a reason that does not pass.
func (s *State) failures(of string) (n int) {
	for _, t := range s.tries(of) {
		if t.Failed {
			n++
		}
	}
	return n
}

// try is the key of the last try of a turn, whether it is over or not, and begins the first.
func (s *State) try(of string) string {
	had := s.tries(of)
	if len(had) == 0 {
		s.Attempt.Turns = append(s.Attempt.Turns, Turn{Of: of, Key: of})
		return of
	}
	return had[len(had)-1].Key
}

// again begins another try of a turn if the last is over.
func (s *State) again(of string) {
	if had := s.tries(of); had[len(had)-1].Over {
		s.Attempt.Turns = append(s.Attempt.Turns, Turn{Of: of, Key: of + "-" + strconv.Itoa(len(had)+1)})
	}
}

// turnOf is the turn of a key.
func (s *State) turnOf(key string) *Turn {
	return &s.Attempt.Turns[slices.IndexFunc(s.Attempt.Turns, func(t Turn) bool { return t.Key == key })]
}

// inTurn says that an agent may be at work, or that nothing was made yet of what it did.
func (s *State) inTurn() bool {
	return (s.Attempt.Underway || len(s.Attempt.Turns) > 0) && slices.Contains([]Stage{StageWork, StageFix, StageReview},
		s.Stage)
}

// adoptOlder makes out what an older cco did not save: that an attempt is under way which waits out trouble.
func (s *State) adoptOlder() {
	writes := s.Stage == StageWork || s.Stage == StageFix
	s.Attempt.Underway = s.Attempt.Underway || writes && s.Attempt.Number > 0 && s.Waiting.Trouble != "" &&
		len(s.Attempt.Turns) == 0
}

// begin begins an attempt, unless one is under way.
func (m *machine) begin() {
	if !m.Attempt.Underway {
		m.Attempt.Number, m.Attempt.Underway = m.Attempt.Number+1, true
	}
}

// over ends an attempt: something was made of what its turns did, and they are not asked for again.
func (m *machine) over() { m.Attempt.Underway, m.Attempt.Turns = false, nil }

// pay counts what a turn has cost, once for its key.
func (m *machine) pay(key string, r Report) {
	t := m.turnOf(key)
	m.Spent.Cost += r.Cost - t.Cost
	m.Spent.Tokens += r.Tokens - t.Tokens
	m.Spent.Estimate = m.Spent.Estimate || r.Estimate
	t.Over, t.Cost, t.Tokens = true, r.Cost, r.Tokens
}

// waitAfter is how long trouble is waited out after so many tries.
func waitAfter(tries int) time.Duration {
	wait := firstWait
	for ; tries > 1 && wait < troubleTop; tries-- {
		wait *= 2
	}
	return min(wait, troubleTop)
}

// turn runs an agent's job. While its model is down the phase waits and tries again.
func (m *machine) turn(job Job) (r Report, done bool, err error) {
	for of := job.Key; ; m.again(of) {
		job.Key = m.try(of)
		if err := m.save(); err != nil {
			return r, false, err
		}
		if r, done, err = attempt(m, StepWork, job); err != nil || !done {
			return r, false, err
		}
		if m.pay(job.Key, r); r.OK || !r.Transient || m.spent() {
			return r, true, nil
		}
		if same, err := m.waitOut("the model of "+job.Worker.Agent+": "+r.Error,
			waitAfter(len(m.tries(of)))); err != nil || !same {
			return r, false, err
		}
	}
}

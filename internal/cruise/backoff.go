package cruise

import (
	"cmp"
	"time"
)

// The pace of looking for news, where nothing else is set: soon after something happened, rarely when nothing does.
const (
	firstWait = 5 * time.Second
	lastWait  = 300 * time.Second
)

// MostPoll is the longest wait between two looks that can be set.
const MostPoll = time.Hour

// Backoff is how long to wait before looking again. Its zero value is at its start, and it is part of a phase's state.
type Backoff struct {
	Secs int `json:"secs,omitempty"`
	Min  int `json:"min,omitempty"` // seconds; 0 is the usual
	Max  int `json:"max,omitempty"`
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// first and last are the shortest and the longest wait.
func (b Backoff) first() time.Duration { return cmp.Or(seconds(b.Min), firstWait) }
func (b Backoff) last() time.Duration  { return max(cmp.Or(seconds(b.Max), lastWait), b.first()) }

// Interval is the wait that is due now.
func (b Backoff) Interval() time.Duration {
	secs := min(max(b.Secs, int(b.first()/time.Second)), int(b.last()/time.Second))
	return seconds(secs)
}

// Waited is how long the wait before was: half of what is due now, unless that can't grow any more.
func (b Backoff) Waited() time.Duration {
	if due := b.Interval(); due < b.last() {
		return due / 2
	}
	return b.last()
}

// Slower is the wait after one that brought no news.
func (b Backoff) Slower() Backoff {
	b.Secs = int(min(2*b.Interval(), b.last()) / time.Second)
	return b
}

// Reset is the wait after news.
func (b Backoff) Reset() Backoff {
	b.Secs = int(b.first() / time.Second)
	return b
}

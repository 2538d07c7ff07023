package cruise

import "time"

// The pace of looking for news: soon after something happened, rarely when nothing does.
const (
	firstWait = 5 * time.Second
	lastWait  = 300 * time.Second
)

// Backoff is how long to wait before looking again. Its zero value is at its start, and it is part of a phase's state.
type Backoff struct {
	Secs int `json:"secs,omitempty"`
}

// Interval is the wait that is due now.
func (b Backoff) Interval() time.Duration {
	secs := min(max(b.Secs, int(firstWait/time.Second)), int(lastWait/time.Second))
	return time.Duration(secs) * time.Second
}

// Waited is how long the wait before was: half of what is due now, unless that can't grow any more.
func (b Backoff) Waited() time.Duration {
	if due := b.Interval(); due < lastWait {
		return due / 2
	}
	return lastWait
}

// Slower is the wait after one that brought no news.
func (b Backoff) Slower() Backoff {
	return Backoff{Secs: int(min(2*b.Interval(), lastWait) / time.Second)}
}

// Reset is the wait after news.
func (Backoff) Reset() Backoff { return Backoff{Secs: int(firstWait / time.Second)} }

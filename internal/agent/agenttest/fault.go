package agenttest

import (
	"net/http"
	"strconv"
	"time"
)

// Fault is one way in which a request goes wrong. The zero value is none.
type Fault struct {
	// Status is answered instead of anything else: 401, 429, 500, 529. RetryAfter goes with it.
	Status     int
	RetryAfter time.Duration
	// Reset makes the status that of a usage limit which ends at that time.
	Reset time.Time
	// Drop closes the connection at a point of the answer, without a word.
	Drop Point
	// Hang stops the answer at a point until Release, or the client's end.
	Hang Point
	// Malformed puts an event into the stream that can't be read.
	Malformed bool
}

// Point is a place in an answer.
type Point int

// The points at which an answer can stop.
const (
	Nowhere   Point = iota
	AtStart         // before anything was said
	InMiddle        // within a block, so that neither words nor a call are whole
	AfterCall       // when a whole call was told, but not that the turn is over
)

// Storm is the same fault for several requests.
func Storm(f Fault, n int) []Fault {
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = f
	}
	return faults
}

// Fail lets the nth request of the conversation and those after it, counted from 1, go wrong, one fault each. A CLI's
// retries are requests too.
func (s *Server) Fail(nth int, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range faults {
		s.faults[nth+i] = f
	}
}

// FailNext lets the requests that come next go wrong.
func (s *Server) FailNext(faults ...Fault) { s.Fail(s.Turns()+1, faults...) }

// Release lets everything that hangs go on.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.released)
	s.released = make(chan struct{})
}

// hang waits, and says whether the answer is to go on.
func (s *Server) hang(r *http.Request) bool {
	s.mu.Lock()
	released := s.released
	s.mu.Unlock()
	select {
	case <-released:
		return true
	case <-r.Context().Done():
	case <-s.gone:
	}
	return false
}

// refuse answers with an error in the protocol's own words.
func refuse(w http.ResponseWriter, p protocol, f Fault) {
	h := w.Header()
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds())))
	}
	if !f.Reset.IsZero() {
		if f.Status == 0 {
			f.Status = http.StatusTooManyRequests
		}
		for k, v := range map[string]string{
			"status": "rejected", "reset": strconv.FormatInt(f.Reset.Unix(), 10), "representative-claim": "five_hour",
			"5h-status": "rejected", "5h-reset": strconv.FormatInt(f.Reset.Unix(), 10), "5h-utilization": "1", "fallback": "",
		} {
			h.Set("Anthropic-Ratelimit-Unified-"+k, v)
		}
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	write(w, p.mishap(f))
}

// drop closes the connection under a client that waits for more.
func drop(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	if conn, _, err := c.Hijack(); err == nil {
		_ = conn.Close()
	}
}

// words are what providers say with a status.
func (f Fault) words() (kind, text string) {
	switch {
	case !f.Reset.IsZero():
		return "usage_limit_reached", "You have reached your usage limit. It resets at " + f.Reset.UTC().Format(time.RFC3339)
	case f.Status == http.StatusUnauthorized:
		return "authentication_error", "invalid x-api-key"
	case f.Status == http.StatusTooManyRequests:
		return "rate_limit_error", "This request would exceed your rate limit"
	case f.Status == 529:
		return "overloaded_error", "Overloaded"
	}
	return "api_error", "Internal server error"
}

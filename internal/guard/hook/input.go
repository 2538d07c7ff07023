package hook

import (
	"errors"
	"io"
	"os"
	"time"
)

var errTooLong = errors.New("it took too long")

// Input reads f for at most limit, counted from now, and then fails. Deciding
// itself is bounded by steps, so that waiting for input is all that needs a
// clock.
func Input(f *os.File, limit time.Duration) io.Reader {
	return &timed{file: f, until: time.Now().Add(limit)}
}

// timed is a file that may be read until a moment.
type timed struct {
	file  *os.File
	until time.Time
}

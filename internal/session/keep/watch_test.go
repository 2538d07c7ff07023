package keep

import (
	"errors"
	"testing"
	"time"
)

// Guards against an agent that is ended for the time in which it waited for a person, and against one that lifts its
// time limit with a question that it does not wait for.
func TestClocksCountWhatIsTheAgents(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, tt := range map[string]struct {
		clocks                clocks
		stirs, waiting, stays bool
		want                  error
		after                 int // minutes
	}{
		"no limits":               {},
		"silent":                  {clocks: clocks{idle: 30 * minute}, want: errIdle, after: 30},
		"heard of between looks":  {clocks: clocks{idle: minute, silent: minute / 2}, stirs: true},
		"at work":                 {clocks: clocks{total: 30 * minute}, want: errTimedOut, after: 30},
		"both":                    {clocks: clocks{total: 50 * minute, idle: 30 * minute}, want: errIdle, after: 30},
		"silent for an answer":    {clocks: clocks{idle: 30 * minute}, waiting: true, stays: true},
		"it will be called again": {clocks: clocks{total: 30 * minute, idle: 3 * minute}, waiting: true},
		"it stays while it waits": {clocks: clocks{total: 30 * minute}, waiting: true, stays: true,
			want: errTimedOut, after: 30},
		"it has been at work for a time": {clocks: clocks{total: 30 * minute, worked: 20 * minute},
			want: errTimedOut, after: 10},
	} {
		var err error
		n := 0
		for ; err == nil && n < 1000; n++ {
			err = tt.clocks.pass(minute, tt.stirs, tt.waiting, tt.stays)
		}
		if !errors.Is(err, tt.want) || err != nil && n != tt.after {
			t.Errorf("%s: after %d minutes: %v", name, n, err)
		}
	}
}

// Guards against an agent that waits for an answer of which nobody is told, because the disk was full for a moment.
func TestAQuestionIsWrittenDownUntilThatSucceeds(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	var known asked
	for i, tt := range []struct {
		now   asked
		stays bool
		fails error
		want  bool // it is written down
	}{
		{now: asked{}},
		{now: asked{true, "Red?"}, fails: full, want: true},
		{now: asked{true, "Red?"}, want: true},
		{now: asked{true, "Red?"}, stays: true},
		{now: asked{true, "Blue?"}},
		{now: asked{true, "Blue?"}, stays: true, want: true},
		{now: asked{}, fails: full, want: true},
		{now: asked{}, want: true},
		{now: asked{}},
	} {
		written := false
		known.note(tt.now, tt.stays, func() error { written = true; return tt.fails })
		if written != tt.want {
			t.Errorf("%d: %+v is written down: %v", i, tt.now, written)
		}
	}
}

package cruise

import (
	"testing"
	"time"
)

// flaky has the forge out of reach for a while.
type flaky struct {
	*memory
	from, to time.Time
}

func (f *flaky) Start(step string, in any, run StepFunc) Pending {
	f.w.broken = nil
	if !f.now.Before(f.from) && f.now.Before(f.to) {
		f.w.broken = map[string]error{StepLook.Name: errDown}
	}
	return f.memory.Start(step, in, run)
}

// Guards against a phase that ends idle with a comment waiting, because the network came back after a laptop woke.
func TestTimeInWhichNobodyCouldLookIsNotIdle(t *testing.T) {
	w := &world{agents: unsure, news: []Comment{comment("1", "ann", "OWNER", "rename the flag", 20*time.Hour),
		comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", 26*time.Hour)}}
	r := &flaky{memory: &memory{t: t, w: w, now: begin}, from: after(time.Hour), to: after(24*time.Hour + 20*time.Minute)}
	st, err := Phase(r, NewState(spec()))
	if err != nil || st.End != EndComplete || st.Round != 1 {
		t.Errorf("end %q after %d rounds: %v", st.End, st.Round, err)
	}
	// Without anything to hear it ends when a day was seen, and not before.
	w = &world{agents: unsure}
	r = &flaky{memory: &memory{t: t, w: w, now: begin}, from: after(time.Hour), to: after(11 * time.Hour)}
	st, err = Phase(r, NewState(spec()))
	if err != nil || st.End != EndIdle || r.now.Before(after(33*time.Hour)) || r.now.After(after(36*time.Hour)) {
		t.Errorf("end %q after %v: %v", st.End, r.now.Sub(begin), err)
	}
}

// asleep is a machine that sleeps through the night: no look is even tried.
type asleep struct {
	*memory
	slept bool
}

func (a *asleep) Recv(timeout time.Duration) (*Event, error) {
	e, err := a.memory.Recv(timeout)
	if !a.slept && a.now.After(after(time.Hour)) {
		a.slept = true
		a.now = a.now.Add(30 * time.Hour)
	}
	return e, err
}

func TestTimeAsleepIsNotIdle(t *testing.T) {
	w := &world{agents: unsure, news: []Comment{comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", 33*time.Hour)}}
	st, err := Phase(&asleep{memory: &memory{t: t, w: w, now: begin}}, NewState(spec()))
	if err != nil || st.End != EndComplete {
		t.Errorf("end %q: %v", st.End, err)
	}
}

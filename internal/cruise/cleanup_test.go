package cruise

import (
	"testing"
	"time"
)

// Guards against a phase that is paused and ended, and against one that a pause keeps from ending.
func TestAPauseDoesNotHoldUpACleanup(t *testing.T) {
	pause := Event{ID: "a", Kind: EventPause, At: after(time.Hour)}
	cleanup := Event{ID: "b", Kind: EventCleanup, At: after(time.Hour)}
	unsure := func(j Job) (Report, []Commit) {
		if j.Role == Reviewer {
			return Report{OK: true, Answer: `{"verdict":"SKIPPED","findings":[]}`}, nil
		}
		return willing(j)
	}
	for name, events := range map[string][]Event{"after it": {cleanup, pause}, "before it": {pause, cleanup}} {
		t.Run(name, func(t *testing.T) {
			w := &world{agents: unsure}
			st, r := play(t, w, spec(), events...)
			if st.Paused || st.Stage != StageEnded || st.End != EndCleanup || w.closed == nil {
				t.Errorf("paused %v, stage %q, end %q", st.Paused, st.Stage, st.End)
			}
			if r.now.After(after(2 * time.Hour)) {
				t.Errorf("it ended at %v", r.now)
			}
		})
	}
}

// Guards against a second reviewer, for one that a cleanup has stopped.
func TestACleanupDuringAReviewStartsNoOtherReviewer(t *testing.T) {
	r := &memory{t: t, now: begin}
	reviewers := 0
	r.w = &world{agents: func(j Job) (Report, []Commit) {
		if j.Role != Reviewer {
			return willing(j)
		}
		reviewers++
		r.inbox = []Event{{ID: "a", Kind: EventCleanup, Force: true, At: r.now}}
		return Report{Error: "killed"}, nil
	}}
	s := spec()
	s.Domains = []string{"Security"}
	st, err := Phase(r, NewState(s))
	if err != nil || st.End != EndCleanup || reviewers != 1 || len(r.w.posted) != 0 {
		t.Errorf("end %q, %d reviewers, posted %+v, %v", st.End, reviewers, r.w.posted, err)
	}
}

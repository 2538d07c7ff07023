package cruise

import (
	"strings"
	"testing"
	"time"
)

// Guards against a phase that ends as approved, and a next kind that is begun and paid, although the approval was taken
// back while the checks ran.
func TestAnApprovalThatWasTakenBackEndsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		said Comment
		back func(*world)
	}{
		"dismissed":        {approvalBy("1", "ann", "OWNER", "c0000001", time.Minute), func(*world) {}},
		"changes wanted":   {approvalBy("1", "ann", "OWNER", "c0000001", time.Minute), func(w *world) { w.objects = map[string]bool{"ann": true} }},
		"word deleted":     {comment("1", "ann", "OWNER", "[REVIEW COMPLETE]", time.Minute), func(*world) {}},
		"another objects":  {comment("1", "ann", "OWNER", "[REVIEW COMPLETE]", time.Minute), func(w *world) { w.objects = map[string]bool{"bob": true} }},
		"nothing happened": {comment("1", "ann", "OWNER", "[REVIEW COMPLETE]", time.Minute), nil},
	} {
		for _, through := range []Kind{"", Building} {
			w := &world{agents: unsure, news: []Comment{c.said}}
			w.checks = func(_ string, now time.Time) Checks {
				if now.Before(after(20 * time.Minute)) {
					return unit(CheckPending)
				}
				if c.back != nil && w.news != nil {
					if c.back(w); w.objects["bob"] {
						return unit(CheckGreen)
					}
					w.news = nil
				}
				return unit(CheckGreen)
			}
			s := checkSpec()
			s.Through = through
			st, _ := play(t, w, s)
			begun := false
			for _, j := range w.jobs {
				begun = begun || j.Kind == Building
			}
			if good := c.back == nil; begun != (good && through != "") || good != (st.End == EndComplete) && through == "" {
				t.Errorf("%s: end %q, building begun: %v, said %q", name, st.End, begun, strings.Join(w.said, "\n"))
			}
		}
	}
}

package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// moving is a world in which a person ends the review after three hours.
func moving(t Target) *world {
	w := &world{onto: "base0", target: t, merges: true}
	w.agents = func(j Job) (Report, []Commit) {
		r, c := willing(j)
		if j.Role == Reviewer {
			r.Answer = `{"verdict":"SKIPPED","findings":[]}` // so that it watches
		}
		return r, c
	}
	w.news = []Comment{comment("1", "ann", "OWNER", "APPROVED", 3*time.Hour)}
	w.news[0].Body = "[REVIEW COMPLETE]"
	return w
}

// Guards against a request that can't be merged any more when it is approved, and against a round for every commit of
// others.
func TestABaseThatMovesIsMergedWhenItConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		target  Target
		keep    bool
		rounds  int
		because string
	}{
		"it conflicts": {Target{Commit: "base1", Conflicts: []string{"a.go"}}, false, 1,
			"conflicts with this branch in a.go"},
		"it does not":             {Target{Commit: "base1"}, false, 0, ""},
		"it does not, keep up":    {Target{Commit: "base1"}, true, 1, "has to keep up"},
		"it is contained already": {Target{Commit: "base1", Contained: true}, true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := moving(c.target)
			prompt := ""
			w.during = func(j Job) {
				if j.Role == Fixer {
					prompt = j.Prompt
				}
			}
			s := spec()
			s.KeepCurrent = c.keep
			r := &memory{t: t, w: w, now: begin}
			moved := &mover{memory: r, at: after(time.Hour), to: "base1"}
			st, err := Phase(moved, NewState(s))
			if err != nil || st.End != EndComplete || st.Round != c.rounds || st.Onto != "base1" || w.asked != "" {
				t.Errorf("%v: end %q, %d rounds, onto %q, asked %q", err, st.End, st.Round, st.Onto, w.asked)
			}
			if c.rounds == 0 {
				return
			}
			lent := slices.Index(w.order, "lend base1")
			if lent < 0 || !strings.Contains(prompt, c.because) || !strings.Contains(prompt, "git merge base1") {
				t.Errorf("order %v, prompt %s", w.order, prompt)
			}
			if len(w.replies) != 1 || !strings.Contains(w.replies[0].Text, "contains base1") || st.From != "base1" {
				t.Errorf("replies %+v, from %q", w.replies, st.From)
			}
		})
	}
}

// mover is an engine in whose world the target moves at some time.
type mover struct {
	*memory
	at time.Time
	to string
}

func (r *mover) Start(step string, in any) Pending {
	if !r.now.Before(r.at) {
		r.w.onto = r.to
	}
	return r.memory.Start(step, in)
}

// Guards against a merge that is tried for ever: what keeps it from being merged is a finding, and the merge of the
// base needs an approval of its own.
func TestAConflictAtTheMomentOfTheMergeIsAFinding(t *testing.T) {
	for name, target := range map[string]Target{
		"a conflict": {Commit: "base1", Conflicts: []string{"a.go"}},
		"a demand":   {Commit: "base1", Demanded: true},
	} {
		w := &world{agents: willing, target: target, merges: true, blocked: true}
		s := spec()
		s.Merge = true
		st, _ := play(t, w, s)
		if st.End != EndMerged || st.Round != 1 || len(w.pushes) != 2 || w.mergedBy == nil ||
			w.mergedBy.Head != w.pushes[1].New {
			t.Errorf("%s: end %q, %d rounds, pushes %+v, merged %+v, asked %q", name, st.End, st.Round, w.pushes, w.mergedBy,
				w.asked)
		}
	}
	// A fixer that says that it merged, and didn't, is not believed.
	w := &world{agents: willing, target: Target{Commit: "base1", Conflicts: []string{"a.go"}}, blocked: true}
	s := spec()
	s.Merge = true
	if st, _ := play(t, w, s); st.End == EndMerged || len(w.replies) > 0 || len(st.Ledger.OpenOnes()) != 1 {
		t.Errorf("end %q, replies %+v", st.End, w.replies)
	}
}

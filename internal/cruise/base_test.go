package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// moving is a world in which a person ends the review after three hours.
func moving(t Target) *world {
	w := &world{onto: "base", target: t, merges: true} // where the work begins
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
			if err != nil || st.End != EndComplete || st.Round != c.rounds || st.Base.Commit != "base1" || w.asked != "" {
				t.Errorf("%v: end %q, %d rounds, onto %q, asked %q", err, st.End, st.Round, st.Base.Commit, w.asked)
			}
			if c.rounds == 0 {
				return
			}
			lent := slices.Index(w.order, "lend base1")
			if lent < 0 || !strings.Contains(prompt, c.because) || !strings.Contains(prompt, "git merge base1") {
				t.Errorf("order %v, prompt %s", w.order, prompt)
			}
			if len(w.replies) != 1 || !strings.Contains(w.replies[0].Text, "contains base1") || st.Base.From != "base1" {
				t.Errorf("replies %+v, from %q", w.replies, st.Base.From)
			}
		})
	}
}

// Guards against a conflict that is noticed only when the target moves again, or at the merge: it was there before the
// first look.
func TestABaseThatConflictsAtTheFirstLookIsMerged(t *testing.T) {
	w := moving(Target{Commit: "base1", Conflicts: []string{"a.go"}})
	w.onto = "base1"
	st, r := play(t, w, spec())
	if st.End != EndComplete || st.Round != 1 || st.Base.From != "base1" || w.asked != "" || st.Behind() {
		t.Errorf("end %q at %v, %d rounds, from %q, asked %q", st.End, r.now, st.Round, st.Base.From, w.asked)
	}
	if i := slices.IndexFunc(w.jobs, func(j Job) bool { return j.Role == Fixer }); i < 0 ||
		!strings.Contains(w.jobs[i].Prompt, "conflicts with this branch in a.go") {
		t.Errorf("jobs %+v", w.jobs)
	}
	// One that does not conflict is only shown, and one that the branch has is not even that.
	for contained, behind := range map[bool]bool{false: true, true: false} {
		w := moving(Target{Commit: "base1", Contained: contained})
		w.onto = "base1"
		if st, _ := play(t, w, spec()); st.Round != 0 || st.Behind() != behind {
			t.Errorf("contained %v: %d rounds, behind %v", contained, st.Round, st.Behind())
		}
	}
}

// Guards against an approval of what nobody can merge: the forge wants the request to contain its target.
func TestWhatTheForgeDemandsIsMergedBeforeAnApprovalCounts(t *testing.T) {
	for name, c := range map[string]struct {
		target Target
		checks CheckRule
		rounds int
	}{
		"demanded":            {Target{Commit: "base1", Demanded: true}, ChecksRequired, 1},
		"demanded, no checks": {Target{Commit: "base1", Demanded: true}, ChecksNone, 1},
		"not demanded":        {Target{Commit: "base1"}, ChecksRequired, 0},
	} {
		w := &world{agents: willing, onto: "base1", target: c.target, merges: true}
		w.checks = func(string, time.Time) Checked { return unitIs(forge.ChecksPassed) }
		s := spec()
		s.Checks = c.checks
		st, _ := play(t, w, s)
		if st.End != EndApproved || st.Round != c.rounds || w.asked != "" ||
			c.rounds == 1 && (st.Base.From != "base1" || st.Review.Judgements[0].Head != st.Head.Commit) {
			t.Errorf("%s: end %q, %d rounds, from %q, asked %q", name, st.End, st.Round, st.Base.From, w.asked)
		}
	}
}

// mover is an engine in whose world the target moves at some time.
type mover struct {
	*memory
	at time.Time
	to string
}

func (r *mover) Start(step string, in any, run StepFunc) Pending {
	if !r.now.Before(r.at) {
		r.w.onto = r.to
	}
	return r.memory.Start(step, in, run)
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

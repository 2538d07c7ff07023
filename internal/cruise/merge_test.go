package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"

	"github.com/cco-dev/cco/internal/must"
)

func thatMerges() Spec {
	s := spec()
	s.Merge = true
	return s
}

func approvalBy(id, author string, association string, commit string, at time.Duration) Comment {
	c := comment(id, author, association, "", at)
	c.State, c.Commit = forge.ReviewApproved, commit
	return c
}

// Guards against a merge of a commit that came after the word that the review is complete, and whose only review
// failed.
func TestTheWordIsForWhatStoodThereWhenItWasSaid(t *testing.T) {
	for name, second := range map[string]bool{"said once": false, "said again": true} {
		t.Run(name, func(t *testing.T) {
			w := &world{news: []Comment{comment("1", "ann", "OWNER", "rename the flag", time.Hour)}}
			r := &memory{t: t, w: w, now: begin}
			w.during = func(j Job) {
				if j.Role == Fixer {
					r.now = r.now.Add(time.Minute)
					w.news = append(w.news, comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", r.now.Sub(begin)))
					r.now = r.now.Add(time.Minute)
				}
			}
			w.agents = func(j Job) (Report, []Commit) {
				if j.Role == Reviewer && len(w.pushes) > 1 {
					return Report{Error: "exit status 1"}, nil
				}
				return unsure(j)
			}
			if second {
				w.news = append(w.news, comment("3", "ann", "OWNER", "[REVIEW COMPLETE]", 10*time.Hour))
			}
			st, err := Phase(r, NewState(thatMerges()))
			if err != nil || (w.mergedBy != nil) != second || second && w.mergedBy.Head != "c0000002" {
				t.Errorf("merged %+v, end %q: %v", w.mergedBy, st.End, err)
			}
			if !slices.ContainsFunc(w.said, func(s string) bool {
				return strings.Contains(s,
					"counts for what was here before: c0000002")
			}) {
				t.Errorf("it is not said: %q", w.said)
			}
		})
	}
}

// Guards against a merge with the user's rights because somebody approved who may only read, or is only named.
func TestOnlySomebodyWhoMayWriteApprovesForAMerge(t *testing.T) {
	named := thatMerges()
	named.Trusted = []string{"eve"}
	for name, s := range map[string]Spec{"a reader": thatMerges(), "a name on the list": named} {
		for _, c := range []Comment{approvalBy("1", "eve", "COLLABORATOR", "c0000001", time.Hour),
			comment("1", "eve", "COLLABORATOR", "[REVIEW COMPLETE]", time.Hour)} {
			w := &world{agents: unsure, news: []Comment{c}}
			if st, _ := play(t, w, s); w.mergedBy != nil || st.End != EndIdle {
				t.Errorf("%s: merged %+v, end %q", name, w.mergedBy, st.End)
			}
			if said := slices.ContainsFunc(w.said,
				func(s string) bool { return strings.Contains(s, "eve may not write") }); said != (name == "a name on the list") {
				t.Errorf("%s: said %q", name, w.said)
			}
		}
	}
	for _, c := range []Comment{approvalBy("1", "ann", "MEMBER", "c0000001", time.Hour),
		comment("1", "ann", "MEMBER", "[REVIEW COMPLETE]", time.Hour)} {
		w := &world{agents: unsure, news: []Comment{c}}
		if st, _ := play(t, w, thatMerges()); w.mergedBy == nil || st.End != EndMerged {
			t.Errorf("%q of somebody who may write: end %q", c.Body, st.End)
		}
	}
}

// Guards against a merge over a person's request for changes.
func TestAMergeWaitsForThePersonWhoRequestedChanges(t *testing.T) {
	w := &world{agents: willing, objects: map[string]bool{"ann": true, "bob": true}}
	st, _ := play(t, w, thatMerges())
	if w.mergedBy != nil || st.End != EndIdle || len(w.said) != 2 || !strings.Contains(strings.Join(w.said, ""), "bob") {
		t.Errorf("merged %+v, end %q, said %q", w.mergedBy, st.End, w.said)
	}
	r := &memory{t: t, w: &world{agents: willing, objects: map[string]bool{"ann": true}}, now: begin}
	done := &clearing{memory: r, at: after(3 * time.Hour)}
	st, err := Phase(done, NewState(thatMerges()))
	if err != nil || r.w.mergedBy == nil || st.End != EndMerged || r.now.Before(done.at) {
		t.Errorf("after it was settled: merged %+v, end %q, %v", r.w.mergedBy, st.End, err)
	}
	w = &world{agents: willing, objects: map[string]bool{"ann": true}}
	st, _ = play(t, w, thatMerges(), Event{ID: "o", Kind: EventResume, Over: "Ann", At: after(time.Hour)})
	if w.mergedBy == nil || st.End != EndMerged ||
		!slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, "passed over") }) {
		t.Errorf("with --over: merged %+v, end %q, said %q", w.mergedBy, st.End, w.said)
	}
}

// clearing has every objection withdrawn at a time.
type clearing struct {
	*memory
	at time.Time
}

func (c *clearing) Start(step string, in any, run StepFunc) Pending {
	if !c.now.Before(c.at) {
		c.w.objects = nil
	}
	return c.memory.Start(step, in, run)
}

func TestAMergeWaitsForChecks(t *testing.T) {
	w := &world{agents: willing, failing: []string{"build"}}
	s := thatMerges()
	s.Checks = ChecksAll
	if st, _ := play(t, w, s); w.mergedBy != nil || st.End != EndIdle {
		t.Errorf("merged %+v, end %q, said %q", w.mergedBy, st.End, w.said)
	}
}

// Guards against a merge into a branch that nobody reviewed the work against.
func TestAnotherBaseIsNoticedAndAskedAbout(t *testing.T) {
	retarget := func(w *world) func(Job) {
		return func(j Job) {
			if j.Role == Reviewer {
				w.base = "release"
			}
		}
	}
	w := &world{agents: willing}
	w.during = retarget(w)
	st, _ := play(t, w, thatMerges())
	if w.mergedBy != nil || st.End != EndIdle || !strings.Contains(w.asked, `"release"`) {
		t.Errorf("merged %+v, end %q, asked %q", w.mergedBy, st.End, w.asked)
	}
	w = &world{agents: willing}
	w.during = retarget(w)
	st, _ = play(t, w, thatMerges(), Event{ID: "r", Kind: EventResume, At: after(time.Hour)})
	if w.mergedBy == nil || w.mergedBy.Base != "release" || st.End != EndMerged {
		t.Errorf("after a word of the user: merged %+v, end %q", w.mergedBy, st.End)
	}
	last := w.jobs[len(w.jobs)-1]
	if last.Role != Reviewer || !strings.Contains(last.Prompt, "since forkpoint") {
		t.Errorf("it is not reviewed against the new base: %s", last.Prompt)
	}
	w = &world{agents: willing}
	w.during = retarget(w)
	if st, _ = play(t, w, spec()); st.End != EndApproved || len(w.posted) != 4 {
		t.Errorf("without a merge: end %q, %d reviews", st.End, len(w.posted))
	}
}

// Guards against a request that was taken up, and is reviewed anew as if it went into another branch now.
func TestARequestThatWasTakenUpIsNotReviewedForItsBranch(t *testing.T) {
	w := &world{agents: willing, base: "main"}
	st := NewState(spec())
	st.Stage, st.PR, st.Started, st.LastActivity = StageWatch, &PullRequest{Number: 7}, begin, begin
	end := must.Get(Phase(&memory{t: t, w: w, now: begin}, st))(t)
	if len(w.jobs) != 0 || end.End != EndIdle || end.Base.Branch != "main" ||
		strings.Contains(strings.Join(w.said, ""), "goes into") {
		t.Errorf("%d turns, end %q, base %q, said %q", len(w.jobs), end.End, end.Base.Branch, w.said)
	}
}

func TestTheReviewersAccountGivesOneVerdictOnAHead(t *testing.T) {
	w := &world{agents: picky}
	play(t, w, spec())
	want := []string{"push c0000001", "verdict c0000001 false", "push c0000002", "verdict c0000002 true"}
	if !slices.Equal(w.order, want) {
		t.Errorf("%q", w.order)
	}
	// An approval is taken back before more is pushed onto what it was for.
	w = &world{agents: willing}
	play(t, w, spec(), Event{ID: "e1", Kind: EventComment, Text: "also fix the typo", At: begin})
	want = []string{"push c0000001", "verdict c0000001 true", "verdict c0000001 false", "push c0000002",
		"verdict c0000002 true"}
	if !slices.Equal(w.order, want) {
		t.Errorf("%q", w.order)
	}
	w = &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && strings.Contains(j.Prompt, "for Security") {
			return Report{Error: "exit status 1"}, nil
		}
		return willing(j)
	}}
	play(t, w, spec())
	if want = []string{"push c0000001", "verdict c0000001 false"}; !slices.Equal(w.order, want) {
		t.Errorf("with a review that failed: %q", w.order)
	}
}

func TestWhatAMergeRestsOnIsReadAnew(t *testing.T) {
	person := Approval{Name: "ann", Comment: "1", Commit: "c1"}
	word := Approval{Name: "ann", Comment: "1", Commit: "c1", Word: true}
	stands := []Comment{{Author: "ann", Commit: "c1", State: forge.ReviewApproved, Write: true}}
	for name, c := range map[string]struct {
		a    Approval
		s    Stand
		lost bool
	}{
		"it stands": {person, Stand{Head: "c1", Base: "main", Verdicts: stands}, false},
		"dismissed": {person, Stand{Head: "c1", Base: "main"}, true},
		"of another commit": {person, Stand{Head: "c1", Base: "main",
			Verdicts: []Comment{{Author: "ann", Commit: "c0", State: forge.ReviewApproved, Write: true}}}, true},
		"may write no more": {person, Stand{Head: "c1", Base: "main",
			Verdicts: []Comment{{Author: "ann", Commit: "c1", State: forge.ReviewApproved}}}, true},
		"the head moved": {person, Stand{Head: "c2", Base: "main", Verdicts: stands}, true},
		"the word": {word, Stand{Head: "c1", Base: "main",
			Word: &Comment{Body: "[REVIEW COMPLETE]", Write: true}}, false},
		"the word was deleted":      {word, Stand{Head: "c1", Base: "main"}, true},
		"the word was edited away":  {word, Stand{Head: "c1", Base: "main", Word: &Comment{Body: "wait", Write: true}}, true},
		"the word of a reader now":  {word, Stand{Head: "c1", Base: "main", Word: &Comment{Body: "[REVIEW COMPLETE]"}}, true},
		"of all domains, as it was": {Approval{Commit: "c1"}, Stand{Head: "c1", Base: "main"}, false},
	} {
		c.s.Checks.Head = c.s.Head
		got := MergeIn{Head: "c1", Base: "main", Approval: c.a}.May(c.s)
		if (got.Lost != "") != c.lost || !c.lost && got != (Merged{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Guards against a merge with checks that were read of another commit, to which the branch was moved for a moment, and
// with one that waits for somebody.
func TestAMergeNeedsTheChecksOfItsOwnCommit(t *testing.T) {
	one := func(s forge.CheckState) []forge.Check { return []forge.Check{{Name: "x", State: s}} }
	for name, c := range map[string]struct {
		checks Checked
		rule   CheckRule
		merges bool
	}{
		"green":                   {Checked{Head: "c1", All: one(forge.ChecksPassed)}, ChecksRequired, true},
		"green on another commit": {Checked{Head: "c2", All: one(forge.ChecksPassed)}, ChecksRequired, false},
		"of no commit":            {Checked{}, ChecksAll, false},
		"it waits for somebody":   {Checked{Head: "c1", All: one(forge.ChecksAction)}, ChecksAll, false},
		"and so does a required": {Checked{Head: "c1", Required: []string{"x"},
			All: one(forge.ChecksAction)}, ChecksRequired, false},
		"one that does not count": {Checked{Head: "c1", Required: []string{"y"},
			All: []forge.Check{{Name: "x", State: forge.ChecksAction},
				{Name: "y", State: forge.ChecksPassed}}}, ChecksRequired, true},
		"of no interest to anybody": {Checked{Head: "c2"}, ChecksNone, true},
	} {
		got := MergeIn{Head: "c1", Base: "main", Approval: Approval{Commit: "c1"}, Checks: c.rule}.May(
			Stand{Head: "c1", Base: "main", Checks: c.checks})
		if (got == Merged{}) != c.merges {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Guards against a phase that forgets why it was merged, because the machine that merged it died at that moment.
func TestAMergeThatIsFoundDoneEndsAsOurs(t *testing.T) {
	for name, c := range map[string]struct {
		stage Stage
		head  string
		want  string
	}{
		"ours":                {StageMerge, "c1", "Every domain approved of c1."},
		"of another commit":   {StageMerge, "c2", ""},
		"before we wanted to": {StageWatch, "c1", ""},
	} {
		m := &machine{head: c.head, State: &State{Stage: c.stage, Review: Review{Approval: &Approval{Commit: "c1",
			Words: "Every domain approved of c1."}}}}
		m.conclude(forge.Merged)
		if m.End != EndMerged || m.EndWords != c.want {
			t.Errorf("%s: %s, %q", name, m.End, m.EndWords)
		}
	}
}

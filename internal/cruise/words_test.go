package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
)

func fixers(w *world) (n int) {
	for _, j := range w.jobs {
		if j.Role == Fixer {
			n++
		}
	}
	return n
}

// Guards against words that come in the same look as an end, and are lost with it.
func TestWordsBesideAnEndAreNotLost(t *testing.T) {
	// With an approval they are a round, and the new head needs an approval of its own.
	w := &world{agents: unsure, news: []Comment{
		approvalBy("1", "ann", "OWNER", "c0000001", time.Hour), comment("2", "bob", "MEMBER", "rename the flag", time.Hour),
		approvalBy("3", "ann", "OWNER", "c0000002", 5*time.Hour),
	}}
	st, _ := play(t, w, thatMerges())
	if st.End != EndMerged || st.Round != 1 || w.mergedBy.Head != "c0000002" {
		t.Errorf("end %q after %d rounds, merged %+v", st.End, st.Round, w.mergedBy)
	}
	// So are wishes in the approval itself, and thanks are none.
	for body, rounds := range map[string]int{"good, but rename the flag": 1, "Thanks, looks great!": 0} {
		c := approvalBy("1", "ann", "OWNER", "c0000001", time.Hour)
		c.Body = body
		w = &world{agents: unsure, news: []Comment{c}}
		if st, _ = play(t, w, spec()); st.Round != rounds || (st.End == EndApproved) != (rounds == 0) {
			t.Errorf("%q: end %q after %d rounds", body, st.End, st.Round)
		}
	}
	// With the word it ends, unmerged, and says what is open; a resumed phase begins with that.
	for name, news := range map[string][]Comment{
		"behind it": {comment("1", "ann", "OWNER", "[REVIEW COMPLETE]\nrename the flag later", time.Hour)},
		"in another": {comment("1", "ann", "OWNER", "[REVIEW COMPLETE]", time.Hour),
			comment("2", "bob", "MEMBER", "rename the flag", time.Hour)},
		"before it too": {comment("1", "bob", "MEMBER", "rename the flag", time.Hour),
			comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", time.Hour)},
	} {
		w = &world{agents: unsure, news: news}
		st, _ = play(t, w, thatMerges())
		if st.End != EndComplete || w.mergedBy != nil || fixers(w) != 0 || len(st.Ledger.OpenOnes()) != 1 ||
			!strings.Contains(w.said[len(w.said)-1], "rename the flag") {
			t.Errorf("%s: end %q, merged %+v, said %q", name, st.End, w.mergedBy, w.said)
		}
		next, err := st.Revive(Event{ID: "r", Kind: EventResume}, after(2*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		r := &memory{t: t, w: w, now: after(2 * time.Hour)}
		if st, err = Phase(r, next); err != nil || st.Round != 1 || fixers(w) != 1 {
			t.Errorf("%s: %d rounds after it was resumed: %v", name, st.Round, err)
		}
	}
	// Also where somebody merged or closed it.
	w = &world{agents: unsure, merged: after(time.Hour),
		news: []Comment{comment("2", "bob", "MEMBER", "rename the flag", time.Hour)}}
	if st, _ = play(t, w, spec()); st.End != EndMerged || len(st.Ledger.OpenOnes()) != 1 ||
		!strings.Contains(w.said[0], "rename the flag") {
		t.Errorf("end %q, said %q", st.End, w.said)
	}
}

func TestThanksAskForNothing(t *testing.T) {
	for text, want := range map[string]bool{
		"Thanks, looks great!": true, "LGTM 👍": true, "🎉🎉": true, "Nice work, thank you so much.": true, "+1": true,
		"This looks good to me": true,
		"":                      false, "ok": false, "looks bad": false, "not good": false,
		"Thanks! Please rename the flag.": false, "good?": false, "Why is this fine?": false,
		"great, but the test fails": false, "work": false, "delete it, thanks": false, "fix this, thanks": false,
		"Thanks for fixing it": true, "again, thanks": false, "Good: see #12": false,
	} {
		if reading.Remark(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	w := &world{agents: unsure, news: []Comment{comment("1", "ann", "OWNER", "Thanks, looks great!", time.Hour),
		comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", 2*time.Hour)}}
	if st, _ := play(t, w, spec()); st.Round != 0 || st.End != EndComplete || fixers(w) != 0 {
		t.Errorf("thanks cost %d rounds", st.Round)
	}
}

// Guards against a program with write access that burns round after round.
func TestBotsGiveNoWork(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		s := spec()
		if trusted {
			s.Trusted = []string{"lint"}
		}
		c := comment("1", "lint", "MEMBER", "line 3 is too long", time.Hour)
		c.Bot = true
		w := &world{agents: unsure, news: []Comment{c}}
		st, _ := play(t, w, s)
		if (st.Round == 1) != trusted || (len(st.Inbox.Held) == 1) == trusted {
			t.Errorf("trusted %v: %d rounds, held %+v", trusted, st.Round, st.Inbox.Held)
		}
	}
}

func TestAFixerAnswersAQuestionInWords(t *testing.T) {
	w := &world{news: []Comment{comment("1", "ann", "OWNER", "why not a pointer?", time.Hour),
		comment("9", "ann", "OWNER", "[REVIEW COMPLETE]", 3*time.Hour)}}
	w.agents = func(j Job) (Report, []Commit) {
		if j.Role == Fixer {
			return Report{OK: true, Answer: "I looked.\nCco-Answer: " + asked(j)[0] + " It is copied once. [REVIEW COMPLETE]"},
				nil
		}
		return unsure(j)
	}
	st, _ := play(t, w, spec())
	if st.End != EndComplete || st.Round != 1 || len(w.replies) != 1 ||
		!strings.Contains(w.replies[0].Text, "copied once") || reading.Complete(w.replies[0].Text) || len(w.pushes) != 1 {
		t.Errorf("end %q after %d rounds, replies %+v, %d pushes", st.End, st.Round, w.replies, len(w.pushes))
	}
	if fixers(w) != 1 || st.Ledger.Findings[0].State != Answered {
		t.Errorf("%d fixers, %+v", fixers(w), st.Ledger.Findings)
	}
}

func edit(c Comment, body string, at time.Duration) Comment {
	c.ID, c.Body = c.ID+"~1", body
	c.At, c.Changed = after(at), after(at)
	return c
}

// Guards against an edited comment that is worked on twice, once for each version.
func TestAnEditedCommentIsOneFinding(t *testing.T) {
	first := comment("c-1", "ann", "OWNER", "rename the flag", time.Hour)
	done := comment("9", "ann", "OWNER", "[REVIEW COMPLETE]", 9*time.Hour)
	// At most one look lies between both.
	w := &world{agents: unsure, news: []Comment{first, edit(first, "rename the flag to --force", time.Hour), done}}
	st, _ := play(t, w, spec())
	last := w.jobs[slices.IndexFunc(w.jobs, func(j Job) bool { return j.Role == Fixer })]
	if st.Round != 1 || len(st.Ledger.Findings) != 1 || strings.Count(last.Prompt, "### ") != 1 ||
		!strings.Contains(last.Prompt, "to --force") {
		t.Errorf("%d rounds, %+v", st.Round, st.Ledger.Findings)
	}
	for body, rounds := range map[string]int{"rename the flag, and document it": 2, "Rename the flag.": 1, "Thanks!": 1} {
		w = &world{agents: unsure, news: []Comment{first, edit(first, body, 4*time.Hour), done}}
		if st, _ = play(t, w, spec()); st.Round != rounds || len(st.Ledger.Findings) != 1 {
			t.Errorf("%q: %d rounds, %+v", body, st.Round, st.Ledger.Findings)
		}
	}
}

// Guards against a fixer that is paid for what was deleted or resolved meanwhile.
func TestWhatWasTakenBackIsNotWorkedOn(t *testing.T) {
	w := &world{agents: unsure, deleted: []string{"1"},
		news: []Comment{comment("1", "ann", "OWNER", "rename the flag", time.Hour),
			comment("9", "ann", "OWNER", "[REVIEW COMPLETE]", 3*time.Hour)}}
	if st, _ := play(t, w, spec()); st.End != EndComplete || st.Round != 0 || fixers(w) != 0 {
		t.Errorf("end %q after %d rounds", st.End, st.Round)
	}
}

func TestMinorFindingsOfAnApprovalArePostedOnce(t *testing.T) {
	w := &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Reviewer {
			return Report{OK: true, Answer: `{"verdict":"APPROVED","findings":[{"path":"a.go","line":3,"severity":"minor",` +
				`"text":"a nit of ` + j.Domain + `"}]}`}, nil
		}
		return willing(j)
	}}
	st, _ := play(t, w, spec(), Event{ID: "e1", Kind: EventComment, Text: "also fix the typo", At: begin})
	n := 0
	for _, p := range w.posted {
		n += len(p.Findings)
	}
	if st.End != EndApproved || st.Round != 1 || n != 2 {
		t.Errorf("end %q after %d rounds, %d findings are posted", st.End, st.Round, n)
	}
}

func TestAReviewThatCanNotBeReadTwiceAsks(t *testing.T) {
	w := &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && strings.Contains(j.Prompt, "for Security") {
			return Report{OK: true, Answer: "APPROVED!"}, nil
		}
		return willing(j)
	}}
	play(t, w, spec())
	if !strings.Contains(w.asked, "the review of Security failed twice: its answer can't be read") {
		t.Errorf("asked %q", w.asked)
	}
}

// Guards against an answer that is taken for one of an earlier kind, and never given.
func TestTheSameFindingInALaterKindIsAnsweredThereToo(t *testing.T) {
	s := spec()
	s.Through = Building
	seen := map[Kind]bool{}
	w := &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && j.Domain == "Security" && !seen[j.Kind] {
			seen[j.Kind] = true
			return Report{OK: true, Answer: `{"verdict":"NEEDS_CHANGES","findings":[{"path":"a.go","line":3,` +
				`"severity":"major","text":"quote it"}]}`}, nil
		}
		if j.Role == Author && j.Kind == Building {
			return Report{OK: true}, []Commit{{Subject: "T1", Files: []string{"a.go"}}}
		}
		return willing(j)
	}}
	st, _ := play(t, w, s)
	if st.End != EndApproved || !slices.Equal(w.kinds, []Kind{Planning, Building}) {
		t.Errorf("end %q, answered in %q", st.End, w.kinds)
	}
}

// Guards against a push to a name that a branch no longer has.
func TestABranchThatWasRenamedIsFoundByTheRequest(t *testing.T) {
	w := &world{agents: unsure, branch: "better-name", news: []Comment{comment("1", "ann", "OWNER", "do it", time.Hour),
		comment("9", "ann", "OWNER", "[REVIEW COMPLETE]", 3*time.Hour)}}
	st, _ := play(t, w, spec())
	if st.Round != 1 || w.pushes[1].Branch != "better-name" {
		t.Errorf("after %d rounds pushed %+v", st.Round, w.pushes)
	}
}

// Guards against praise in any language that costs a round, and against a demand that a model takes for praise.
func TestAModelSortsWhatPeopleSay(t *testing.T) {
	line := comment("1", "ann", "OWNER", "Schön gemacht!", time.Hour)
	review := comment("1", "ann", "OWNER", "Nein.", time.Hour)
	line.Path, line.Line, review.State = "a.go", 3, forge.ReviewChanges
	long := comment("1", "ann", "OWNER", strings.Repeat("gut ", maxSorted), time.Hour)
	for name, c := range map[string]struct {
		said           Comment
		sort           Sort
		fault          error
		rounds, remark int
	}{
		"a remark":               {comment("1", "ann", "OWNER", "Schön gemacht!", time.Hour), SortRemark, nil, 0, 1},
		"a demand":               {comment("1", "ann", "OWNER", "Schön machen!", time.Hour), SortDemand, nil, 1, 0},
		"a question":             {comment("1", "ann", "OWNER", "Warum?", time.Hour), SortQuestion, nil, 1, 0},
		"no model":               {comment("1", "ann", "OWNER", "Schön gemacht!", time.Hour), "", nil, 1, 0},
		"a model that is gone":   {comment("1", "ann", "OWNER", "Schön!", time.Hour), SortRemark, errDown, 1, 0},
		"thanks without a model": {comment("1", "ann", "OWNER", "Thanks!", time.Hour), "", nil, 0, 1},
		"on a line":              {line, SortRemark, nil, 1, 0},
		"with changes requested": {review, SortRemark, nil, 1, 0},
		"much":                   {long, SortRemark, nil, 1, 0},
	} {
		end := comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", 3*time.Hour)
		w := &world{agents: unsure, news: []Comment{c.said, end}, sorts: map[string]Sort{c.said.Body: c.sort},
			broken: map[string]error{StepSort.Name: c.fault}}
		st, _ := play(t, w, spec())
		if st.Round != c.rounds || len(st.Inbox.Remarks) != c.remark || st.End != EndComplete {
			t.Errorf("%s: end %q after %d rounds, remarks %+v", name, st.End, st.Round, st.Inbox.Remarks)
		}
		if said := w.said[len(w.said)-1]; strings.Contains(said, "taken for a remark, said by `ann`") != (c.remark > 0) {
			t.Errorf("%s: the end says %q", name, said)
		}
	}
}

func TestARemarkIsWorkWhenTheUserSaysSo(t *testing.T) {
	w := &world{agents: unsure, sorts: map[string]Sort{"Schön!": SortRemark, "Nicht schön!": SortDemand}, news: []Comment{
		comment("1", "ann", "OWNER", "Schön!", time.Hour), comment("2", "bob", "OWNER", "Schön!", time.Hour),
		comment("2~9", "bob", "OWNER", "Nicht schön!", 5*time.Hour), // edited
		comment("3", "ann", "OWNER", "[REVIEW COMPLETE]", 9*time.Hour)}}
	st, _ := play(t, w, spec(), Event{ID: "a", Kind: EventAccept, Text: "1", At: after(2 * time.Hour)})
	if st.Round != 2 || len(st.Inbox.Remarks) != 0 || st.End != EndComplete {
		t.Errorf("end %q after %d rounds, remarks %+v", st.End, st.Round, st.Inbox.Remarks)
	}
}

// Guards against a question that keeps a merge waiting after it was answered.
func TestWordsSettleAQuestionForAMerge(t *testing.T) {
	for _, sort := range []Sort{SortQuestion, SortDemand, ""} {
		w := &world{agents: answering, sorts: map[string]Sort{"Why?": sort},
			news: []Comment{comment("1", "ann", "OWNER", "Why?", 0)}}
		w.merged = after(20 * time.Hour) // by a person, where nothing else does it
		st, _ := play(t, w, thatMerges())
		if (w.mergedBy != nil && len(w.mergedBy.Demands) == 0) != (sort == SortQuestion) {
			t.Errorf("%q: end %q, merged %+v", sort, st.End, w.mergedBy)
		}
	}
}

// answering fixers answer in words.
func answering(j Job) (Report, []Commit) {
	r, work := willing(j)
	if j.Role == Fixer {
		work = nil
		for _, id := range asked(j) {
			r.Answer += TrailerAnswer + ": " + id + " because\n"
		}
	}
	return r, work
}

func TestOnlyAWordSorts(t *testing.T) {
	for answer, want := range map[string]Sort{"remark": SortRemark, " Question.\n": SortQuestion, "**demand**": SortDemand,
		"": "", "It is a remark": "", "remark, or a question": "", "REMARK": SortRemark} {
		if got := ParseSort(answer); got != want {
			t.Errorf("%q: %q", answer, got)
		}
	}
}

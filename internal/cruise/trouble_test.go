package cruise

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// mended plays a phase in a world that is mended after an hour.
func mended(t *testing.T, w *world, s Spec, events ...Event) (State, *memory) {
	t.Helper()
	r := &memory{t: t, w: w, now: begin, inbox: events}
	st := must.Get(Phase(&healer{memory: r, at: after(time.Hour)}, NewState(s)))(t)
	return st, r
}

// A disk that is full, a database that is locked and a forge that is down are all the same to a phase: they pass.
func TestWhateverPassesByItselfIsWaitedForInEveryStep(t *testing.T) {
	for _, step := range []string{StepMetadata.Name, StepWorkspace.Name, StepWork.Name, StepPublish.Name, StepPush.Name,
		StepPullRequest.Name,
		StepPostReview.Name, StepLook.Name, StepAnswer.Name, StepSay.Name, StepSave.Name, StepReady.Name, StepMerge.Name,
		StepClose.Name} {
		t.Run(step, func(t *testing.T) {
			w := &world{agents: picky, broken: map[string]error{step: &Temporary{errors.New("no space left on device")}}}
			s, end := spec(), EndApproved
			s.Ready = true
			if step == StepMerge.Name || step == StepClose.Name {
				s.Merge, end = true, EndMerged
			}
			st, r := mended(t, w, s)
			if st.End != end || st.Round != 1 || st.Waiting.Trouble != "" {
				t.Errorf("end %q, round %d, trouble %q, question %q", st.End, st.Round, st.Waiting.Trouble, st.Ask.Question)
			}
			if step != StepSave.Name && (r.now.Before(after(time.Hour)) || r.now.After(after(70*time.Minute))) {
				t.Errorf("it ended at %v", r.now)
			}
		})
	}
}

func TestAModelThatIsDownForAnHourIsWaitedFor(t *testing.T) {
	for _, role := range []Role{Author, Reviewer, Fixer} {
		t.Run(string(role), func(t *testing.T) {
			w := &world{}
			keys := map[string]bool{}
			w.agents = func(j Job) (Report, []Commit) {
				if keys[j.Key] {
					t.Errorf("%s was asked for twice: the second would not run", j.Key)
				}
				keys[j.Key] = true
				if j.Role == role && w.now.Before(after(time.Hour)) {
					return Report{Error: "overloaded", Transient: true}, nil
				}
				return picky(j)
			}
			st, r := mended(t, w, spec())
			if st.End != EndApproved || st.Round != 1 || r.now.After(after(70*time.Minute)) {
				t.Errorf("end %q, round %d, question %q at %v", st.End, st.Round, st.Ask.Question, r.now)
			}
			failed := func(p PostReviewIn) bool { return strings.Contains(p.Body, "the review failed") }
			if slices.ContainsFunc(w.posted, failed) {
				t.Error("a review was reported as failed")
			}
		})
	}
}

func TestAFailureInTheMiddleOfARoundRunsNoSecondFixer(t *testing.T) {
	for _, step := range []string{StepPush.Name, StepAnswer.Name} {
		for name, fault := range map[string]error{"for good": errors.New("not allowed"), "for a while": errDown} {
			t.Run(step+" "+name, func(t *testing.T) {
				w := &world{broken: map[string]error{}}
				fixers := 0
				w.agents = func(j Job) (Report, []Commit) {
					if j.Role == Fixer {
						fixers++
						w.broken[step] = fault
					}
					return picky(j)
				}
				st, _ := mended(t, w, spec(), Event{ID: "p", Kind: EventPause, At: after(time.Minute)},
					Event{ID: "e", Kind: EventResume, At: after(61 * time.Minute)})
				if st.End != EndApproved || fixers != 1 || st.Ledger.Findings[0].State != Fixed {
					t.Errorf("end %q, %d fixers, question %q, %+v", st.End, fixers, st.Ask.Question, st.Ledger.Findings)
				}
				if last := w.replies[len(w.replies)-1]; last.Finding != st.Ledger.Findings[0].ID {
					t.Errorf("replies %+v", w.replies)
				}
			})
		}
	}
}

func TestAReviewThatCanNotBePostedIsPostedLater(t *testing.T) {
	w := &world{agents: picky, broken: map[string]error{StepPostReview.Name: errors.New("locked")}}
	st, _ := mended(t, w, spec(), Event{ID: "e", Kind: EventResume, At: after(61 * time.Minute)})
	said := slices.IndexFunc(w.posted[1:], func(p PostReviewIn) bool { return len(p.Findings) == 1 })
	if st.End != EndApproved || said < 0 || st.Ledger.Findings[0].Comment == "" {
		t.Errorf("end %q, question %q, posted %+v", st.End, st.Ask.Question, w.posted)
	}
}

func TestNothingIsPushedOnceThePullRequestIsClosed(t *testing.T) {
	for state, end := range map[forge.State]End{forge.Closed: EndClosed, forge.Merged: EndMerged} {
		w := &world{}
		w.agents = func(j Job) (Report, []Commit) {
			if j.Role == Fixer {
				w.state = state
			}
			return picky(j)
		}
		st, _ := play(t, w, spec())
		if st.End != end || len(w.pushes) != 1 || len(w.replies) != 0 || len(w.said) != 1 ||
			!strings.Contains(w.said[0], "refs/cco/feedbeef") {
			t.Errorf("%s: end %q, pushes %v, said %q", state, st.End, w.pushes, w.said)
		}
		if w.closed == nil || w.closed.Head != "c0000001" {
			t.Errorf("closed %+v", w.closed)
		}
	}
}

// Guards against a phase that says that all is approved while the request is at a commit that nobody has reviewed.
func TestACommitOfSomebodyUnknownCanBeApprovedAsItIs(t *testing.T) {
	w := &world{agents: willing, head: "ffffffff"}
	w.news = []Comment{comment("1", "ann", "OWNER", "", time.Hour), comment("2", "eve", "NONE", "", time.Minute)}
	for i := range w.news {
		w.news[i].State, w.news[i].Commit = forge.ReviewApproved, "ffffffff"
	}
	if st, r := play(t, w, spec()); st.End != EndApproved || !strings.Contains(st.EndWords, "ann approved of ffffffff") ||
		r.now.Before(after(time.Hour)) {
		t.Errorf("end %q: %s", st.End, st.EndWords)
	}
	w = &world{agents: picky, head: "c0000001", shows: after(time.Hour)}
	if st, r := play(t, w, spec()); st.End != EndApproved || w.asked != "" || r.now.Before(after(time.Hour)) {
		t.Errorf("a forge that is slow to show our own push: end %q at %v, asked %q", st.End, r.now, w.asked)
	}
}

func TestWhatIsSentWhileAPhaseEndsIsNotLost(t *testing.T) {
	w := &world{agents: willing, unread: 1}
	st, _ := play(t, w, spec(), Event{ID: "e1", Kind: EventComment, Text: "one more thing", At: after(time.Second)})
	if st.End != EndApproved || st.Round != 1 || len(st.Ledger.Findings) != 1 || st.Ledger.Findings[0].State != Fixed {
		t.Errorf("end %q, round %d, %+v", st.End, st.Round, st.Ledger.Findings)
	}
	if len(w.said) != 2 {
		t.Errorf("said %q", w.said)
	}
}

// Guards against `cco cruise fix` that comes just too late and keeps a phase alive whose review is complete.
func TestALookThatWasAskedForWhileAPhaseEndsDoesNotReviveIt(t *testing.T) {
	for _, kind := range []string{EventNews, EventPause, EventResume} {
		w := &world{agents: unsure, unread: 1, news: []Comment{comment("1", "ann", "OWNER", "[REVIEW COMPLETE]", 0)}}
		st, r := play(t, w, spec(), Event{ID: "e", Kind: kind, At: after(time.Second)})
		if st.End != EndComplete || len(w.said) != 1 || r.now.After(after(time.Minute)) {
			t.Errorf("%s: end %q at %v, said %q", kind, st.End, r.now, w.said)
		}
	}
}

// Guards against words that are taken in while a phase says how it ended, and then forgotten.
func TestWhatIsSaidWhileAnEndCanNotBeSaidIsWorkStill(t *testing.T) {
	for _, kind := range []string{EventComment, EventAccept} {
		w := &world{agents: willing, broken: map[string]error{StepSay.Name: errDown},
			news: []Comment{comment("9", "eve", "NONE", "one more thing", 0)}}
		st, _ := mended(t, w, spec(), Event{ID: "e1", Kind: kind, Text: "9", At: after(time.Minute)})
		if st.End != EndApproved || st.Round != 1 || len(st.Ledger.Findings) != 1 || st.Ledger.Findings[0].State != Fixed {
			t.Errorf("%s: end %q, round %d, %+v", kind, st.End, st.Round, st.Ledger.Findings)
		}
	}
}

// Guards against a phase of a newer cco that this one begins again every few seconds.
func TestAStageThatIsNotKnownIsShownAndWaits(t *testing.T) {
	w := &world{agents: willing}
	st := NewState(spec())
	st.Stage = "deploying"
	shown := ""
	r := &memory{t: t, w: w, now: begin, inbox: []Event{{ID: "a", Kind: EventResume, At: after(time.Hour)},
		{ID: "c", Kind: EventCleanup, At: after(2 * time.Hour)}}}
	end, err := Phase(&watchful{r, func() { shown = max(shown, w.saved.Ask.Question) }}, st)
	if err != nil || end.End != EndCleanup || !strings.Contains(shown, "newer cco") || r.steps > 200 {
		t.Errorf("end %q after %d steps, shown %q, %v", end.End, r.steps, shown, err)
	}
}

// watchful looks at what is shown before each wait.
type watchful struct {
	*memory
	look func()
}

func (w *watchful) Recv(d time.Duration) (*Event, error) {
	w.look()
	return w.memory.Recv(d)
}

func TestAnEndThatNobodyWaitsForIsAnEnd(t *testing.T) {
	w := &world{agents: willing, unread: 1000}
	if st, r := play(t, w, spec()); st.End != EndApproved || r.now.After(after(time.Minute)) {
		t.Errorf("end %q at %v", st.End, r.now)
	}
}

func TestAnApprovedPhaseStaysSoHoweverLongItCanNotSaySo(t *testing.T) {
	w := &world{agents: willing, broken: map[string]error{StepSay.Name: errDown}}
	r := &memory{t: t, w: w, now: begin}
	st, err := Phase(&healer{memory: r, at: after(30 * time.Hour)}, NewState(spec()))
	if err != nil || st.End != EndApproved || w.closed != nil {
		t.Errorf("end %q, closed %+v, %v", st.End, w.closed, err)
	}
}

func TestAPanicInAStepIsShownAndEndsNothing(t *testing.T) {
	w := &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Fixer {
			panic(fmt.Sprintf("in %s", j.Key))
		}
		return picky(j)
	}}
	st, _ := play(t, w, spec(), Event{ID: "c", Kind: EventCleanup, At: after(time.Hour)})
	if st.End != EndCleanup || !strings.Contains(w.asked, "cco went wrong") {
		t.Errorf("end %q, asked %q", st.End, w.asked)
	}
}

// Guards against a question that nobody on the request hears of, and against what a failure tells of this machine.
func TestAQuestionIsSaidOnTheRequestOnceAndWithoutDetails(t *testing.T) {
	w := &world{agents: picky, broken: map[string]error{}}
	w.during = func(j Job) {
		if j.Role == Fixer {
			w.broken[StepPush.Name] = errors.New("/home/ann/repo: remote: ghp_secret may not push line 7")
		}
	}
	st, _ := play(t, w, spec(), Event{ID: "r", Kind: EventResume, At: after(time.Hour)})
	if st.End != EndIdle || len(w.asked) == 0 || !strings.Contains(w.asked, "/home/ann") {
		t.Fatalf("end %q, asked %q", st.End, w.asked)
	}
	said := 0
	for _, words := range w.said {
		if strings.Contains(words, "waits for the person who runs it: the step `push` failed") {
			said++
		}
		if strings.Contains(words, "/home") || strings.Contains(words, "ghp_") {
			t.Errorf("said %q", words)
		}
	}
	if said != 1 {
		t.Errorf("said %d times: %q", said, w.said)
	}
}

// Guards against a phase that sees nothing on the forge for as long as a comment of its own can't be posted.
func TestACommentThatCanNotBePostedHoldsUpNoLook(t *testing.T) {
	w := &world{agents: willing, merged: after(2 * time.Hour), broken: map[string]error{StepSay.Name: errDown},
		checks: func(string, time.Time) Checked { return unitIs(forge.ChecksAction) }}
	r := &healer{memory: &memory{t: t, w: w, now: begin}, at: after(4 * time.Hour)}
	st, err := Phase(r, NewState(checkSpec()))
	seen := slices.ContainsFunc(w.looks, func(at time.Time) bool {
		return at.After(w.merged) && at.Before(w.merged.Add(10*time.Minute))
	})
	if err != nil || st.End != EndMerged || !seen {
		t.Errorf("end %q, looks %v: %v", st.End, w.looks, err)
	}
}

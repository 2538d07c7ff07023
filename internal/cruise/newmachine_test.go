package cruise

import (
	"slices"
	"testing"
)

// Guards against a phase that goes on with commits that nobody has, that forgets a round which was pushed, or that says
// what a lost round has said.
func TestWhatWasNotPushedGoesWithItsMachine(t *testing.T) {
	work := &Published{Head: "work", Commits: []Commit{{ID: "work"}}}
	held := Ask{Question: "may it change that?", Resume: StageAnswer}
	said := Outbox{Published: work, Replies: []Reply{{Finding: "f1", Text: "no"}}}
	pushed := Head{Commit: "pushed", Before: "base", Pushed: "pushed"}
	for name, c := range map[string]struct {
		was   State
		has   []string
		stage Stage
		round int
		head  string
		lost  bool
	}{
		"it has begun nothing": {was: State{Stage: StageName}, stage: StageName},
		"everything was pushed": {was: State{Stage: StageWatch, Round: 2, Head: pushed}, has: []string{"pushed", "base"},
			stage: StageWatch, round: 2, head: "pushed"},
		"a fixer is at work": {was: State{Stage: StageFix, Round: 1, Head: pushed, Attempt: Attempt{Number: 1}},
			has: []string{"pushed", "base"}, stage: StageFix, round: 1, head: "pushed"},
		"the first work was not pushed": {was: State{Stage: StagePublish, Outbox: Outbox{Published: work}},
			stage: StageWork, lost: true},
		"nor was it when that had begun": {was: State{Stage: StagePublish, Head: Head{Commit: "work"}}, stage: StageWork,
			lost: true},
		"a round was not pushed": {was: State{Stage: StageAnswer, Round: 2, Head: pushed, Outbox: said},
			has: []string{"pushed", "base"}, stage: StageFix, round: 1, head: "pushed", lost: true},
		"nor was it when that had begun to be": {was: State{Stage: StageAnswer, Round: 2, Outbox: said,
			Head: Head{Commit: "work", Before: "pushed", Pushed: "pushed"}},
			has: []string{"pushed"}, stage: StageFix, round: 1, head: "pushed", lost: true},
		"a round was pushed and is not answered": {was: State{Stage: StageAnswer, Round: 2, Outbox: said,
			Head: Head{Commit: "work", Before: "pushed", Pushed: "work"}},
			has: []string{"pushed", "work"}, stage: StageAnswer, round: 2, head: "work"},
		"a round is answered in words": {was: State{Stage: StageAnswer, Round: 1, Head: pushed,
			Outbox: Outbox{Published: &Published{}}}, has: []string{"pushed"}, stage: StageAnswer, round: 1, head: "pushed"},
		"a commit waits for consent": {was: State{Stage: StageAsk, Ask: held, Round: 2, Head: pushed, Outbox: said,
			Consent: Consent{Holding: "work"}}, has: []string{"pushed", "base"}, stage: StageFix, round: 1, head: "pushed",
			lost: true},
		"it asks something else": {was: State{Stage: StageAsk, Ask: Ask{Question: "why?", Resume: StageWatch}, Head: pushed},
			has: []string{"pushed", "base"}, stage: StageAsk, head: "pushed"},
	} {
		now, lost := c.was.Moved(func(commit string) bool { return slices.Contains(c.has, commit) })
		if lost != c.lost || now.Stage != c.stage || now.Round != c.round || now.Head.Commit != c.head {
			t.Errorf("%s: lost %v, %s in round %d at %q", name, lost, now.Stage, now.Round, now.Head.Commit)
		}
		if !lost {
			continue
		}
		if now.Outbox.Published != nil || len(now.Outbox.Replies) > 0 || now.Consent.Holding != "" || now.Ask.Question != "" {
			t.Errorf("%s: it goes on with %+v, %+v", name, now.Outbox, now.Ask)
		}
		if now.Life.Again != c.was.Life.Again+1 || now.Attempt.Number != 0 || now.Waiting.Trouble == "" {
			t.Errorf("%s: %+v, %+v, %q", name, now.Life, now.Attempt, now.Waiting.Trouble)
		}
		if again, more := now.Moved(func(commit string) bool { return slices.Contains(c.has, commit) }); more {
			t.Errorf("%s: it is lost twice: %+v", name, again)
		}
	}
}

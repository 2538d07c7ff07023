package cruise

import (
	"strings"
	"testing"
	"time"
)

// keySubject is the subject of a commit with a key, in this world.
const keySubject = "a key"

// careless puts a key into the commits of one role, as often as told.
func careless(role Role, times int, prompts *[]string) func(Job) (Report, []Commit) {
	return func(j Job) (Report, []Commit) {
		r, commits := picky(j)
		if j.Role != role {
			return r, commits
		}
		*prompts = append(*prompts, j.Prompt)
		if times--; times >= 0 {
			commits = []Commit{{Subject: keySubject, Files: []string{"key.txt"}}}
		}
		return r, commits
	}
}

// Guards against a key that becomes public: what is refused is made anew by the next agent, and never pushed.
func TestWhatIsRefusedIsMadeAnewAndNeverPushed(t *testing.T) {
	for _, role := range []Role{Author, Fixer} {
		t.Run(string(role), func(t *testing.T) {
			var prompts []string
			w := &world{}
			w.agents = careless(role, 1, &prompts)
			st, _ := play(t, w, spec())
			if st.End != EndApproved || st.Ask.Question != "" || len(st.Consent.Refused) > 0 {
				t.Fatalf("end %q, question %q, refused %v", st.End, st.Ask.Question, st.Consent.Refused)
			}
			if len(prompts) < 2 || !strings.Contains(prompts[1], "Rewrite the commits after ") ||
				!strings.Contains(prompts[1], "key.txt:1") || strings.Contains(prompts[0], "Rewrite") {
				t.Errorf("prompts %q", prompts)
			}
			refused := map[Role]string{Author: "c0000001", Fixer: "c0000002"}[role]
			for _, p := range w.pushes {
				if p.New == refused || p.Old == refused {
					t.Errorf("pushed %+v", p)
				}
			}
		})
	}
}

func TestASecondRefusalIsAPersonsBusiness(t *testing.T) {
	for _, role := range []Role{Author, Fixer} {
		t.Run(string(role), func(t *testing.T) {
			var prompts []string
			w := &world{}
			w.agents = careless(role, 99, &prompts)
			stop := Event{ID: "stop", Kind: EventCleanup, At: after(time.Hour)}
			st, _ := play(t, w, spec(), stop)
			if len(prompts) != 2 {
				t.Errorf("%d agents were paid, question %q", len(prompts), st.Ask.Question)
			}
			if !strings.Contains(w.asked, "must not be pushed: secrets: key.txt:1") {
				t.Errorf("asked %q", w.asked)
			}
			if want := map[Role]int{Author: 0, Fixer: 1}[role]; len(w.pushes) != want {
				t.Errorf("pushes %+v", w.pushes)
			}
		})
	}
}

// Guards against a comment for every push: one is kept current.
func TestOneCommentTellsWhatAPersonMustKnow(t *testing.T) {
	w := &world{agents: picky, tells: true}
	st, _ := play(t, w, spec())
	told := w.kept
	if len(told) != 2 || told[0].Key != told[1].Key || told[0].Text == told[1].Text || st.Outbox.Kinds != "ci 1" ||
		st.Outbox.Said != told[1].Text {
		t.Errorf("told %+v, kinds %q", told, st.Outbox.Kinds)
	}
}

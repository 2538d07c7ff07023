package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// sly puts a subject on the commits of one role, as often as told.
func sly(role Role, subject string, times int) func(Job) (Report, []Commit) {
	return func(j Job) (Report, []Commit) {
		r, commits := picky(j)
		if j.Role == role {
			if times--; times >= 0 {
				commits[0].Subject = subject
			}
		}
		return r, commits
	}
}

// holdsOf is a world in which a commit's subject says why it is held up.
func holdsOf(agents func(Job) (Report, []Commit)) *world {
	return &world{agents: agents, holds: map[string]Hold{
		"touch ci":   {Kind: "ci", Why: HoldCI, Lines: []string{"ci: .github/workflows/ci.yml:3: +run: true"}},
		"skip tests": {Kind: "weakened", Why: HoldWeakened, Lines: []string{"weakened: a_test.go:2: +t.Skip()"}},
		"add a hook": {Kind: "commit", Why: HoldPolicy, Lines: []string{"commit: .husky/pre-commit:1: +id"}},
	}}
}

// Guards against a file of CI that runs with secrets before a person has seen it.
func TestWhatNeedsConsentIsNotPushedWithoutIt(t *testing.T) {
	hour := after(time.Hour)
	for _, c := range []struct {
		name   string
		role   Role
		kind   string
		may    []string
		events []Event
		pushed []string // commits that may be on the forge in the end
		asked  bool
	}{
		{"an author, and nobody answers", Author, "touch ci", nil, nil, nil, true},
		{"a fixer, and nobody answers", Fixer, "touch ci", nil, nil, []string{"c0000001"}, true},
		{"a resume without a look at it", Author, "touch ci", nil, []Event{{ID: "a", Kind: EventResume, At: hour}},
			nil, true},
		{"consent to another commit", Author, "touch ci", nil, []Event{{ID: "a", Kind: EventResume, At: hour,
			Let: "c0000009"}}, nil, true},
		{"a look", Author, "touch ci", nil, []Event{{ID: "a", Kind: EventNews, At: hour}}, nil, true},
		{"consent for an author", Author, "touch ci", nil, []Event{{ID: "a", Kind: EventResume, At: hour, Let: "c0000001"}},
			[]string{"c0000001", "c0000002"}, true},
		{"consent for a fixer", Fixer, "touch ci", nil, []Event{{ID: "a", Kind: EventResume, At: hour, Let: "c0000002"}},
			[]string{"c0000001", "c0000002"}, true},
		{"allowed at the start", Author, "touch ci", []string{"ci"}, nil, []string{"c0000001", "c0000002"}, false},
		{"a kind of the policy", Fixer, "add a hook", []string{"ci"}, nil, []string{"c0000001"}, true},
		{"weaker tests that answer no check", Fixer, "skip tests", nil, nil, []string{"c0000001", "c0000002"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := holdsOf(sly(c.role, c.kind, 1))
			s := spec()
			s.MayChange = c.may
			play(t, w, s, append(c.events, Event{ID: "stop", Kind: EventCleanup, At: after(2 * time.Hour)})...)
			var got []string
			for _, p := range w.pushes {
				got = append(got, p.New)
			}
			if !slices.Equal(got, c.pushed) {
				t.Errorf("pushed %v, want %v; asked %q", got, c.pushed, w.asked)
			}
			if line := w.holds[c.kind].Lines[0]; strings.Contains(w.asked, line) != c.asked {
				t.Errorf("asked %q", w.asked)
			}
			if strings.Contains(strings.Join(w.said, "\n"), "workflows") {
				t.Errorf("said on the request: %q", w.said)
			}
		})
	}
}

func TestWorkThatAPersonDoesNotWantIsMadeAnew(t *testing.T) {
	for _, role := range []Role{Author, Fixer} {
		t.Run(string(role), func(t *testing.T) {
			w := holdsOf(sly(role, "touch ci", 1))
			no := Event{ID: "no", Kind: EventComment, Text: "leave CI alone", At: after(time.Hour)}
			st, _ := play(t, w, spec(), no)
			if st.End != EndApproved {
				t.Fatalf("end %q, question %q", st.End, st.Ask.Question)
			}
			refused := map[Role]string{Author: "c0000001", Fixer: "c0000002"}[role]
			if slices.ContainsFunc(w.pushes, func(p PushIn) bool { return p.New == refused }) {
				t.Errorf("pushed %+v", w.pushes)
			}
			told := slices.ContainsFunc(w.jobs, func(j Job) bool {
				return j.Role == role && strings.Contains(j.Prompt, "Rewrite the commits after ") &&
					strings.Contains(j.Prompt, "ci.yml:3")
			})
			if !told {
				t.Error("the next agent was not told what to make anew")
			}
		})
	}
}

// Guards against asking about the same kind of the policy again and again, and against not asking about CI again.
func TestAPolicysKindIsAskedAboutOnce(t *testing.T) {
	for subject, asks := range map[string]bool{"add a hook": false, "touch ci": true} {
		t.Run(subject, func(t *testing.T) {
			w := holdsOf(sly(Fixer, subject, 9))
			s := spec()
			s.MaxRounds = 2
			w.news = []Comment{{ID: "comment-1", Author: "rob", Write: true, Body: "do more", At: after(30 * time.Minute)}}
			play(t, w, s, Event{ID: "yes", Kind: EventResume, At: after(time.Hour), Let: "c0000002"},
				Event{ID: "stop", Kind: EventCleanup, At: after(4 * time.Hour)})
			if second := len(w.pushes) < 3; second != asks {
				t.Errorf("pushes %+v, asked %q", w.pushes, w.asked)
			}
		})
	}
}

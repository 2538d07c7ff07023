package cruisetest

import (
	"strings"
	"testing"
)

// insisting is a task whose reviewer never gives up a blocker, which the fixer declines.
const insisting = "# Add a thing\n\n## Task 1: play the part\n\n```sh\n" + `case "$CCO_ROLE" in
author)
	echo "a thing" > thing.txt
	git add -A
	git diff --cached --quiet || git commit -qm "add a thing" ;;
reviewer)
	echo '{"verdict":"NEEDS_CHANGES","findings":[
		{"path":"thing.txt","line":1,"severity":"blocker","text":"quote it"}]}' ;;
fixer)
	git commit -q --allow-empty -m "decline it

$(for f in $CCO_FINDINGS; do echo "Cco-Declined: $f the caller quotes it"; done)" ;;
esac
` + "```\n"

// Insisting carries a phase whose reviewer insists on what the fixer declines. Nobody is said to have approved: the
// user is asked once, and the last comment says who was overruled and why.
func Insisting(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	id := r.Start(insisting, "--phase", "building", "--domains", "Security", "--merge")
	s := r.Await(id, "asking", Status.Over)
	if s.End != "" || !strings.Contains(s.Question, `Security wants "quote it"`) {
		t.Fatalf("end %q, asks %q\n%s", s.End, s.Question, r.Story(id))
	}
	r.CCO("cruise", "resume", id)
	s = r.Await(id, "over", func(s Status) bool { return s.Over() && !strings.Contains(s.Question, "quote it") })
	said := strings.Join(r.Said(s.PR), "\n")
	if n := r.questions(id); s.End != "merged" || n != 1 {
		t.Errorf("end %q after %d questions: %q\n%s", s.End, n, s.Question, r.Story(id))
	}
	if strings.Contains(said, "APPROVED") || strings.Contains(said, "approves of") ||
		!strings.Contains(said, "overruled by the user who runs this") ||
		!strings.Contains(said, "quote it (the caller quotes it)") {
		t.Errorf("said:\n%s", said)
	}
}

// Demanding carries a phase that merges, and a person's demand that a fixer answers: it waits for that person until the
// user says that it shall not.
func Demanding(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	task := strings.Replace(Unsure, `	echo '{"verdict":"SKIPPED","findings":[]}' ;;`,
		`	if test -e round.txt; then echo '{"verdict":"APPROVED","findings":[]}'
	else echo '{"verdict":"SKIPPED","findings":[]}'; fi ;;`, 1)
	id := r.Start(task, "--domains", "Security", "--merge")
	first := r.Await(id, "watching", func(s Status) bool { return s.Stage == "watching" && !s.NextPoll.IsZero() })
	r.Say(Token, first.PR, "Please name the flag --force.")
	r.CCO("cruise", "fix", id)
	waits := "whose request for changes stands"
	if !r.Until(func() bool { return strings.Contains(r.CCO("cruise", "status", id), waits) || r.Status(id).Over() }) {
		t.Fatal(r.Story(id))
	}
	if s := r.Status(id); s.Over() || s.Rounds != 1 {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	r.CCO("cruise", "resume", id, "--over", "ada")
	s := r.Await(id, "over", Status.Over)
	said := strings.Join(r.Said(s.PR), "\n")
	if s.End != "merged" || !strings.Contains(said, "`ada` is passed over") {
		t.Errorf("%+v\n%s\n%s", s, said, r.Story(id))
	}
}

// Withdrawn carries a phase that a person ends by a word and takes that back before the checks are there: it does not
// end as approved.
func Withdrawn(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	id := r.Start(Unsure, "--domains", "Security")
	first := r.Await(id, "watching", func(s Status) bool { return s.Stage == "watching" && !s.NextPoll.IsZero() })
	r.Say(Token, first.PR, "[REVIEW COMPLETE]")
	r.CCO("cruise", "fix", id)
	r.Await(id, "checking", func(s Status) bool { return s.Stage == "checking" || s.Over() })
	r.unsay(first.PR, "[REVIEW COMPLETE]")
	s := r.Await(id, "watching again", func(s Status) bool {
		return s.Over() || s.Stage == "watching" && strings.Contains(strings.Join(r.Said(s.PR), "\n"), "It does not count.")
	})
	if s.Over() {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

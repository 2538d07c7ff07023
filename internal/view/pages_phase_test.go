//go:build heavy && linux

package view_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// asking is a task whose author changes CI, which is not pushed without consent, and whose reviewers leave the verdict
// to people.
const asking = "## Task 1: play the part\n\n```sh\n" + `case "$CCO_ROLE" in
author)
	mkdir -p docs/plans .github/workflows
	echo "T1: add it" > docs/plans/2026-11-15-add-a-flag.md
	echo "on: push" > .github/workflows/ci.yml
	git add -A
	git diff --cached --quiet || git commit -qm "plan: add a flag" ;;
reviewer)
	echo '{"verdict":"SKIPPED","findings":[]}' ;;
fixer)
	echo "round $CCO_ROUND" > round.txt ;;
esac
` + "```\n"

// Phases of a real engine on a real forge: each action of the page is held to what it does there.
func TestPhasesOnThePage(t *testing.T) {
	t.Parallel()
	c := cruisetest.NewOnGitea(t, cruisetest.Build(t))
	c.CCO("box", "create")
	r := viewtest.Over(t, c.Home, c.Bin, "demo", c.Env)
	r.Serve()
	b := newBrowser(t, r, wide)
	b.comeIn()
	for _, h := range hands {
		t.Run(h.name, func(t *testing.T) {
			b.t = t
			b.sit(h)
			phasePage(b, c)
		})
		if b.t = t; t.Failed() {
			return
		}
	}
}

// phasePage carries one phase to its end.
func phasePage(b *browser, c *cruisetest.Rig) {
	title := "Flag " + b.name
	id := c.Start("# "+title+"\n\n"+asking, "--domains", "Security")
	s := c.Await(id, "asking", func(s cruisetest.Status) bool { return s.Question != "" })
	// An engine is started, and nothing is consented to by that.
	if !c.KillEngine() {
		b.t.Fatal("no engine ran")
	}
	b.at("/")
	b.sees("The engine is dead")
	b.until("what it asks", // a phone hides it
		"document.querySelector('#asks').textContent.includes('are not pushed without your consent')")
	b.fine("a dead engine and a question")
	b.pressOn("The engine is dead", "Start")
	b.sees("an engine watches")
	b.until("the engine lives", "!document.body.innerText.includes('The engine is dead')")
	if now := c.Status(id); c.EnginePid() == 0 || now.Question != s.Question || now.PR != 0 {
		b.t.Fatalf("it is %+v", now)
	}
	b.choose(title)
	b.press("Push it")
	b.press("Yes, push it")
	b.sees("phase " + id + " goes on")
	s = c.Await(id, "watching", watching(0))
	if s.PR == 0 || s.Question != "" {
		b.t.Fatalf("it is %+v", s)
	}

	b.at("/phase/" + id)
	b.sees("Pull request")
	b.press("Pause")
	b.until("paused", state("paused"))
	c.Await(id, "paused", func(s cruisetest.Status) bool { return s.Paused })
	b.press("Resume")
	c.Await(id, "going on", func(s cruisetest.Status) bool { return !s.Paused })
	b.until("going on", state("watching"))

	c.Say(cruisetest.Stranger, s.PR, "Please say why, "+b.name)
	b.press("Look now")
	b.sees("From others")
	b.sees("eve (not trusted)")
	b.fine("phase with a stranger")
	b.pressOn("eve", "Accept as work")
	b.press("Yes, accept it")
	s = c.Await(id, "done with what the stranger said", watching(1))
	b.until("what eve said is done", finding("Please say why, "+b.name))
	forge := gittest.At(b.t, c.ForgeDir())
	if got := forge.Git("show", s.Branch+":round.txt"); got != "round 1" || len(s.Held) > 0 {
		b.t.Errorf("the forge has %q, and held are %+v", got, s.Held)
	}

	b.types("Say something to the fixer", "Name the owner, "+b.name)
	b.press("Fix this")
	c.Await(id, "done with the comment", watching(2))
	b.until("the comment is done", finding("Name the owner, "+b.name))
	if got := forge.Git("show", s.Branch+":round.txt"); got != "round 2" {
		b.t.Errorf("the forge has %q", got)
	}
	b.until("bars", "document.querySelectorAll('.tl .seg').length >= 6")
	b.fine("phase")
	if b.name == wide.name {
		phaseInTrouble(b, c, id)
	}

	b.at("/phase/" + id)
	b.press("Clean up")
	b.press("Yes, end it")
	s = c.Await(id, "ended", func(s cruisetest.Status) bool { return s.Ended })
	b.until("ended", state("ended"))
	if _, err := os.Stat(c.Workspace(s)); err == nil || s.End != "cleaned up" {
		b.t.Errorf("its end is %q, and its workspace %s: %v", s.End, c.Workspace(s), err)
	}
}

// phaseInTrouble takes the forge from a phase, gives it back, and tries again.
func phaseInTrouble(b *browser, c *cruisetest.Rig, id string) {
	b.t.Helper()
	repo := gittest.At(b.t, c.Repo)
	address := repo.Git("remote", "get-url", "origin")
	repo.Git("remote", "remove", "origin")
	c.KillEngine()
	b.press("Look now")
	c.Await(id, "in trouble", func(s cruisetest.Status) bool { return strings.Contains(s.Trouble, "remote") })
	b.at("/")
	b.choose("Flag")
	b.sees("Has trouble")
	repo.Git("remote", "add", "origin", address)
	b.press("Try again")
	b.at("/")
	c.Await(id, "well again", func(s cruisetest.Status) bool { return s.Trouble == "" && s.Stage == "watching" })
	b.until("no trouble", "!document.querySelector('#asks')")
}

func watching(rounds int) func(cruisetest.Status) bool {
	return func(s cruisetest.Status) bool {
		return s.Ended || s.Rounds == rounds && s.Stage == "watching" && !s.NextPoll.IsZero()
	}
}

func state(is string) string {
	return "document.querySelector('.state')?.dataset.state === '" + is + "'"
}

// finding is one that a commit has answered.
func finding(words string) string {
	return `[...document.querySelectorAll('.finding')].some(e => e.textContent.includes("` + words +
		`") && e.dataset.state !== 'open')`
}

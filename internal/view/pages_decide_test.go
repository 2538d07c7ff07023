//go:build heavy && linux

package view_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// What only a person can decide of a phase: which of two sides goes on, a merge over somebody's request, more dollars,
// an end by force. Each is held to what comes of it on a real forge.
func TestPhasesAreDecidedOnThePage(t *testing.T) {
	t.Parallel()
	c := cruisetest.NewOnGitea(t, cruisetest.Build(t))
	model := agenttest.Serve(t, dear(agenttest.Say("I begin.")), agenttest.Say("Nothing is left to do."))
	claude := filepath.Dir(agenttest.Program(t, "claude"))
	c.Env = append(c.Env, "PATH="+c.Bin+":"+claude+":"+os.Getenv("PATH"), "ANTHROPIC_BASE_URL="+model.URL,
		"ANTHROPIC_API_KEY=none")
	c.CCO("box", "create")
	r := viewtest.Over(t, c.Home, c.Bin, "demo", c.Env)
	r.Serve()
	b := newBrowser(t, r, wide)
	b.comeIn()
	for _, part := range []struct {
		name string
		try  func(*browser, *cruisetest.Rig)
	}{{"two sides and a forced end", sidesPage}, {"more dollars", dollarsPage}, {"a merge over a request", overPage}} {
		t.Run(part.name, func(t *testing.T) {
			b.t = t
			part.try(b, c)
		})
		if b.t = t; t.Failed() {
			return
		}
	}
}

// sidesPage chooses a side twice after somebody pushed by force, and then ends a phase whose workspace has work that is
// nowhere else.
func sidesPage(b *browser, c *cruisetest.Rig) {
	id := c.Start(cruisetest.Unsure, "--domains", "Security")
	first := c.Await(id, "watching", watching(0))
	g := c.Clone("ada", c.UserToken(), first.Branch)
	parted := func(file string) (theirs string) {
		b.t.Helper()
		g.Git("fetch", "-q", "origin")
		g.Git("reset", "-q", "--hard", first.Head)
		theirs = g.Commit("another way", file, "another way\n")
		g.Git("push", "-q", "--force", "origin", first.Branch)
		b.at("/phase/" + id)
		b.press("Look now")
		c.Await(id, "asking which side", func(s cruisetest.Status) bool {
			return strings.Contains(s.Question, theirs[:10])
		})
		return theirs
	}
	c.CCO("cruise", "fix", id, "--comment", "go on")
	ours := c.Await(id, "done with a round", watching(1)).Head
	theirs := parted("way.txt")
	b.press("Take theirs")
	b.fine("two sides")
	b.press("Yes, theirs")
	s := c.Await(id, "going on from theirs", func(s cruisetest.Status) bool {
		return s.Stage == "watching" && s.Question == "" && s.Head == theirs
	})
	if kept := gittest.At(b.t, c.Repo).Git("for-each-ref", "--format=%(objectname)", "refs/cco"); !strings.Contains(kept,
		ours) {
		b.t.Errorf("ours is lost: %s", kept)
	}
	ours, theirs = s.Head, parted("third.txt")
	b.sit(keys)
	b.at("/phase/" + id)
	b.press("Ours on top")
	b.press("Yes, ours")
	s = c.Await(id, "going on from ours", func(s cruisetest.Status) bool {
		return s.Stage == "watching" && s.Question == "" && s.Head != ours
	})
	if got := gittest.At(b.t, c.ForgeDir()).Git("log", "-1", "--format=%P", s.Head); got != theirs+" "+ours {
		b.t.Errorf("%s joins %s, not %s and %s", s.Head, got, theirs, ours)
	}

	b.sit(narrow)
	must.Do(b.t, os.WriteFile(filepath.Join(c.Workspace(s), "unsaved.txt"), []byte("unsaved"), 0o644)) // a box reads it
	b.at("/phase/" + id)
	b.press("Clean up")
	b.press("Yes, end it")
	c.Await(id, "refused", func(s cruisetest.Status) bool { return s.Ended && s.Trouble != "" })
	b.sees("It went wrong: close")
	if _, err := os.Stat(c.Workspace(s)); err != nil {
		b.t.Errorf("work that is nowhere else is gone: %v", err)
	}
	b.press("Clean by force")
	b.fine("an end by force")
	b.press("Force it")
	c.Await(id, "ended", func(s cruisetest.Status) bool { return s.Ended && s.Trouble == "" && s.End == "cleaned up" })
	if _, err := os.Stat(c.Workspace(s)); err == nil {
		b.t.Error("its workspace is still there")
	}
	if refs := gittest.At(b.t, c.ForgeDir()).Git("for-each-ref", "refs/heads/"+first.Branch); refs != "" {
		b.t.Errorf("its branch is still there: %s", refs)
	}
	b.sit(wide)
}

// dollarsPage raises the dollars of a phase that has none left.
func dollarsPage(b *browser, c *cruisetest.Rig) {
	id := c.Start(cruisetest.Unsure, "--domains", "Security", "--fixer", "claude", "--max-cost", "0.01")
	c.Await(id, "watching", watching(0))
	b.at("/phase/" + id)
	b.types("Say something to the fixer", "Name the owner")
	b.press("Fix this")
	s := c.Await(id, "out of money", func(s cruisetest.Status) bool { return s.Ended })
	if s.End != "spend limit" || s.Cost < 0.01 {
		b.t.Fatalf("its end is %q at %f\n%s", s.End, s.Cost, c.Story(id))
	}
	b.sees("It ended: spend limit")
	b.fine("a phase without money")
	b.types("More dollars", "5")
	b.press("Resume")
	c.Await(id, "going on", func(s cruisetest.Status) bool { return !s.Ended })
	b.sees(fmt.Sprintf("of $%.2f", 5+s.Cost))
	c.CCO("cruise", "cleanup", id, "--force")
	c.Await(id, "ended", func(s cruisetest.Status) bool { return s.Ended })
}

// overPage merges although somebody who may write requested changes.
func overPage(b *browser, c *cruisetest.Rig) {
	id := c.Start(cruisetest.Unsure, "--domains", "Security", "--merge")
	s := c.Await(id, "watching", watching(0))
	c.Call(c.UserToken(), http.MethodPut, "collaborators/eve", map[string]string{"permission": "write"}, nil)
	c.Call(cruisetest.Stranger, http.MethodPost, fmt.Sprintf("pulls/%d/reviews", s.PR),
		map[string]string{"event": "REQUEST_CHANGES", "body": "Not like this."}, nil)
	c.CCO("cruise", "fix", id)
	c.Await(id, "done with what was requested", watching(1))
	c.Say(cruisetest.Token, s.PR, "[REVIEW COMPLETE]")
	b.at("/phase/" + id)
	b.press("Look now")
	b.sees("eve, whose request for changes stands")
	b.press("Merge anyway")
	b.fine("a merge over a request")
	b.press("Yes, merge")
	s = c.Await(id, "merged", func(s cruisetest.Status) bool { return s.Ended })
	if s.End != "merged" || !strings.Contains(strings.Join(c.Said(s.PR), "\n"), "is passed over") {
		b.t.Errorf("its end is %q\n%s", s.End, strings.Join(c.Said(s.PR), "\n"))
	}
}

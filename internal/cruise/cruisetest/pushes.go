package cruisetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
)

// Clone is a clone of the forge's repository by somebody with a token, who can push.
func (r *Rig) Clone(user, token, branch string) *gittest.Repo {
	r.Helper()
	address := r.front.URL
	if r.Gitea != nil {
		address = r.Gitea.URL
	}
	address = strings.Replace(address, "http://", "http://"+user+":"+token+"@", 1) + "/ada/demo.git"
	g := gittest.Init(r.TB, filepath.Join(r.TempDir(), "clone"), "-b", "nothing")
	g.Git("remote", "add", "origin", address)
	g.Git("config", "user.name", "Somebody")
	g.Git("config", "user.email", "somebody@example.org")
	g.Git("fetch", "-q", "origin")
	g.Git("checkout", "-q", "-b", branch, "origin/"+branch)
	return g
}

// UserToken is the token of the user, on whichever forge there is.
func (r *Rig) UserToken() string {
	if r.Gitea != nil {
		return r.Gitea.Tokens["ada"]
	}
	return Token
}

// kept lists the commits that are kept for the user: in the repository, and in the clones of machines.
func (r *Rig) kept() string {
	repos := []string{r.Repo}
	for _, m := range append([]*Rig{r}, r.machines...) {
		clones, _ := filepath.Glob(filepath.Join(m.Data, "clones", "*"))
		repos = append(repos, clones...)
	}
	var all []string
	for _, dir := range repos {
		all = append(all, gittest.At(r.TB, dir).Git("for-each-ref", "--format=%(objectname)", "refs/cco"))
	}
	return strings.Join(all, "\n")
}

// OtherHands carries a phase onto whose branch others push, forward and by force: a push forward is part of the work
// from then on, and after one by force the user chooses a side, twice.
func OtherHands(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	id := r.Start(Unsure, "--domains", "Security")
	first := r.Await(id, "watching", func(s Status) bool { return s.Stage == "watching" && !s.NextPoll.IsZero() })
	g := r.Clone("ada", r.UserToken(), first.Branch)
	pushed := g.Commit("by hand", "hand.txt", "by hand\n")
	g.Git("push", "-q", "origin", first.Branch)
	r.CCO("cruise", "fix", id, "--comment", "go on")
	s := r.Await(id, "done with a round on top of it", func(s Status) bool {
		return s.Over() || s.Rounds == 1 && s.Stage == "watching"
	})
	on := gittest.At(t, r.ForgeDir())
	if s.Over() || on.Git("show", s.Head+":hand.txt") != "by hand" || on.Git("merge-base", pushed, s.Head) != pushed ||
		on.Git("rev-parse", first.Branch) != s.Head {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}

	asks := func() Status {
		t.Helper()
		r.CCO("cruise", "fix", id)
		return r.Await(id, "asking which side", func(s Status) bool { return strings.Contains(s.Question, "--take theirs") })
	}
	force := func(file string) string {
		t.Helper()
		g.Git("fetch", "-q", "origin")
		g.Git("reset", "-q", "--hard", first.Head)
		g.Commit("another way", file, "another way\n")
		g.Git("push", "-q", "--force", "origin", first.Branch)
		return g.Git("rev-parse", "HEAD")
	}
	ours, theirs := s.Head, force("way.txt")
	if q := asks().Question; !strings.Contains(q, ours[:10]) || !strings.Contains(q, theirs[:10]) {
		t.Errorf("it does not name both sides: %s", q)
	}
	r.CCO("cruise", "resume", id, "--take", "theirs")
	s = r.Await(id, "going on from theirs", func(s Status) bool {
		return s.Stage == "watching" && s.Question == "" && s.Head == theirs
	})
	if kept := r.kept(); !strings.Contains(kept, ours) {
		t.Errorf("ours is lost: %s", kept)
	}

	ours, theirs = s.Head, force("third.txt")
	asks()
	r.CCO("cruise", "resume", id, "--take", "ours")
	s = r.Await(id, "going on from ours", func(s Status) bool {
		return s.Stage == "watching" && s.Question == "" && s.Head != ours
	})
	if on.Git("log", "-1", "--format=%P", s.Head) != theirs+" "+ours || on.Git("rev-parse", first.Branch) != s.Head ||
		on.Git("rev-parse", s.Head+"^{tree}") != on.Git("rev-parse", ours+"^{tree}") {
		t.Errorf("%+v\n%s", s, on.Git("log", "--graph", "--oneline", "--all"))
	}
	r.CCO("cruise", "fix", id, "--comment", "once more")
	s = r.Await(id, "done with another round", func(s Status) bool { return s.Over() || s.Rounds == 2 })
	if s.Question != "" {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

// DeployKey carries a phase onto whose branch a deploy key pushes, which the forge shows as a push of the user's: it
// asks, and goes on from there if the user says so. Without such a key the user's own push is taken.
func DeployKey(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	id := r.Start(Unsure, "--domains", "Security")
	first := r.Await(id, "watching", func(s Status) bool { return s.Stage == "watching" && !s.NextPoll.IsZero() })
	g := r.Clone("ada", r.UserToken(), first.Branch)
	own := g.Commit("by hand", "hand.txt", "by hand\n")
	g.Git("push", "-q", "origin", first.Branch)
	r.CCO("cruise", "fix", id)
	r.Await(id, "taking what the user pushed", func(s Status) bool {
		return s.Over() || s.Head == own && s.Stage == "watching"
	})
	push := []string{"push", "-q", strings.Replace(r.front.URL, "//", "//key:secretOfAKey@", 1) + "/ada/demo.git"}
	if r.Gitea != nil {
		push = r.Gitea.DeployKey(t, "ada", "demo", false)
	} else {
		r.Fake.AddDeployKey("ada", "demo", "secretOfAKey", false)
	}
	theirs := g.Commit("by a key", "key.txt", "by a key\n")
	g.Git(append(push, first.Branch)...)
	r.CCO("cruise", "fix", id)
	s := r.Await(id, "asking about it", func(s Status) bool { return s.Over() || s.Question != "" })
	if s.Head != own || !strings.Contains(s.Question, "deploy key") || !strings.Contains(s.Question, theirs[:10]) {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	r.CCO("cruise", "resume", id, "--take", "theirs")
	r.Await(id, "going on from it", func(s Status) bool {
		return s.Over() || s.Head == theirs && s.Question == "" && s.Stage == "watching"
	})
}

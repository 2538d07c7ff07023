package cruising_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // the driver that the store uses

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// held is a task with a role that waits until it is released: a stage may be over before anybody has seen it.
func held(task, role string) string {
	return strings.Replace(task, role+")", role+")\n\tuntil test -e .git/go; do touch .git/held; sleep 0.1; done", 1)
}

// working is a phase with an author at work.
func working(s cruisetest.Status) bool { return s.Stage == "working" && s.Path != "" }

// release lets the role in a workspace go on, also if it is begun again.
func release(t *testing.T, workspace string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(workspace, ".git", "go"), nil, 0o644)) // the box's user reads it
}

// copied copies the workspace of a phase. An engine says where a phase stands before it writes that into the workspace.
func copied(t *testing.T, r *cruisetest.Rig, s cruisetest.Status) (dir string) {
	t.Helper()
	if !r.Until(func() bool {
		dir = t.TempDir()
		return os.CopyFS(dir, os.DirFS(r.Workspace(s))) == nil
	}) {
		t.Fatal("the workspace can't be copied")
	}
	return dir
}

func TestAPhaseWaitsForADatabaseThatIsLocked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Picky, "--domains", "Security")
	open := func(patience int) *sql.DB {
		db := must.Get(sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_txlock=immediate",
			filepath.Join(r.Data, "cco.db"), patience)))(t)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	tx := must.Get(open(60_000).BeginTx(t.Context(), nil))(t)
	defer func() { _ = tx.Rollback() }()
	must.Get(tx.ExecContext(t.Context(), "CREATE TABLE held (x)"))(t)
	// The engine waits twenty seconds for a lock. Somebody who waits in the same way for a second longer gives up later
	// than an engine that has begun to wait within that second.
	_, err := open(21_000).BeginTx(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "locked") {
		t.Fatalf("the database was not locked: %v", err)
	}
	must.Do(t, tx.Rollback())
	if s := r.Await(id, "over", over); s.End != "approved" || s.Rounds != 1 {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

func TestAPhaseWaitsForAForgeThatIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(held(cruisetest.Picky, "author"), "--domains", "Security")
	path := r.Await(id, "working", working).Path
	r.Down.Store(true)
	release(t, path)
	s := r.Await(id, "waiting for the forge", func(s cruisetest.Status) bool { return s.Trouble != "" || s.Over() })
	if s.Over() || !strings.Contains(r.CCO("cruise", "status", id), "waiting") {
		t.Errorf("%+v", s)
	}
	r.Down.Store(false)
	if s = r.Await(id, "over", over); s.End != "approved" || s.Trouble != "" || r.Pulls() != 1 {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

func TestAWorkspaceThatWasDeletedByHandIsMadeAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	was := r.Await(id, "watching", watching)
	if !r.Until(func() bool { return os.RemoveAll(r.Workspace(was)) == nil }) { // the state may still be written there
		t.Fatal("the workspace can't be removed")
	}
	r.CCO("cruise", "fix", id, "--comment", "go on")
	s := r.Await(id, "done with it", fixed(1))
	if s.Over() || s.Head == was.Head {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	if parent := forge(r).Git("rev-parse", s.Branch+"^"); parent != was.Head {
		t.Errorf("the branch goes on after %s, not after %s", parent, was.Head)
	}
}

func TestABoxThatIsGoneIsAskedAboutAndTheWorkGoesOnInANewOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	was := r.Await(id, "watching", watching)
	r.CCO("box", "destroy", "--force")
	r.CCO("cruise", "fix", id, "--comment", "go on")
	s := r.Await(id, "asking", over)
	if s.Ended || !strings.Contains(s.Question, "box") {
		t.Fatalf("%+v", s)
	}
	r.CCO("box", "create")
	r.CCO("cruise", "resume", id)
	s = r.Await(id, "done with it", fixed(1))
	if s.Over() || forge(r).Git("rev-parse", s.Branch+"^") != was.Head {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

func TestABranchThatWasDeletedOnTheForgeIsPushedAgainOnlyIfAPersonSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	was := r.Await(id, "watching", watching)
	forge(r).Git("update-ref", "-d", "refs/heads/"+was.Branch)
	r.CCO("cruise", "fix", id, "--comment", "go on")
	s := r.Await(id, "asking", over)
	if s.Ended || !strings.Contains(s.Question, "was deleted on the forge") {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	r.CCO("cruise", "resume", id)
	s = r.Await(id, "done with it", fixed(1))
	if s.Over() || forge(r).Git("rev-parse", s.Branch) != s.Head || s.Findings[0].State != "fixed" {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

func TestNothingIsPushedToAPullRequestThatWasClosedWhileAFixerRan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(held(cruisetest.Unsure, "fixer"), "--domains", "Security")
	was := r.Await(id, "watching", watching)
	r.CCO("cruise", "fix", id, "--comment", "go on")
	r.Await(id, "fixing", func(cruisetest.Status) bool {
		_, err := os.Stat(filepath.Join(r.Workspace(was), ".git", "held"))
		return err == nil // a round that has only begun sees that the request is closed, and pays for no fixer
	})
	r.Call(cruisetest.Token, http.MethodPatch, fmt.Sprintf("pulls/%d", was.PR), map[string]string{"state": "closed"}, nil)
	release(t, r.Workspace(was))
	s := r.Await(id, "over", over)
	if s.End != "closed" || forge(r).Git("rev-parse", s.Branch) != was.Head {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
	kept := gittest.At(t, r.Repo).Git("show", "refs/cco/"+s.Session()+":round.txt")
	if said := strings.Join(r.Said(s.PR), "\n"); kept != "round 1" || strings.Count(said, "refs/cco/"+s.Session()) != 1 {
		t.Errorf("kept %q, said:\n%s", kept, said)
	}
}

func TestASecondEngineIsRefusedAndCommandsTalkToTheFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	first := r.EnginePid()
	if words := r.Fails(4, "cruise", "serve"); !strings.Contains(words, "already") {
		t.Errorf("it said %q", words)
	}
	r.CCO("cruise", "pause", id)
	r.Await(id, "paused", func(s cruisetest.Status) bool { return s.Paused })
	if now := r.EnginePid(); now != first || first == 0 {
		t.Errorf("engine %d, then %d", first, now)
	}
	r.KillEngine()
	r.CCO("cruise", "resume", id) // starts one
	if r.Await(id, "watching", watching); r.EnginePid() == 0 {
		t.Error("no engine runs")
	}
}

func TestAnEngineThatIsToldToEndLeavesPhasesThatGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(held(cruisetest.Picky, "author"), "--domains", "Security")
	path := r.Await(id, "working", working).Path
	pid := r.EnginePid()
	must.Do(t, syscall.Kill(pid, syscall.SIGTERM))
	if !r.Until(func() bool { return r.EnginePid() != pid }) {
		t.Fatal("the engine does not end")
	}
	r.CCO("cruise", "resume", "--all")
	release(t, path)
	if s := r.Await(id, "over", over); s.End != "approved" || r.Pulls() != 1 {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

func TestAPhaseWhoseRecordIsGoneGoesOnFromItsWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	was := r.Await(id, "watching", watching)
	dir := copied(t, r, was)
	if words := r.Fails(4, "cruise", "resume", "--from", dir); !strings.Contains(words, "its record is there") {
		t.Errorf("it said %q", words)
	}
	r.KillEngine()
	lost, _ := filepath.Glob(filepath.Join(r.Data, "*.db*"))
	for _, f := range lost {
		must.Do(t, os.Remove(f))
	}
	r.Fails(3, "cruise", "status", id)
	r.Fails(3, "cruise", "resume", "--from", t.TempDir())
	// Guards against files as the design had them first: ids are numbers, and what is not known is null.
	must.Do(t, os.WriteFile(filepath.Join(dir, ".cruise", "phase-state.json"), []byte(`{"sandbox_path": "/somewhere",
		"branch_name": "`+was.Branch+`", "pr_url": null, "pr_number": null, "phase": "planning",
		"current_review_domain": null, "last_activity": "2026-11-15T09:00:00Z", "backoff_interval_secs": 5,
		"pending_comment_ids": [17, 18], "completed_rounds": 0}`), 0o600))
	var s cruisetest.Status
	out := r.CCO("cruise", "resume", "--from", dir, "--json", "--planner", "script")
	r.Decode(out, &s)
	r.CCO("cruise", "fix", s.ID, "--comment", "go on")
	s = r.Await(s.ID, "done with it", fixed(was.Rounds+1))
	if s.Over() || s.PR != was.PR || r.Pulls() != 1 || forge(r).Git("rev-parse", s.Branch+"^") != was.Head {
		t.Errorf("%+v\n%s", s, r.Story(s.ID))
	}
}

// Guards against settings and findings that are lost with the record, against two phases on one pull request, and
// against a file that an agent has changed.
func TestAPhaseIsTakenUpAsItWas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security", "--trust", "eve", "--max-rounds", "7", "--max-cost", "3",
		"--timeout", "5h")
	was := r.Await(id, "watching", watching)
	r.Say(cruisetest.Token, was.PR, "please say more")
	r.CCO("cruise", "fix", id)
	was = r.Await(id, "done with it", fixed(1))
	r.CCO("cruise", "pause", id)
	r.Await(id, "paused", func(s cruisetest.Status) bool { return s.Paused })
	dir := copied(t, r, was)
	r.KillEngine()
	lost, _ := filepath.Glob(filepath.Join(r.Data, "*.db*"))
	for _, f := range lost {
		must.Do(t, os.Remove(f))
	}
	var s cruisetest.Status
	out, words, err := r.Run("cruise", "resume", "--from", dir, "--json")
	if err != nil || words != "" && strings.Contains(words, "not restored") {
		t.Fatalf("%v: %s", err, words)
	}
	r.Decode(out, &s)
	if words := r.Fails(4, "cruise", "resume", "--from", dir); !strings.Contains(words, s.ID) {
		t.Errorf("a second phase on the request: %s", words)
	}
	r.CCO("cruise", "fix", s.ID)
	s = r.Await(s.ID, "watching", watching)
	if s.Rounds != 1 || len(s.Findings) != 1 || s.Findings[0].State != "fixed" || s.Head != was.Head {
		t.Errorf("%+v\n%s", s, r.Story(s.ID))
	}
	if out := r.CCO("cruise", "status", "--json", s.ID); !strings.Contains(out, `"max_rounds": 7`) ||
		!strings.Contains(out, `"max_cost": 3`) {
		t.Errorf("status: %s", out)
	}
	r.Say(cruisetest.Stranger, s.PR, "and another line") // whom --trust named
	r.CCO("cruise", "fix", s.ID)
	s = r.Await(s.ID, "done with it", fixed(2))
	if len(s.Held) != 0 {
		t.Errorf("%+v", s)
	}
	r.CCO("cruise", "cleanup", s.ID)
	file := filepath.Join(dir, ".cruise", "phase-state.json")
	text := string(must.Get(os.ReadFile(file))(t))
	i := strings.Index(text, `"sealed": "`) + 50
	must.Do(t, os.WriteFile(file, []byte(text[:i]+"A"+text[i+1:]), 0o600))
	if _, words, err := r.Run("cruise", "resume", "--from", dir, "--planner", "script"); err != nil ||
		!strings.Contains(words, "not restored") {
		t.Errorf("a changed file: %v %s", err, words)
	}
}

// Guards against a token that has run out, after which only a new engine would help.
func TestANewTokenTakesEffectAtTheNextResume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	was := r.Await(id, "watching", watching)
	const fresh = "ghp_freshfreshfreshfreshfreshfreshfresh"
	r.Fake.Revoke(cruisetest.Token)
	r.CCO("cruise", "fix", id, "--comment", "go on")
	r.Await(id, "in trouble", func(s cruisetest.Status) bool { return strings.Contains(s.Trouble, "refuses the token") })
	if out := r.CCO("attention"); !strings.Contains(out, id+"  stuck") || !strings.Contains(out, "refuses the token") ||
		!strings.Contains(out, "cco cruise resume "+id) {
		t.Errorf("attention: %s", out)
	}
	r.Fake.AddUser("ada", fresh)
	engine := r.EnginePid()
	for i, v := range r.Env {
		r.Env[i] = strings.Replace(v, cruisetest.Token, fresh, 1)
	}
	r.CCO("cruise", "resume", id)
	s := r.Await(id, "done with it", fixed(1))
	if s.Over() || s.Head == was.Head || r.EnginePid() != engine {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
	if out := r.CCO("attention"); strings.Contains(out, id) {
		t.Errorf("attention afterwards: %s", out)
	}
	// It is nowhere on the disk.
	must.Do(t, filepath.WalkDir(r.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // it is gone, or a socket
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(fresh)) {
			t.Errorf("the token is in %s", path)
		}
		return nil
	}))
	if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", engine)); err == nil &&
		bytes.Contains(cmdline, []byte(fresh)) {
		t.Error("the token is in the engine's arguments")
	}
	r.Fake.AddUser("ada", cruisetest.Token) // for what the test does at its end
}

func TestTheKeyIsShownAndSet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.CCO("cruise", "key", "show")
	if again := r.CCO("cruise", "key", "show"); again != first || len(strings.TrimSpace(first)) != 64 {
		t.Errorf("%q, then %q", first, again)
	}
	other := strings.Repeat("0123456789abcdef", 4)
	set := func(text string) (string, error) {
		out, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{filepath.Join(r.Bin, "cco"), "cruise", "key", "set"},
			Dir: r.Repo, Env: r.Env, Stdin: strings.NewReader(text)})
		return string(out), err
	}
	if _, err := set("not a key " + other); proc.Code(err) != 2 || strings.Contains(err.Error(), other) {
		t.Errorf("%v", err)
	}
	if _, err := set(other + "\n"); err != nil || strings.TrimSpace(r.CCO("cruise", "key", "show")) != other {
		t.Errorf("%v", err)
	}
}

// Guards against a fixer's `commit --amend`, after which nothing of its work could ever be brought out of the
// workspace.
func TestAFixerThatRewritesWhatWasPushedIsPutBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	// It amends the pushed plan until it is told something more, and then its own commit alone.
	amends := strings.Replace(cruisetest.Picky, "fixer)\n", `fixer)
	set -- $CCO_FINDINGS
	if [ $# -lt 2 ]; then
		echo "T2: in place of what was there" >> $plan
		git commit -qam "rewritten" --amend
		exit 0
	fi
	git commit -q --allow-empty -m "my own"
	git commit -q --allow-empty --amend -m "my own, amended"
`, 1)
	id := r.Start(amends, "--domains", "Security")
	if s := r.Await(id, "asking", func(s cruisetest.Status) bool { return s.Over() }); !strings.Contains(s.Question,
		"rewrote commits") {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	r.CCO("cruise", "fix", id, "--comment", "add commits only")
	s := r.Await(id, "over", func(s cruisetest.Status) bool { return s.Ended })
	if s.End != "approved" || s.Rounds != 1 {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	kept, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{"git", "-C", r.Repo, "log", "-1", "--format=%s",
		"refs/cco/" + s.Session() + "rewritten"}})
	if err != nil || strings.TrimSpace(string(kept)) != "rewritten" {
		t.Errorf("what it made of it is not kept: %q %v", kept, err)
	}
	if log := r.CCO("cruise", "logs", id); !strings.Contains(log, "rewrote what was pushed") {
		t.Errorf("the log does not say so:\n%s", log)
	}
}

// Guards against a phase that "has begun" and asks a moment later for what could be known before.
func TestAPhaseThatCanNotRunDoesNotBegin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	r.CCO("box", "create", "wt", "--backend", "worktree", "--accept", "no-kernel")
	for _, c := range []struct{ args, want string }{
		{"--planner claude", "no key for anthropic"},
		{"--planner script --reviewer claude", "no key for anthropic"},
		{"--planner script --box wt", "agents run as you"},
	} {
		words := r.Fails(4, append([]string{"cruise", "start", "do it"}, strings.Fields(c.args)...)...)
		if !strings.Contains(words, c.want) {
			t.Errorf("%s: %s", c.args, words)
		}
	}
	words := r.Fails(4, "cruise", "start", "do it", "--planner", "claude", "--box", "new", "--create")
	if !strings.Contains(words, "no key for anthropic") || strings.Contains(words, "making box") {
		t.Errorf("with a box to be made: %s", words)
	}
	r.Env = append(r.Env, "ANTHROPIC_API_KEY=sk-none", "PATH=/usr/bin:/bin")
	words = r.Fails(4, "cruise", "start", "do it", "--planner", "claude")
	if !strings.Contains(words, `no program "claude" in box cco-sandbox`) {
		t.Errorf("without the program: %s", words)
	}
	words = r.Fails(4, "cruise", "start", "do it", "--planner", "claude", "--box", "new", "--create")
	if !strings.Contains(words, "box new is removed again") {
		t.Errorf("with a box that was made for nothing: %s", words)
	}
	if list := strings.TrimSpace(r.CCO("cruise", "list", "--json")); list != "[]" {
		t.Errorf("there is %s", list)
	}
	if list := r.CCO("box", "list"); strings.Contains(list, "new") {
		t.Errorf("there is a box: %s", list)
	}
}

func TestOtherHandsArePartOfTheWork(t *testing.T) {
	t.Parallel()
	cruisetest.OtherHands(t, newRig(t))
}

func TestADeployKeysPushIsAskedAbout(t *testing.T) {
	t.Parallel()
	cruisetest.DeployKey(t, newRig(t))
}

// Guards against a program's push that is taken for a colleague's, and against one that is asked about for nothing.
func TestAProgramsPushIsAskedAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, token := range map[string]string{"ann": "ghp_ann", "renovate[bot]": "ghp_renovate"} {
		r.Fake.AddUser(name, token)
		r.Fake.AddCollaborator("ada", "demo", name, true)
	}
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	s := r.Await(id, "watching", watching)
	push := func(who, token string) string {
		g := r.Clone(who, token, s.Branch)
		g.Git("config", "user.name", "Ada") // whatever a commit says
		head := g.Commit("more", who+".txt", "more\n")
		g.Git("push", "-q", "origin", s.Branch)
		r.CCO("cruise", "fix", id)
		return head
	}
	ann := push("ann", "ghp_ann")
	s = r.Await(id, "going on from ann's", func(s cruisetest.Status) bool {
		return s.Over() || s.Head == ann && watching(s)
	})
	push("renovate[bot]", "ghp_renovate")
	s = r.Await(id, "asking", cruisetest.Status.Over)
	if !strings.Contains(s.Question, "renovate[bot] is a program") || s.Head != ann {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
	if words := r.Fails(2, "cruise", "resume", id, "--take", "both"); !strings.Contains(words, "theirs or ours") {
		t.Errorf("%s", words)
	}
}

func TestABaseThatMovesIsMerged(t *testing.T) {
	t.Parallel()
	cruisetest.MovingBase(t, newRig(t))
}

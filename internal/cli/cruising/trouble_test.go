package cruising_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver that the store uses

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

func TestAPhaseWaitsForADatabaseThatIsLocked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Picky, "--domains", "Security")
	for _, name := range []string{"cco.db", "cruise.db"} {
		db := must.Get(sql.Open("sqlite", "file:"+filepath.Join(r.Data, name)+
			"?_pragma=busy_timeout(60000)&_txlock=immediate"))(t)
		defer func() { _ = db.Close() }()
		tx := must.Get(db.BeginTx(t.Context(), nil))(t)
		defer func() { _ = tx.Rollback() }()
		must.Get(tx.ExecContext(t.Context(), "CREATE TABLE held (x)"))(t)
		// Longer than anybody waits for a lock.
		time.AfterFunc(12*time.Second, func() { _ = tx.Rollback() })
	}
	time.Sleep(12 * time.Second) // the trouble lasts so long
	if s := r.Await(id, "over", over); s.End != "approved" || s.Rounds != 1 {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}

func TestAPhaseWaitsForAForgeThatIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Picky, "--domains", "Security")
	r.Await(id, "working", func(s cruisetest.Status) bool { return s.Stage == "working" })
	r.Down.Store(true)
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
	must.Do(t, os.RemoveAll(r.Workspace(was)))
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
	id := r.Start(strings.Replace(cruisetest.Unsure, "fixer)", "fixer)\n\tsleep 4", 1), "--domains", "Security")
	was := r.Await(id, "watching", watching)
	r.CCO("cruise", "fix", id, "--comment", "go on")
	r.Await(id, "fixing", func(s cruisetest.Status) bool { return s.Stage == "fixing" && len(r.Left()) > 0 })
	r.Call(cruisetest.Token, http.MethodPatch, fmt.Sprintf("pulls/%d", was.PR), map[string]string{"state": "closed"}, nil)
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
	id := r.Start(cruisetest.Picky, "--domains", "Security")
	r.Await(id, "working", func(s cruisetest.Status) bool { return s.Stage == "working" })
	pid := r.EnginePid()
	must.Do(t, syscall.Kill(pid, syscall.SIGTERM))
	if !r.Until(func() bool { return r.EnginePid() != pid }) {
		t.Fatal("the engine does not end")
	}
	r.CCO("cruise", "resume", "--all")
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
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(r.Workspace(was))))
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
	var s cruisetest.Status
	out := r.CCO("cruise", "resume", "--from", dir, "--json", "--planner", "script")
	r.Decode(out, &s)
	r.CCO("cruise", "fix", s.ID, "--comment", "go on")
	s = r.Await(s.ID, "done with it", fixed(was.Rounds+1))
	if s.Over() || s.PR != was.PR || r.Pulls() != 1 || forge(r).Git("rev-parse", s.Branch+"^") != was.Head {
		t.Errorf("%+v\n%s", s, r.Story(s.ID))
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

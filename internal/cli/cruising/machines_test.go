//go:build heavy

package cruising_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// fleet is what `cco cruise workers --json` prints.
type fleet struct {
	Workers []lease.Seen
	Waiting []lease.Waiting
}

func workerOf(t *testing.T, m *cruisetest.Rig) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(m.Data, "worker.id")))(t)))
}

// Guards against a phase that only the machine where it was started can steer, that goes to a machine of another
// account or without what it needs, and that waits without a word.
// shownWhereItWasStarted looks for a phase's commits at refs/cco of the repository in which it was started.
func shownWhereItWasStarted(t *testing.T, user, other *cruisetest.Rig, id string) {
	t.Helper()
	user.Worker() // which has the phase no more than a command has
	repo, ref := gittest.At(t, user.Repo), "refs/cco/"+steps.SessionOf(id)
	if !user.Until(func() bool { return repo.Git("for-each-ref", ref) != "" }) {
		t.Fatal("a worker does not show it")
	}
	repo.Git("update-ref", "-d", ref)
	var there, here struct {
		ShownAt string `json:"shown_at"`
		ShownIn string `json:"shown_in"`
	}
	other.Decode(other.CCO("cruise", "status", "--json", id), &there)
	user.Decode(user.CCO("cruise", "status", "--json", id), &here)
	if there.ShownAt != "" || there.ShownIn != "" || here.ShownIn != user.Repo {
		t.Fatalf("it is shown at %+v, and elsewhere at %+v", here, there)
	}
	if got := repo.Git("rev-parse", here.ShownAt); here.ShownAt != ref || got != user.Status(id).Head {
		t.Errorf("%s is at %s", here.ShownAt, got)
	}
	if words := user.CCO("cruise", "status", id); !strings.Contains(words, here.ShownAt+" in "+user.Repo) {
		t.Errorf("status says %q", words)
	}
}

func TestPhasesOfAllMachinesFromEachOfThem(t *testing.T) {
	t.Parallel()
	user := newRig(t)
	user.Share(pgtest.Start(t), "")
	other := user.Machine(t) // without a worker and a checkout
	repo := gittest.At(t, user.Repo)
	repo.Git("stash", "-q")
	repo.Commit("never pushed", "mine.txt", "mine\n")
	mine := repo.Git("rev-parse", "HEAD")
	id := user.Start(cruisetest.Unsure, "--domains", "Security", "--on", "gpu", "--branch", "feat/x")

	says := func(want string) {
		t.Helper()
		if !other.Until(func() bool { return strings.Contains(other.CCO("cruise", "status", id), want) }) {
			t.Fatalf("status does not say %q:\n%s\n%s", want, other.CCO("cruise", "status", id), other.CCO("cruise", "workers"))
		}
	}
	says("no worker is alive")
	if _, words, _ := other.Run("attention"); !strings.Contains(words, "`cco cruise worker` starts one") {
		t.Errorf("attention says %q", words)
	}
	eve := user.Machine(t)
	eve.Settings("[worker]\nlabels = [\"gpu\"]\n")
	eve.Env = append(eve.Env, "GH_ENTERPRISE_TOKEN="+cruisetest.Stranger)
	eve.CCO("box", "create")
	eve.Worker()
	says("worker " + workerOf(t, eve) + " has no token of ada on ")
	bare := user.Machine(t)
	passwordFrom(t, bare, `{command = ["cat", $1]}`)
	bare.CCO("box", "create")
	bare.Worker()
	says("worker " + workerOf(t, bare) + " has no label gpu")
	if out := other.CCO("attention"); !strings.Contains(out, "no worker takes it") || !strings.Contains(out, id) {
		t.Errorf("attention says %q", out)
	}
	page := viewtest.Over(t, other.Home, other.Bin, filepath.Base(other.Repo), other.Env)
	page.Serve()
	var state api.State
	page.Ask("GET", "/state", nil, &state)
	if len(state.Phases) != 1 || state.Phases[0].ID != id || state.Unwatched != 0 || len(state.Needs) != 1 ||
		state.Needs[0].ID != id || state.Needs[0].Of != "phase" || state.Needs[0].Next != "cco cruise workers" {
		t.Errorf("the page says %+v", state)
	}
	gpu := user.Machine(t)
	gpu.Settings("[worker]\nlabels = [\"gpu\"]\nslots = 1\n")
	passwordFrom(t, gpu, `{keyring = "cco/database"}`)
	gpu.CCO("box", "create")
	gpu.Worker()
	says("worker  ")

	var f fleet
	other.Decode(other.CCO("cruise", "workers", "--json"), &f)
	at := slices.IndexFunc(f.Workers, func(w lease.Seen) bool { return w.ID == workerOf(t, gpu) })
	if len(f.Workers) != 3 || at < 0 || len(f.Waiting) != 0 {
		t.Fatalf("%+v", f)
	}
	w := f.Workers[at]
	if !w.Alive || w.Slots != 1 || w.Load < 0 || !slices.Equal(w.Phases, []string{id}) || w.Beat.IsZero() ||
		!slices.Contains(w.Labels, "gpu") || !slices.Contains(w.Labels, "box:cco-sandbox") ||
		!slices.Contains(w.Labels, "agent:script") || slices.Contains(w.Labels, "agent:claude") || len(w.Accounts) != 1 {
		t.Errorf("%+v", w)
	}
	other.Await(id, "watching", func(s cruisetest.Status) bool { return s.Stage == "watching" })
	var detail api.PhaseDetail
	if !other.Until(func() bool {
		page.Ask("GET", "/phases/"+id, nil, &detail)
		return len(detail.Sessions) > 0 && detail.Sessions[0].State == store.Done
	}) || detail.Worker != w.ID || detail.Sessions[0].Home != w.ID || detail.Sessions[0].Agent != "script" ||
		detail.Sessions[0].Silent || detail.Session != "" {
		t.Errorf("the page says %+v", detail)
	}
	shownWhereItWasStarted(t, user, other, id)
	steer(t, other, id)

	// What was never pushed has travelled, into a clone without files; the record has no path of the starting machine.
	if got := other.CCO("cruise", "status", "--json", id); strings.Contains(got, user.Home) {
		t.Errorf("it names a path of another machine: %s", got)
	}
	clones := must.Get(filepath.Glob(filepath.Join(gpu.Data, "clones", "*")))(t)
	if len(clones) != 1 || len(must.Get(os.ReadDir(clones[0]))(t)) != 1 {
		t.Fatalf("%v", clones)
	}
	gittest.At(t, clones[0]).Git("cat-file", "-e", mine+"^{commit}")
	for _, m := range []*cruisetest.Rig{eve, bare} {
		if found := must.Get(filepath.Glob(filepath.Join(m.Data, "clones", "*")))(t); len(found) != 0 {
			t.Errorf("a machine that has no phase cloned %v", found)
		}
	}
}

// refused tries to have an agent begin that asks a model, on a machine whose day's money was spent elsewhere.
func refused(t *testing.T, m *cruisetest.Rig) {
	t.Helper()
	repo := gittest.Init(t, m.Repo, "-b", "main")
	repo.Git("config", "user.name", "Ada")
	repo.Git("config", "user.email", "ada@example.org")
	repo.Commit("start", "README.md", "demo\n")
	m.Env = append(m.Env, "ANTHROPIC_API_KEY=sk-ant-x")
	if words := m.Fails(4, "box", "push", "-m", "x", "--agent", "claude", "--headless"); !strings.Contains(words,
		"limits.day_cost of $50.00 is reached") {
		t.Errorf("it says %q", words)
	}
}

// passwordFrom has a machine get the database's password from elsewhere; $1 is the file that it is in now, which the
// keyring has instead of it.
func passwordFrom(t *testing.T, m *cruisetest.Rig, source string) {
	t.Helper()
	settings := filepath.Join(m.Home, "config", "cco", "config.toml")
	text := string(must.Get(os.ReadFile(settings))(t))
	from := regexp.MustCompile(`\{file = ("[^"]*")\}`)
	file := from.FindStringSubmatch(text)[1]
	must.Do(t, os.WriteFile(settings, []byte(from.ReplaceAllString(text, source)), 0o600))
	tools := filepath.Join(m.Home, "tools")
	must.Do(t, os.Mkdir(tools, 0o755))
	// The desktop's programs: both get the service and the account as arguments.
	keyring := "#!/bin/sh\ncase \"$*\" in *cco*database*) cat " + file + ";; *) exit 1;; esac\n"
	for _, name := range []string{"secret-tool", "security"} {
		must.Program(t, filepath.Join(tools, name), keyring)
	}
	m.Env = append(m.Env, "PATH="+m.Bin+":"+tools+":"+os.Getenv("PATH"))
}

// steer uses every command on a phase of another machine.
func steer(t *testing.T, r *cruisetest.Rig, id string) {
	t.Helper()
	r.Await(id, "watching", func(s cruisetest.Status) bool { return s.Stage == "watching" })
	if out := r.CCO("cruise", "list"); !strings.Contains(out, id) {
		t.Errorf("list says %q", out)
	}
	if out := r.CCO("cruise", "logs", id); !strings.Contains(out, "goes on with it") {
		t.Errorf("logs says %q", out)
	}
	r.CCO("cruise", "pause", id)
	r.Await(id, "paused", func(s cruisetest.Status) bool { return s.Paused })
	r.CCO("cruise", "resume", id)
	r.Await(id, "not paused", func(s cruisetest.Status) bool { return !s.Paused })
	r.CCO("cruise", "fix", id, "--comment", "say more")
	r.Await(id, "heard", func(s cruisetest.Status) bool {
		return len(s.Findings) == 1 && strings.Contains(s.Findings[0].Text, "say more")
	})
	r.CCO("cruise", "cleanup", id, "--force")
	if s := r.Status(id); !s.Ended || s.End != "cleaned up" {
		t.Errorf("%+v", s)
	}
}

// Guards against machines that each ask the forge for themselves, phases that hear nothing because another machine
// watches, and money of a day that each machine has for itself.
func TestMachinesWatchAndSpendTogether(t *testing.T) {
	t.Parallel()
	user := newRig(t)
	server := pgtest.Start(t)
	address := user.Share(server, "[worker]\nslots = 1\n")
	var machines []*cruisetest.Rig
	for range 2 {
		m := user.Machine(t)
		m.CCO("box", "create")
		machines = append(machines, m)
	}
	local := must.Get(store.Open(t.Context(), filepath.Join(machines[0].Data, "cco.db")))(t)
	must.Get(local.AddSpend(t.Context(), "00000001", store.Account{Day: store.Day(time.Now())},
		map[string]store.Spend{"opus": {Cost: 60}}))(t)
	must.Do(t, local.Close())
	var ids []string
	for i, m := range machines {
		m.Worker()
		ids = append(ids, user.Start(cruisetest.Unsure, "--domains", "Security", "--branch", fmt.Sprint("feat/", i)))
	}
	var prs []int
	for _, id := range ids {
		prs = append(prs, user.Await(id, "watching", func(s cruisetest.Status) bool { return s.Stage == "watching" }).PR)
	}
	other := must.Get(store.Open(t.Context(), filepath.Join(machines[1].Data, "cco.db")))(t)
	defer func() { _ = other.Close() }()
	if !user.Until(func() bool {
		return must.Get(other.SpentOn(t.Context(), store.Day(time.Now())))(t).Cost >= 60
	}) {
		t.Error("a machine does not know what another has spent")
	}
	refused(t, machines[1])
	for _, pr := range prs {
		user.Say(cruisetest.Token, pr, "please say more")
	}
	for _, id := range ids {
		user.Await(id, "heard", func(s cruisetest.Status) bool { return len(s.Findings) == 1 })
	}
	var watchers, asked int
	db := must.Get(sql.Open("pgx", address))(t)
	defer func() { _ = db.Close() }()
	must.Do(t, db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM watchers),
		(SELECT last_value FROM looks_n_seq WHERE is_called)`).Scan(&watchers, &asked))
	if watchers != 1 || asked == 0 {
		t.Errorf("%d machines watch, and were asked %d times", watchers, asked)
	}
}

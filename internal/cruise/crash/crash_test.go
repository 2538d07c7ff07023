//go:build heavy

package crash_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// life is how a phase is disturbed.
type life struct {
	name    string
	every   int // kill at one of so many boundaries of steps; 0 at none
	most    int // kills at boundaries
	seed    int
	random  int  // kills of the engine at random moments
	keepers bool // kills of keepers at random moments too
	trouble bool // the model is overloaded, the disk full and the forge down again and again
}

// lives are as many disturbed phases as are needed for so many kills.
func lives(kills int) []life {
	if kills < 60 {
		return []life{
			{name: "some boundaries", every: 3, most: kills * 2 / 3, seed: 1},
			{name: "random moments", random: kills, seed: 2, keepers: true},
		}
	}
	list := []life{{name: "every boundary", every: 1, most: 1000, seed: 1}}
	for i := range kills / 40 {
		list = append(list,
			life{name: fmt.Sprintf("a third of the boundaries %d", i), every: 3, most: 1000, seed: 10 + i},
			life{name: fmt.Sprintf("random moments %d", i), random: 12, seed: 20 + i, keepers: i%2 == 1})
	}
	return list
}

// Guards against everything that a crash can do: work lost, words said twice, agents that nobody waits for.
func TestAPhaseThatIsKilledAgainAndAgainEndsAsOneThatIsNot(t *testing.T) {
	killed(t, cruisetest.New, 20)
}

// The same on a real Gitea: what is only lost or said twice there, the fake does not show.
func TestAPhaseOnGiteaThatIsKilledAgainAndAgainEndsAsOneThatIsNot(t *testing.T) {
	killed(t, cruisetest.NewOnGitea, 10)
}

// Guards against a turn that is paid or counted twice, and against words that are said twice, because a phase was
// killed while it waited out trouble.
func TestAPhaseInTroubleThatIsKilledAgainAndAgainEndsAsOneThatIsNot(t *testing.T) {
	if !long(t) {
		return // it waits for minutes
	}
	want := kills(t, 100)
	bin := cruisetest.Build(t)
	calm := play(t, cruisetest.New, bin, life{name: "undisturbed", trouble: true})
	t.Logf("undisturbed:\n%s", calm.words)
	if strings.Contains(calm.words, "costs $0.000") {
		t.Errorf("nothing was paid:\n%s", calm.words)
	}
	sum := 0
	for i := 0; sum < want && !t.Failed(); i++ {
		l := life{trouble: true, random: min(25, want-sum), seed: 30 + i, keepers: i%2 == 1}
		if i%2 == 0 {
			l = life{trouble: true, every: 3, most: want - sum, seed: 30 + i}
		}
		more := play(t, cruisetest.New, bin, l)
		t.Logf("%d kills in %v, beside %v", more.kills, more.took.Round(time.Second), calm.took.Round(time.Second))
		if sum += more.kills; more.words != calm.words {
			t.Errorf("it ends differently\n--- killed (seed %d)\n%s\n--- undisturbed\n%s", l.seed, more.words, calm.words)
		}
	}
	t.Logf("%d kills in all", sum)
}

// flapping has the forge be down again and again. It is up for longer: every try takes longer to come than the last.
func flapping(t *testing.T, r *cruisetest.Rig) (stop func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for down, long := range map[bool]time.Duration{true: time.Second, false: 5 * time.Second} {
				r.Down.Store(down)
				select {
				case <-time.After(long):
				case <-quit:
					r.Down.Store(false)
					return
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// place makes a user on a forge.
type place func(t testing.TB, bin string) *cruisetest.Rig

func killed(t *testing.T, on place, want int) {
	t.Helper()
	want = kills(t, want)
	bin := cruisetest.Build(t)
	calm := play(t, on, bin, life{name: "undisturbed"})
	t.Logf("undisturbed:\n%s", calm.words)
	counts := make(chan int, 100)
	t.Run("killed", func(t *testing.T) {
		for _, l := range lives(want) {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				got := play(t, on, bin, l)
				counts <- got.kills
				t.Logf("%d kills in %v, beside %v", got.kills, got.took.Round(time.Second), calm.took.Round(time.Second))
				if got.took > calm.took+time.Minute {
					t.Logf("that is more than a minute longer:\n%s", got.story)
				}
				if got.words != calm.words {
					t.Errorf("it ends differently\n--- killed (seed %d)\n%s\n--- undisturbed\n%s", l.seed, got.words, calm.words)
				}
			})
		}
	})
	close(counts)
	sum := 0
	for n := range counts {
		sum += n
	}
	for i := 0; sum < want && !t.Failed(); i++ { // random moments are as many as time allows
		more := play(t, on, bin, life{every: 3, most: want - sum, seed: 100 + i})
		if sum += more.kills; more.words != calm.words {
			t.Errorf("it ends differently\n--- killed (seed %d)\n%s\n--- undisturbed\n%s", 100+i, more.words, calm.words)
		}
	}
	t.Logf("%d kills in all", sum)
}

// Others push, the target moves, checks fail and the user consents while the engine is killed: nothing of theirs or
// ours is lost, and nothing is taken, joined, pushed, run again, said or merged twice. In the long run the engine is
// killed around all steps, and on a real Gitea too.
func TestTheEngineIsKilledWhile(t *testing.T) {
	bin := cruisetest.Build(t)
	forges := map[string]place{"a fake GitHub": cruisetest.New}
	if long(t) {
		forges["Gitea"] = cruisetest.NewOnGitea
	}
	for name, on := range forges {
		for what, c := range map[string]struct {
			carry func(*testing.T, *cruisetest.Rig)
			steps []string // around which it is killed at least
			jobs  []string // and these, where the forge has jobs
		}{
			"others push": {cruisetest.OtherHands, []string{cruise.StepPushers.Name, cruise.StepTake.Name}, nil},
			"the base moves": {cruisetest.MovingBase, []string{cruise.StepTarget.Name, cruise.StepWorkspace.Name,
				cruise.StepMerge.Name}, nil},
			"checks fail": {cruisetest.Checked, []string{cruise.StepChecks.Name, cruise.StepReady.Name, cruise.StepPublish.Name,
				cruise.StepPush.Name, cruise.StepAnswer.Name, cruise.StepMerge.Name},
				[]string{cruise.StepAttempt.Name, cruise.StepRerun.Name, cruise.StepLog.Name}},
		} {
			t.Run(what+" on "+name, func(t *testing.T) {
				t.Parallel()
				r := on(t, bin)
				steps := c.steps
				if r.Gitea == nil {
					steps = append(steps, c.jobs...)
				}
				whileKilled(t, r, c.carry, steps)
			})
		}
	}
}

// kills is how often phases are killed at least, if make says so.
func kills(t *testing.T, otherwise int) int {
	t.Helper()
	if s := os.Getenv("CRASH_KILLS"); s != "" {
		return must.Get(strconv.Atoi(s))(t)
	}
	return otherwise
}

// long says that there is time for all of it.
func long(t *testing.T) bool { return kills(t, 0) >= 60 }

// whileKilled carries a phase whose engine is killed before and after every run of the steps named, or of all.
func whileKilled(t *testing.T, r *cruisetest.Rig, carry func(*testing.T, *cruisetest.Rig), steps []string) {
	t.Helper()
	log, only := filepath.Join(r.Home, "kills.log"), strings.Join(steps, ",")
	if long(t) {
		only = ""
	}
	r.Env = append(r.Env, "CRASH_LOG="+log, "CRASH_EVERY=1", "CRASH_ONLY="+only, "CRASH_MAX=1000")
	if os.Getenv("CRASH_DATABASE") != "" { // every life begins its stage again, so that its steps are given other times
		r.Env = append(r.Env, "CRASH_EACH=1")
	}
	stop := supervise(t, r, soon)
	carry(t, r)
	stop()
	data := must.Get(os.ReadFile(log))(t)
	for _, step := range steps {
		for _, when := range []string{"before ", "after "} {
			if !strings.Contains(string(data), when+step+" ") {
				t.Errorf("it was never killed %s%q", when, step)
			}
		}
	}
	t.Logf("%d kills", strings.Count(string(data), "\n"))
}

// Guards against a clock that begins anew at every start: a laptop that is shut every evening would never look.
func TestTheClockAndTheBackoffGoOnAfterAKill(t *testing.T) {
	r := cruisetest.New(t, cruisetest.Build(t))
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	var was, is cruisetest.Status
	for tries := 0; ; tries++ {
		was = r.Await(id, "waiting for the second time", func(s cruisetest.Status) bool {
			return s.Stage == "watching" && s.Backoff >= 10 && time.Until(s.NextPoll) > 3*time.Second
		})
		if !r.KillEngine() {
			t.Fatal("no engine ran")
		}
		r.CCO("cruise", "resume", "--all")
		if is = r.Status(id); time.Now().Before(was.NextPoll) {
			break
		}
		// The machine was too slow for this wait. The next ones are longer.
		if tries == 3 {
			t.Fatalf("it takes more than %d s to begin again", was.Backoff)
		}
	}
	if is.Backoff != was.Backoff || !is.NextPoll.Equal(was.NextPoll) {
		t.Errorf("after the kill: backoff %d, next look %v; before: %d, %v", is.Backoff, is.NextPoll, was.Backoff,
			was.NextPoll)
	}
	next := r.Await(id, "looking again", func(s cruisetest.Status) bool { return !s.NextPoll.Equal(was.NextPoll) })
	if next.Backoff != 2*was.Backoff || time.Now().Before(was.NextPoll) ||
		next.NextPoll.Sub(was.NextPoll) > time.Duration(next.Backoff)*time.Second+2*time.Minute {
		t.Errorf("it looked at another time: %+v, want %v", next, was.NextPoll)
	}
}

// outcome is how a phase ended, in words that are the same for every run.
type outcome struct {
	words string
	kills int
	took  time.Duration
	story string
}

const injected, commented = "mention the manual", "name the owner of T1"

// patient is a task whose reviewers wait until a person has commented: half a second later, the comment would be for
// another round.
var patient = strings.Replace(cruisetest.Picky, "reviewer)",
	"reviewer)\n\tuntil test -e .git/said; do sleep 0.1; done", 1)

// play runs a whole phase under kills: planned, commented on by a person on the forge and by the user without it,
// reviewed, fixed, reviewed again, merged and cleaned up.
func play(t *testing.T, on place, bin string, l life) outcome {
	start := time.Now()
	r := on(t, bin)
	log := filepath.Join(r.Home, "kills.log")
	r.Env = append(r.Env, "CRASH_LOG="+log, "CRASH_EVERY="+strconv.Itoa(l.every), "CRASH_SEED="+strconv.Itoa(l.seed),
		"CRASH_MAX="+strconv.Itoa(l.most))
	if l.trouble {
		r.Env = append(r.Env, "CRASH_TROUBLE="+t.TempDir())
	}
	r.CCO("box", "create")
	if r.Gitea == nil {
		r.Fake.SetRunner("ada", "demo", []string{flake}, func(_ context.Context, dir, sha, _ string, n int) (bool, string) {
			planned := gittest.At(t, dir).Git("ls-tree", sha, "docs/plans/") != ""
			return n > 1 || !planned, "error: connection reset"
		})
	}
	before := r.Checkout()
	stop := supervise(t, r, soon)
	id := r.Start(patient, "--domains", "Security,GeneralPolish", "--ready", "--merge")
	r.CCO("cruise", "fix", id, "--comment", injected)
	steady := func() {}
	if l.trouble {
		steady = flapping(t, r)
	}
	random := &disturber{Rig: r, life: l, rng: rand.New(rand.NewPCG(uint64(l.seed),
		0))} // the same each time is what is wanted
	said, settled := false, false
	r.Await(id, "over", func(s cruisetest.Status) bool {
		if !said && s.PR != 0 && s.Path != "" {
			said = true
			r.Say(cruisetest.Token, s.PR, commented)
			must.Do(t, os.WriteFile(filepath.Join(r.Workspace(s), ".git", "said"), nil, 0o644)) // reviewers read it
		}
		// What a person asked for is settled by a person, who was told: before that, it would depend on a kill whether
		// there is anything to tell.
		if !settled && s.Stage == "merging" && slices.ContainsFunc(r.Said(s.PR), func(said string) bool {
			return strings.Contains(said, "whose request for changes stands")
		}) {
			settled = true
			r.Say(cruisetest.Token, s.PR, "[REVIEW COMPLETE]")
		}
		random.maybe()
		return s.Over()
	})
	steady()
	stop()
	if after := r.Checkout(); !maps.Equal(before, after) {
		t.Errorf("the user's checkout was touched:\n%v\n%v", before, after)
	}
	ranAgainOnce(t, r)
	data, _ := os.ReadFile(log)
	o := outcome{kills: strings.Count(string(data), "\n") + random.kills, took: time.Since(start)}
	o.words = describe(t, r, r.Status(id))
	if o.story = r.Story(id); t.Failed() {
		t.Log(o.story)
	}
	return o
}

// flake is a job that fails at its first attempt.
const flake = "flake"

// ranAgainOnce checks that no job was run again twice, and that the one of the last commit was.
func ranAgainOnce(t *testing.T, r *cruisetest.Rig) {
	t.Helper()
	if r.Gitea != nil {
		return
	}
	again := 0
	for _, sha := range strings.Fields(gittest.At(t, r.ForgeDir()).Git("log", "--all", "--format=%H")) {
		switch n := r.Fake.Attempts("ada", "demo", sha, flake); {
		case n > 2:
			t.Errorf("the job of %s ran %d times", sha, n)
		case n == 2:
			again++
		}
	}
	if again == 0 {
		t.Error("no job was run again")
	}
}

// soon is when an engine is started again: another one may run that a command has started.
const soon = 20 * time.Millisecond

// supervise starts the engine whenever none runs, as a service manager would.
func supervise(t *testing.T, r *cruisetest.Rig, pause time.Duration) (stop func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	log := must.Get(os.OpenFile(filepath.Join(r.Home, "serve.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(t)
	go func() {
		defer close(done)
		for {
			p, err := proc.Start(t.Context(), proc.Cmd{
				Argv: []string{filepath.Join(r.Bin, "cco-cruise"), "cruise", "serve"}, Dir: r.Home, Env: r.Env, Stdout: log,
				Stderr: log, TiedToUs: true,
			})
			if err != nil {
				return
			}
			select {
			case <-p.Done():
			case <-quit:
				_ = p.Signal(syscall.SIGKILL)
				<-p.Done()
				return
			}
			select {
			case <-quit:
				return
			case <-time.After(pause):
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		_ = log.Close()
	}
}

// disturber kills at random moments.
type disturber struct {
	*cruisetest.Rig
	life  life
	rng   *rand.Rand
	next  time.Time
	kills int
}

func (d *disturber) maybe() {
	if d.kills >= d.life.random || time.Now().Before(d.next) {
		return
	}
	d.next = time.Now().Add(time.Duration(50+d.rng.IntN(700)) * time.Millisecond)
	if d.kill() {
		d.kills++
	}
}

// kill kills the engine, or a keeper.
func (d *disturber) kill() bool {
	if d.life.keepers && d.rng.IntN(4) == 0 {
		for pid, what := range d.Left() {
			if strings.HasPrefix(what, "keeper ") && syscall.Kill(pid, syscall.SIGKILL) == nil {
				return true
			}
		}
	}
	return d.KillEngine()
}

var (
	marker  = regexp.MustCompile(`<!-- cco:[0-9a-f]{32}\.[0-9a-f]{64} -->`)
	attempt = regexp.MustCompile(`(?m), turn \d+\)$`) // a fixer that was killed with its keeper is begun again
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	hexID   = regexp.MustCompile(`\b[0-9a-f]{10}\b|\b[0-9a-f]{12}\b|\b[0-9a-f]{40}\b`)
)

// describe says how all stands, without what is different in each run.
func describe(t *testing.T, r *cruisetest.Rig, s cruisetest.Status) string {
	t.Helper()
	g := gittest.At(t, r.ForgeDir())
	names := map[string]string{}
	for i, c := range strings.Fields(g.Git("log", "--all", "--topo-order", "--reverse", "--format=%H")) {
		names[c], names[c[:10]] = fmt.Sprintf("COMMIT%d", i), fmt.Sprintf("COMMIT%d", i)
	}
	for _, f := range s.Findings {
		names[f.ID] = "FINDING(" + f.Text + ")"
	}
	clean := func(text string) string {
		text = address.ReplaceAllString(marker.ReplaceAllString(text, ""), "URL")
		text = attempt.ReplaceAllString(text, ", turn N)")
		return strings.TrimSpace(hexID.ReplaceAllStringFunc(text, func(id string) string {
			if name, ok := names[id]; ok {
				return name
			}
			return "UNKNOWN " + id
		}))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %q, %d rounds, trouble %q, question %q, %d pull requests, costs $%.3f\n", s.Stage, s.End,
		s.Rounds, s.Trouble, s.Question, r.Pulls(), s.Cost)
	fmt.Fprintf(&b, "refs: %s\n", strings.ReplaceAll(g.Git("for-each-ref", "--format=%(refname)"), "\n", " "))
	lines := func(title string, list []string) {
		slices.Sort(list)
		fmt.Fprintf(&b, "-- %s\n%s\n", title, strings.Join(list, "\n.\n"))
	}
	var findings []string
	for _, f := range s.Findings {
		findings = append(findings, f.Domain+" "+f.Text+": "+f.State)
	}
	lines("findings", findings)
	var commits []string
	for _, c := range strings.Split(g.Git("log", "main", "--topo-order", "--format=%T%n%B%x00"), "\x00") {
		commits = append(commits, sortLines(clean(c)))
	}
	fmt.Fprintf(&b, "-- commits\n%s\n", strings.Join(commits, "\n.\n"))
	var said []string
	for _, v := range r.Said(s.PR) {
		said = append(said, clean(v))
	}
	lines("said", said)
	if !r.Until(func() bool { return len(r.Left()) == 0 }) { // a keeper lives for a moment after its session
		fmt.Fprintf(&b, "processes left: %v\n", r.Left())
	}
	for _, broken := range r.Fake.Broken() {
		fmt.Fprintf(&b, "the forge's rules were broken: %s\n", broken)
	}
	return b.String()
}

// sortLines puts the trailers of a commit in order: findings come in the order in which they were heard of.
func sortLines(text string) string {
	list := strings.Split(text, "\n")
	slices.Sort(list)
	return strings.Join(list, "\n")
}

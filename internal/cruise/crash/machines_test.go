//go:build heavy

package crash_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/cruise/temporaltest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// heartbeat is how long the machines of tests may be silent before others go on with their phases.
const heartbeat = "4s"

// crew is a user with machines that share phases.
type crew struct {
	user     *cruisetest.Rig
	server   *temporaltest.Server
	machines []*cruisetest.Rig
	workers  []*proc.Process
	patience time.Duration // for a phase; 0 is the usual one
	held     string        // a file that is there while a machine is held at a boundary of a step
}

// newCrew makes machines.
func newCrew(t *testing.T, on place, bin string, machines int) *crew {
	t.Helper()
	f := &crew{user: on(t, bin), server: temporaltest.Start(t)}
	f.user.ShareBy(f.server.Address, heartbeat)
	return f.join(t, machines)
}

// join makes further machines, with the settings that the user has now.
func (f *crew) join(t *testing.T, machines int) *crew {
	t.Helper()
	for range machines {
		m := f.user.Machine(t)
		m.CCO("box", "create")
		f.machines = append(f.machines, m)
		f.workers = append(f.workers, nil)
	}
	return f
}

// start starts a worker on every machine.
func (f *crew) start() *crew {
	for i, m := range f.machines {
		f.workers[i] = m.Worker()
	}
	return f
}

// newest is what the machines know best of a phase. It reads their records in this process: a command for every look
// would take longer than some stages.
func (f *crew) newest(t *testing.T, id string) (st cruise.State) {
	t.Helper()
	for _, m := range f.machines {
		db := must.Get(store.Open(t.Context(), filepath.Join(m.Data, "cco.db")))(t)
		p, err := db.Phase(t.Context(), id)
		must.Do(t, db.Close())
		var known cruise.State
		if err != nil || json.Unmarshal(p.State, &known) != nil || known.Home == "" {
			continue
		}
		own := known.Home == workerID(t, m) // of what others have, it knows a little, and late
		if known.Life.Number > st.Life.Number || known.Life.Number == st.Life.Number && own {
			st = known
		}
	}
	return st
}

// home is the machine that has a phase.
func (f *crew) home(t *testing.T, id string) (at int) {
	t.Helper()
	if !f.user.Until(func() bool {
		name := f.newest(t, id).Home
		for i, m := range f.machines {
			if name != "" && name == workerID(t, m) {
				at = i
				return true
			}
		}
		return false
	}) {
		t.Fatal("no machine has it")
	}
	return at
}

// holdAt has the first machine that comes to a boundary of a step wait there, until it is released.
func (f *crew) holdAt(boundary string) *crew {
	f.held = filepath.Join(f.user.Home, "held")
	for _, m := range f.machines {
		m.Env = append(m.Env, "CRASH_LOG="+filepath.Join(f.user.Home, "kills.log"), "CRASH_HOLD="+f.held,
			"CRASH_AT="+boundary)
	}
	return f
}

func (f *crew) release(t *testing.T) {
	t.Helper()
	must.Do(t, os.WriteFile(f.held+".go", nil, 0o600))
}

// carry carries a phase to its end, and lets something happen when it is at a stage for the first time, or held.
func (f *crew) carry(t *testing.T, stage string, happens func(id string)) string {
	t.Helper()
	done := stage == "" && f.held == ""
	got := f.through(t, func(id, now string) {
		if _, err := os.Stat(f.held); !done && (stage != "" && now == stage || err == nil) {
			done = true
			happens(id)
		}
	})
	if !done {
		t.Errorf("it was never %s", cmp.Or(stage, "held"))
	}
	return got
}

// carryWhile carries a phase to its end, while something happens again and again.
func (f *crew) carryWhile(t *testing.T, happens func()) string {
	t.Helper()
	return f.through(t, func(string, string) { happens() })
}

// through carries a phase to its end.
func (f *crew) through(t *testing.T, look func(id, stage string)) string {
	t.Helper()
	r := f.user
	id := r.Start(cruisetest.Picky, "--domains", "Security", "--ready", "--merge")
	for end := time.Now().Add(cmp.Or(f.patience, 10*time.Minute)); time.Now().Before(end); {
		st := f.newest(t, id)
		if strings.HasPrefix(st.Ask.Question, "three machines in a row") {
			// It was killed so often that three lives in a row saved nothing, and asks whether to go on.
			r.CCO("cruise", "resume", id)
			r.Until(func() bool { return f.newest(t, id).Stage != cruise.StageAsk })
			continue
		}
		stage := string(st.Stage)
		look(id, stage)
		if stage == string(cruise.StageEnded) || stage == string(cruise.StageAsk) {
			break
		}
		time.Sleep(20 * time.Millisecond) // only the pace of asking
	}
	s := r.Await(id, "over", cruisetest.Status.Over)
	if t.Failed() {
		t.Log(r.Story(id))
		for _, m := range f.machines {
			t.Log(m.WorkerLog())
		}
	}
	return describe(t, r, s)
}

// Guards against a phase that is lost with its machine, or that does things twice on the next one.
func TestAPhaseGoesOnElsewhereAsOneThatWasLeftAlone(t *testing.T) {
	bin := cruisetest.Build(t)
	forges := map[string]place{"": cruisetest.New}
	if os.Getenv("SOAK") != "" {
		forges[" on Gitea"] = cruisetest.NewOnGitea
	}
	for where, on := range forges {
		calm := newCrew(t, on, bin, 1).start().carry(t, "", nil)
		t.Log(calm)
		for name, d := range disturbances() {
			if d.long && os.Getenv("SOAK") == "" {
				continue
			}
			t.Run(name+where, func(t *testing.T) {
				t.Parallel()
				f := newCrew(t, on, bin, 2)
				if d.at != "" {
					f.holdAt(d.at)
				}
				f.start()
				f.patience = gone(t) + 10*time.Minute
				var at time.Time
				got := f.carry(t, d.stage, func(id string) { at = time.Now(); d.happens(t, f, id) })
				t.Logf("over %v after it", time.Since(at).Round(time.Second))
				if got != calm {
					t.Errorf("it ends differently\n--- disturbed\n%s\n--- left alone\n%s", got, calm)
				}
			})
		}
	}
}

// disturbance is what happens to the machine that has a phase.
type disturbance struct {
	stage   string
	at      string // the boundary of a step, instead of a stage
	long    bool   // only where there is time
	happens func(t *testing.T, f *crew, id string)
}

func disturbances() map[string]disturbance {
	answering := "before " + cruise.StepAnswer.Name // the stage is too short to be seen for certain
	all := map[string]disturbance{
		"it is stopped and continued": {stage: "reviewing", happens: stopped},
		"the service is restarted":    {at: answering, happens: restarted},
		"the service is away":         {stage: "working", long: true, happens: away},
		"all machines are killed":     {stage: "fixing", long: true, happens: allKilled},
	}
	killed := func(t *testing.T, f *crew, id string) {
		t.Helper()
		i := f.home(t, id)
		must.Do(t, f.workers[i].Signal(syscall.SIGKILL))
		start := time.Now()
		f.takenOver(t, id, i)
		beat := must.Get(time.ParseDuration(heartbeat))(t)
		t.Logf("another has it %v after the heartbeat's time", (time.Since(start) - beat).Round(time.Millisecond))
	}
	for stage, long := range map[string]bool{"working": false, "reviewing": true, "naming": true, "fixing": true,
		"checking": true} {
		all["killed while "+stage] = disturbance{stage: stage, long: long, happens: killed}
	}
	all["killed while answering"] = disturbance{at: answering, happens: killed}
	for _, at := range boundaries() {
		all["stopped "+at] = disturbance{at: at, long: true, happens: stopped}
	}
	return all
}

// boundaries are those around each step that has an effect somewhere else.
func boundaries() (all []string) {
	for _, step := range []string{cruise.StepWork.Name, cruise.StepPublish.Name, cruise.StepPush.Name,
		cruise.StepPullRequest.Name,
		cruise.StepPostReview.Name, cruise.StepAnswer.Name, cruise.StepReady.Name, cruise.StepMerge.Name} {
		all = append(all, "before "+step, "after "+step)
	}
	return all
}

// stopped stops a machine for longer than its heartbeat: it must not go on as if nothing had happened.
func stopped(t *testing.T, f *crew, id string) {
	t.Helper()
	i := f.home(t, id)
	must.Do(t, f.workers[i].Signal(syscall.SIGSTOP))
	f.takenOver(t, id, i)
	if f.held != "" {
		f.release(t) // it goes on with the very step
	}
	must.Do(t, f.workers[i].Signal(syscall.SIGCONT))
}

// takenOver waits until another machine has a phase.
func (f *crew) takenOver(t *testing.T, id string, from int) {
	t.Helper()
	if !f.user.Until(func() bool { return f.home(t, id) != from }) {
		t.Fatal("nobody took it over")
	}
}

func restarted(t *testing.T, f *crew, _ string) {
	t.Helper()
	must.Do(t, f.server.Stop())
	must.Do(t, f.server.Again(t.Context()))
	f.release(t)
}

// away has the service be away for long. Whoever goes on with the phase then, nothing is done twice.
func away(t *testing.T, f *crew, id string) {
	t.Helper()
	must.Do(t, f.server.Stop())
	time.Sleep(gone(t)) // that long
	must.Do(t, f.server.Again(t.Context()))
	f.user.Await(id, "known again", func(cruisetest.Status) bool { return true })
}

// gone is how long the service is away.
func gone(t *testing.T) time.Duration {
	t.Helper()
	if s := os.Getenv("SOAK_AWAY"); s != "" {
		return must.Get(time.ParseDuration(s))(t)
	}
	return 40 * time.Second
}

// allKilled kills all machines, which then come back with what they lost and what they have.
func allKilled(t *testing.T, f *crew, id string) {
	t.Helper()
	i := f.home(t, id)
	must.Do(t, f.workers[i].Signal(syscall.SIGKILL))
	f.takenOver(t, id, i)
	must.Do(t, f.workers[1-i].Signal(syscall.SIGKILL))
	f.start()
}

func workerID(t *testing.T, m *cruisetest.Rig) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(m.Data, "worker.id")))(t)))
}

// Guards against everything that the death of machines can do, at every boundary of a step and at random moments: each
// machine stays away for longer than its heartbeat, so that another takes over, and then comes back.
func TestMachinesThatDieAgainAndAgain(t *testing.T) {
	t.Parallel()
	bin := cruisetest.Build(t)
	if os.Getenv("SOAK") == "" {
		calm := newCrew(t, cruisetest.New, bin, 1).start().carry(t, "", nil)
		dying(t, cruisetest.New, bin, calm, life{every: 9, most: 3, seed: 3})
		return
	}
	for where, on := range map[string]place{"": cruisetest.New, " on Gitea": cruisetest.NewOnGitea} {
		calm := newCrew(t, on, bin, 1).start().carry(t, "", nil)
		t.Run("every boundary"+where, func(t *testing.T) {
			t.Parallel()
			dying(t, on, bin, calm, life{every: 1, most: 1000, seed: 1})
		})
		for i := range 4 {
			t.Run(fmt.Sprintf("random moments %d%s", i, where), func(t *testing.T) {
				t.Parallel()
				kills := 0
				for n := 0; kills < 25 && !t.Failed(); n++ {
					kills += dying(t, on, bin, calm, life{random: 25 - kills, seed: 100*i + n, keepers: i%2 == 1})
				}
			})
		}
	}
}

// dying carries a phase on machines that die, and gives how often they did.
func dying(t *testing.T, on place, bin, calm string, l life) (kills int) {
	t.Helper()
	f := newCrew(t, on, bin, 3)
	log := filepath.Join(f.user.Home, "kills.log")
	var stops []func()
	for _, m := range f.machines {
		m.Env = append(m.Env, "CRASH_LOG="+log, "CRASH_EVERY="+strconv.Itoa(l.every), "CRASH_SEED="+strconv.Itoa(l.seed),
			"CRASH_MAX="+strconv.Itoa(l.most), "CRASH_EACH=2")
		stops = append(stops, supervise(t, m, absence))
	}
	rng := rand.New(rand.NewPCG(uint64(l.seed), 0)) // the same each time is what is wanted
	next := time.Now()
	f.patience = time.Hour
	got := f.carryWhile(t, func() {
		if kills >= l.random || time.Now().Before(next) {
			return
		}
		next = time.Now().Add(time.Duration(500+rng.IntN(4000)) * time.Millisecond)
		if (&disturber{Rig: f.machines[rng.IntN(len(f.machines))], life: l, rng: rng}).kill() {
			kills++
		}
	})
	for _, m := range f.machines { // what they lost has ended too
		if !f.user.Until(func() bool { return len(m.Left()) == 0 }) {
			t.Errorf("still running: %v", m.Left())
		}
	}
	for _, stop := range stops {
		stop()
	}
	data, _ := os.ReadFile(log)
	kills += strings.Count(string(data), "\n")
	t.Logf("%d kills", kills)
	if got != calm {
		t.Errorf("it ends differently\n--- killed (seed %d)\n%s\n--- left alone\n%s\n%s", l.seed, got, calm, data)
	}
	return kills
}

// absence is how long a machine that died stays away: longer than its heartbeat.
const absence = 7 * time.Second

// Guards against a push of somebody else's that a machine takes for one of its phase, because it came while no machine
// had the phase; and against work of theirs that is lost with a machine.
func TestOthersActWhileMachinesDie(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		return // it takes minutes
	}
	bin := cruisetest.Build(t)
	for name, c := range map[string]struct {
		carry func(*testing.T, *cruisetest.Rig)
		steps []string // around which machines die
	}{
		"others push": {cruisetest.OtherHands, []string{cruise.StepPushers.Name, cruise.StepTake.Name,
			cruise.StepPush.Name}},
		"the base moves": {cruisetest.MovingBase, []string{cruise.StepTarget.Name, cruise.StepWorkspace.Name,
			cruise.StepMerge.Name}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCrew(t, cruisetest.New, bin, 3)
			log := filepath.Join(f.user.Home, "kills.log")
			for _, m := range f.machines {
				m.Env = append(m.Env, "CRASH_LOG="+log, "CRASH_EVERY=1", "CRASH_EACH=1", "CRASH_MAX=1000",
					"CRASH_ONLY="+strings.Join(c.steps, ","))
				defer supervise(t, m, absence)()
			}
			c.carry(t, f.user)
			data := must.Get(os.ReadFile(log))(t)
			for _, step := range c.steps {
				for _, when := range []string{"before ", "after "} {
					if !strings.Contains(string(data), when+step+" ") {
						t.Errorf("no machine died %s%q", when, step)
					}
				}
			}
		})
	}
}

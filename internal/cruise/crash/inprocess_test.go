//go:build heavy

package crash_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/engine"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/cruise/temporaltest"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// circle is a real service with machines of this process, whose phases wait for news that never come: what is seen of
// them is what the service, the workflow and the engine do.
type circle struct {
	*testing.T
	server *temporaltest.Server
	raw    client.Client // of somebody who can write to the service, and has no key
	key    forge.Key
	user   *fleet.Client
	need   fleet.Ability

	mu   sync.Mutex
	said []string
	all  []*station
}

// station is one machine.
type station struct {
	*circle
	cruise.Steps
	host  *fleet.Host
	drain chan struct{}
	stop  context.CancelFunc
	over  chan error
	unfit string // why it declines phases, if it does

	mu   sync.Mutex
	rows map[string]cruise.State
	log  []string
}

func newCircle(t *testing.T, heartbeat time.Duration) *circle {
	t.Helper()
	c := &circle{T: t, server: temporaltest.Start(t), key: forge.NewKey(),
		need: fleet.Ability{Host: "forge.example", Login: "ada"}}
	c.user = c.client(c.key, heartbeat)
	c.raw = must.Get(client.Dial(client.Options{HostPort: c.server.Address, Logger: quiet{}}))(t)
	t.Cleanup(c.raw.Close)
	return c
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

func (c *circle) client(key forge.Key, heartbeat time.Duration) *fleet.Client {
	c.Helper()
	seals := must.Get(fleet.NewKey(key))(c)
	cl := must.Get(fleet.Dial(fleet.Options{Address: c.server.Address, Namespace: "default", Heartbeat: heartbeat},
		seals))(c)
	c.Cleanup(cl.Close)
	return cl
}

// station starts a machine that has so many slots.
func (c *circle) station(name string, slots int) *station {
	c.Helper()
	s := &station{circle: c, drain: make(chan struct{}), over: make(chan error, 1), rows: map[string]cruise.State{}}
	s.host = &fleet.Host{Client: c.client(c.key, c.user.Heartbeat), Name: name, Machine: "machine of " + name,
		Slots: slots, Boot: fleet.Boot, Settle: s.settle, Trouble: func(error) {}, Log: s.note,
		Keep:    func(context.Context, string, cruise.Event) error { return nil },
		Abandon: func(context.Context, string) error { return nil }}
	e := &engine.Engine{Steps: &fleet.Fenced{Steps: s}, Now: time.Now, Full: fleet.Full, Log: s.note,
		Report: func(format string, args ...any) { s.note("", fmt.Sprintf(format, args...)) },
		Saved: func(_ context.Context, phase string) (cruise.State, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.rows[phase], nil
		}}
	s.host.Engine = e
	ready := make(chan struct{})
	s.host.Ready = func() { close(ready) }
	s.host.Abilities = func(context.Context) ([]fleet.Ability, error) { return []fleet.Ability{c.need}, nil }
	ctx, stop := context.WithCancel(c.Context())
	s.stop = stop
	go func() { s.over <- errors.Join(s.host.Run(ctx, s.drain), e.Close()) }()
	<-ready
	c.all = append(c.all, s)
	c.Cleanup(func() {
		stop()
		if err := <-s.over; err != nil {
			c.Errorf("worker %s: %v", name, err)
		}
	})
	return s
}

func (s *station) note(phase, words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, phase+" "+words)
}

func (s *station) settle(_ context.Context, _ string, st cruise.State) (cruise.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unfit != "" {
		return st, &fleet.UnfitError{Why: s.unfit}
	}
	st.Home = s.host.Name
	return st, nil
}

func (s *station) Look(_ context.Context, in cruise.LookIn) (cruise.News, error) {
	return cruise.News{Mark: in.Mark, State: forge.Open}, nil
}

func (s *station) Close(context.Context, cruise.CloseIn) error { return nil }

// Say looks first, as all that speaks does.
func (s *station) Say(_ context.Context, in cruise.SayIn) error {
	s.circle.mu.Lock()
	defer s.circle.mu.Unlock()
	if words := in.Phase + " " + in.Key; !slices.Contains(s.said, words) {
		s.said = append(s.said, words)
	}
	return nil
}

func (s *station) Save(_ context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[in.Phase] = in.State
	return cruise.Saved{}, nil
}

// row is what the machine saved last of a phase.
func (s *station) row(phase string) cruise.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[phase]
}

// begin has a phase wait for a machine, and then for news.
func (c *circle) begin() (phase string) {
	c.Helper()
	id := make([]byte, 4)
	_, _ = rand.Read(id) // documented never to fail
	phase = hex.EncodeToString(id)
	st := cruise.NewState(cruise.Spec{Task: "wait", Kind: cruise.Planning, Timeout: 24 * time.Hour,
		Remote: "https://forge.example/ada/demo.git", Domains: []string{"Security"}})
	st.Stage, st.Started, st.LastActivity = cruise.StageWatch, time.Now().UTC(), time.Now().UTC()
	st.PR = &cruise.PullRequest{Number: 7}
	must.Do(c, c.user.Start(c.Context(), phase, st, c.need))
	return phase
}

// until waits for what comes about soon. Only a failure waits long.
func (c *circle) until(what string, ok func() bool) {
	c.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond) // only the pace of asking
	}
	for _, s := range c.all {
		s.mu.Lock()
		c.Logf("%s: %q", s.host.Name, s.log)
		s.mu.Unlock()
	}
	c.Fatalf("never: %s", what)
}

// at is the machine that has saved a phase in its present life, nil if none has.
func (c *circle) at(phase string) *station {
	for _, s := range c.all {
		if slices.Contains(s.host.Phases(), phase) && s.row(phase).Home == s.host.Name {
			return s
		}
	}
	return nil
}

func (c *circle) send(phase, id, kind string) {
	c.Helper()
	ev := cruise.Event{ID: id, Kind: kind, At: time.Now().UTC()} // a busy service is asked again
	c.until("event "+id+" is sent", func() bool { return c.user.Send(c.Context(), phase, ev) == nil })
}

// Guards against one machine that takes nearly all phases.
func TestThirtyPhasesAreSharedByFourMachines(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 10*time.Second)
	for i := range 4 {
		c.station(fmt.Sprintf("m%d", i), 100)
	}
	start := time.Now()
	for range 30 {
		c.begin()
	}
	var counts []int
	c.until("all have a machine", func() bool {
		counts = nil
		sum := 0
		for _, s := range c.all {
			n := len(s.host.Phases())
			counts, sum = append(counts, n), sum+n
		}
		return sum == 30
	})
	t.Logf("%v after %v", counts, time.Since(start).Round(time.Millisecond))
	if slices.Max(counts) > 2*slices.Min(counts) {
		t.Errorf("they are shared as %v", counts)
	}
}

// Guards against a history without end, and against what is sent, or a home that is forgotten, while it is begun anew.
func TestAHistoryIsBegunAnewAndNothingIsLost(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		return // it sends hundreds of events
	}
	t.Parallel()
	c := newCircle(t, 10*time.Second)
	first, second := c.station("one", 100), c.station("two", 100)
	phase := c.begin()
	c.until("it has a machine", func() bool { return c.at(phase) != nil })
	home := c.at(phase)
	run := func() (id string) {
		c.until("the service says which run it is in", func() bool { // a busy one is asked again
			d, err := c.raw.DescribeWorkflowExecution(t.Context(), fleet.WorkflowID(phase), "")
			id = d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
			return err == nil
		})
		return id
	}
	was := run()
	const most = 2000
	n := 0
	for ; n < most && run() == was; n++ {
		kind := cruise.EventPause
		if n%2 == 1 {
			kind = cruise.EventResume
		}
		c.send(phase, fmt.Sprintf("%08x", n), kind)
	}
	if n == most {
		t.Fatal("its history is never begun anew")
	}
	last := "ffffffff"
	c.send(phase, last, cruise.EventPause)
	c.until("it has read everything", func() bool {
		at := c.at(phase)
		return at != nil && slices.Contains(at.row(phase).Inbox.Events, last) && at.row(phase).Paused
	})
	st := c.at(phase).row(phase)
	t.Logf("begun anew after %d events, in life %d", n, st.Life.Number)
	for i := max(0, n-20); i < n; i++ { // the state keeps the last ones
		if !slices.Contains(st.Inbox.Events, fmt.Sprintf("%08x", i)) {
			t.Errorf("event %d is lost", i)
		}
	}
	if c.at(phase) != home || st.Life.Number < 2 {
		t.Errorf("it was at home with %s, and is with %s in life %d: %q, %q", home.host.Name, c.at(phase).host.Name,
			st.Life.Number, first.log, second.log)
	}
	seen, known, err := c.user.Look(t.Context(), phase)
	if err != nil || !known || !seen.Running || !seen.State.Paused || seen.Waits {
		t.Errorf("what is seen of it: %+v, %v, %v", seen, known, err)
	}
}

// Guards against a phase that stays where its machine lacks what it needs, and against reasons that nobody is told.
func TestAMachineThatLacksSomethingDeclines(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 10*time.Second)
	phase := c.begin()
	seen := func(ok func(fleet.Seen) bool) func() bool {
		return func() bool {
			s, known, err := c.user.Look(t.Context(), phase)
			return err == nil && known && ok(s)
		}
	}
	c.until("it says that it waits, before any machine is there", seen(func(s fleet.Seen) bool { return s.Waits }))
	poor := c.station("poor", 100)
	poor.mu.Lock()
	poor.unfit = "box b is not there"
	poor.mu.Unlock()
	want := "worker poor: box b is not there"
	c.until("it says why", seen(func(s fleet.Seen) bool { return s.Waits && s.Why == want }))
	poor.mu.Lock()
	poor.unfit = ""
	poor.mu.Unlock()
	c.until("it is offered again", func() bool { return c.at(phase) == poor })
	c.until("it waits no more", seen(func(s fleet.Seen) bool { return !s.Waits && s.Why == "" }))
}

// Guards against a worker that ends because its service is away when it starts.
func TestAMachineThatIsThereBeforeItsServiceWaits(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 10*time.Second)
	must.Do(t, c.server.Stop())
	back := make(chan error, 1)
	go func() { back <- c.server.Again(t.Context()) }()
	one := c.station("one", 100) // which asks at once, long before that
	must.Do(t, <-back)
	phase := c.begin()
	c.until("it has a machine", func() bool { return c.at(phase) == one })
}

// Guards against a worker that is asked to end and takes its phases with it, or takes new ones.
func TestAMachineGivesItsPhasesBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*station){
		"as it is stopped": func(s *station) { s.stop() },
		"as it is drained": func(s *station) { close(s.drain) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCircle(t, time.Minute)
			one := c.station("one", 100)
			var all []string
			for range 5 {
				all = append(all, c.begin())
			}
			on := func(s *station) func() bool {
				return func() bool {
					return !slices.ContainsFunc(all, func(phase string) bool { return c.at(phase) != s })
				}
			}
			c.until("it has all", on(one))
			two := c.station("two", 100)
			start := time.Now()
			end(one)
			c.until("the other one has all", on(two))
			took := time.Since(start)
			t.Logf("with the other machine after %v", took.Round(time.Millisecond))
			if took > c.user.Heartbeat/2 {
				t.Errorf("that is not at once")
			}
			err := <-one.over
			one.over <- err
			if err != nil || len(one.host.Phases()) > 0 {
				t.Errorf("it ends with %v, and %v", err, one.host.Phases())
			}
			c.send(all[0], "e1e1e1e1", cruise.EventCleanup)
			c.until("it ends there", func() bool {
				s, known, err := c.user.Look(t.Context(), all[0])
				return err == nil && known && !s.Running
			})
		})
	}
}

// Guards against a phase that its service's operator has ended, and that is shown as living.
func TestAPhaseThatIsEndedInTheServiceEnds(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 3*time.Second)
	one := c.station("one", 100)
	for name, end := range map[string]func(phase string) error{
		"terminated": func(phase string) error {
			return c.raw.TerminateWorkflow(t.Context(), fleet.WorkflowID(phase), "", "no more")
		},
		"canceled": func(phase string) error {
			return c.raw.CancelWorkflow(t.Context(), fleet.WorkflowID(phase), "")
		},
	} {
		phase := c.begin()
		c.until(name+": it has a machine", func() bool { return c.at(phase) == one })
		must.Do(t, end(phase))
		c.until(name+": it is seen to have ended", func() bool {
			s, known, err := c.user.Look(t.Context(), phase)
			return err == nil && known && !s.Running && s.Cut
		})
		c.until(name+": its machine lets go of it", func() bool { return !slices.Contains(one.host.Phases(), phase) })
		if _, err := c.user.Last(t.Context(), phase); !isCut(err) {
			t.Errorf("%s: how it ended: %v", name, err)
		}
	}
}

func isCut(err error) bool {
	_, cut := errors.AsType[*fleet.CutError](err)
	return cut
}

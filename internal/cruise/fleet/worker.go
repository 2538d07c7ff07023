package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Worker is the process of a machine that takes phases.
type Worker struct {
	Host *Host
	// Abilities are what this machine can do now: from time to time it is asked again.
	Abilities func(ctx context.Context) ([]Ability, error)
	// Ready is called when phases are taken.
	Ready func()

	any map[Ability]worker.Worker
}

const (
	// asking is how often a machine asks itself what it can do, and reaching how often it tries to reach the service.
	asking   = 5 * time.Second
	reaching = 2 * time.Second
	// returning bounds how long lives that were given up take to return.
	returning = 30 * time.Second
	// sticky is how long the service waits for a machine that has just worked on a phase's history.
	sticky = time.Second
	// brief is how long the service waits for an answer of a machine that it has asked what a phase does next. One that
	// died meanwhile gives none, and every such question takes milliseconds.
	brief     = 2 * time.Second
	manyLives = 100_000
)

// Run takes phases and runs them until the context ends, which gives them back; draining ends it as well, when no turn
// is under way.
func (w *Worker) Run(ctx context.Context, draining <-chan struct{}) error {
	h := w.Host
	h.key = h.Client.key
	if err := w.reach(ctx); err != nil {
		return err
	}
	phases := worker.New(h.Client.c, h.Client.queue("phases"), worker.Options{
		StickyScheduleToStartTimeout: sticky, MaxConcurrentWorkflowTaskPollers: 2, DisableEagerActivities: true,
		WorkerStopTimeout:                  returning, // it answers what it was asked
		MaxConcurrentActivityExecutionSize: 1, LocalActivityWorkerOnly: true})
	phases.RegisterWorkflowWithOptions(h.key.supervise, workflow.RegisterOptions{Name: workflowName})
	home := worker.New(h.Client.c, h.Home(), worker.Options{DisableWorkflowWorker: true, WorkerStopTimeout: returning,
		MaxConcurrentActivityExecutionSize: manyLives, MaxConcurrentActivityTaskPollers: 2})
	register(home, h)
	home.RegisterActivityWithOptions(h.deliver, activity.RegisterOptions{Name: deliverName})
	if err := errors.Join(phases.Start(), home.Start()); err != nil {
		return h.Client.away(err)
	}
	w.any = map[Ability]worker.Worker{}
	if err := w.askOften(ctx, draining); err != nil {
		w.stop(ctx, overGiven, home, phases)
		return err
	}
	if ctx.Err() != nil {
		w.stop(ctx, overGiven, home, phases)
		return nil
	}
	w.stop(ctx, overMoved, home, phases)
	return nil
}

// stop takes nothing new, has the lives end that way, and lets the service know of it. What does not end in time goes
// on elsewhere when its heartbeat's time is over.
func (w *Worker) stop(ctx context.Context, how string, home, phases worker.Worker) {
	h := w.Host
	h.end(how)
	var under sync.WaitGroup
	for _, one := range w.any {
		under.Go(one.Stop) // lives of it go on
	}
	for h.held() > 0 && how == overMoved {
		select {
		case <-ctx.Done():
			how = overGiven
			h.end(how)
		case <-time.After(100 * time.Millisecond):
		}
	}
	under.Go(home.Stop)
	stopped := make(chan struct{})
	go func() { under.Wait(); phases.Stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(returning):
	}
}

func register(one worker.Worker, h *Host) {
	one.RegisterActivityWithOptions(h.live, activity.RegisterOptions{Name: lifeName})
}

// reach waits until the service answers.
func (w *Worker) reach(ctx context.Context) error {
	for {
		_, err := w.Host.Client.List(ctx, time.Now())
		if err == nil {
			return nil
		}
		w.Host.Trouble(err)
		select {
		case <-time.After(reaching):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// askOften takes phases that this machine can run, as that changes.
func (w *Worker) askOften(ctx context.Context, draining <-chan struct{}) error {
	tick := time.NewTicker(asking)
	defer tick.Stop()
	for ready := w.Ready; ; {
		can, err := w.Abilities(ctx)
		if err == nil {
			err = w.offer(can)
		}
		if ctx.Err() == nil {
			w.Host.Trouble(err)
		}
		if err == nil && ready != nil {
			ready()
			ready = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-draining:
			return nil
		case <-tick.C:
		}
	}
}

// offer listens on the queues of what this machine can do, and on no others.
func (w *Worker) offer(can []Ability) error {
	for a, one := range w.any {
		if !slices.Contains(can, a) {
			delete(w.any, a)
			go one.Stop() // lives of it go on
		}
	}
	for _, a := range can {
		if w.any[a] != nil {
			continue
		}
		tuner, err := w.tuner()
		if err != nil {
			return err
		}
		one := worker.New(w.Host.Client.c, w.Host.Client.ability(a), worker.Options{DisableWorkflowWorker: true,
			WorkerStopTimeout: longLife, MaxConcurrentActivityTaskPollers: 1, Tuner: tuner})
		register(one, w.Host)
		if err := one.Start(); err != nil {
			return w.Host.Client.away(err)
		}
		w.any[a] = one
	}
	return nil
}

func (w *Worker) tuner() (worker.WorkerTuner, error) {
	few, err := worker.NewFixedSizeSlotSupplier(2)
	if err != nil {
		return nil, err
	}
	return worker.NewCompositeTuner(worker.CompositeTunerOptions{WorkflowSlotSupplier: few, LocalActivitySlotSupplier: few,
		NexusSlotSupplier: few, SessionActivitySlotSupplier: few, ActivitySlotSupplier: slots{w.Host}})
}

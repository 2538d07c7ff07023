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
func (h *Host) Run(ctx context.Context, draining <-chan struct{}) error {
	h.key = h.Client.key
	if err := h.reach(ctx); err != nil {
		return err
	}
	phases := worker.New(h.Client.c, h.Client.queue("phases"), worker.Options{
		StickyScheduleToStartTimeout: sticky, MaxConcurrentWorkflowTaskPollers: 2, DisableEagerActivities: true,
		WorkerStopTimeout:                  returning, // it answers what it was asked
		MaxConcurrentActivityExecutionSize: 1, LocalActivityWorkerOnly: true})
	phases.RegisterWorkflowWithOptions(h.key.supervise, workflow.RegisterOptions{Name: workflowName})
	home := worker.New(h.Client.c, h.Home(), worker.Options{DisableWorkflowWorker: true, WorkerStopTimeout: returning,
		MaxConcurrentActivityExecutionSize: manyLives, MaxConcurrentActivityTaskPollers: 2})
	home.RegisterActivityWithOptions(h.live, activity.RegisterOptions{Name: lifeName})
	home.RegisterActivityWithOptions(h.deliver, activity.RegisterOptions{Name: deliverName})
	if err := errors.Join(phases.Start(), home.Start()); err != nil {
		return h.Client.away(err)
	}
	h.any = map[Ability]worker.Worker{}
	h.askOften(ctx, draining)
	how := overMoved
	if ctx.Err() != nil {
		how = overGiven
	}
	h.stop(ctx, how, home, phases)
	return nil
}

// stop takes nothing new, has the lives end that way, and lets the service know of it. What does not end in time goes
// on elsewhere when its heartbeat's time is over.
func (h *Host) stop(ctx context.Context, how string, home, phases worker.Worker) {
	h.end(how)
	var under sync.WaitGroup
	for _, one := range h.any {
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

// reach waits until the service answers.
func (h *Host) reach(ctx context.Context) error {
	for {
		_, err := h.Client.List(ctx, time.Now())
		if err == nil {
			return nil
		}
		h.Trouble(err)
		select {
		case <-time.After(reaching):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// askOften takes phases that this machine can run, as that changes.
func (h *Host) askOften(ctx context.Context, draining <-chan struct{}) {
	tick := time.NewTicker(asking)
	defer tick.Stop()
	for ready := h.Ready; ; {
		can, err := h.Abilities(ctx)
		if err == nil {
			err = h.offer(can)
		}
		if ctx.Err() == nil {
			h.Trouble(err)
		}
		if err == nil && ready != nil {
			ready()
			ready = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-draining:
			return
		case <-tick.C:
		}
	}
}

// offer listens on the queues of what this machine can do, and on no others.
func (h *Host) offer(can []Ability) error {
	for a, one := range h.any {
		if !slices.Contains(can, a) {
			delete(h.any, a)
			go one.Stop() // lives of it go on
		}
	}
	for _, a := range can {
		if h.any[a] != nil {
			continue
		}
		tuner, err := h.tuner()
		if err != nil {
			return err
		}
		one := worker.New(h.Client.c, h.Client.ability(a), worker.Options{DisableWorkflowWorker: true,
			WorkerStopTimeout: longLife, MaxConcurrentActivityTaskPollers: 1, Tuner: tuner})
		one.RegisterActivityWithOptions(h.live, activity.RegisterOptions{Name: lifeName})
		if err := one.Start(); err != nil {
			return h.Client.away(err)
		}
		h.any[a] = one
	}
	return nil
}

func (h *Host) tuner() (worker.WorkerTuner, error) {
	few, err := worker.NewFixedSizeSlotSupplier(2)
	if err != nil {
		return nil, err
	}
	return worker.NewCompositeTuner(worker.CompositeTunerOptions{WorkflowSlotSupplier: few, LocalActivitySlotSupplier: few,
		NexusSlotSupplier: few, SessionActivitySlotSupplier: few, ActivitySlotSupplier: slots{h}})
}

package keep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// run is an agent at work: one attempt after the other, as long as the last one failed for a reason that passes.
type run struct {
	*keeper
	guard  guarded
	task   agent.Task
	door   *door.Door
	meter  *meter
	shares *shares
	clocks clocks
	tried  history

	before event.Usage // what the CLI had counted before the present attempt

	// under the keeper's mutex
	now   *attempt        // under way
	limit session.Reached // the spend limit
}

// runAgent lets the agent work until it is done, or until waiting for its model makes no more sense.
func (k *keeper) runAgent(ctx context.Context) ending {
	r, err := k.newRun(ctx)
	if spent, ok := errors.AsType[*session.SpentError](err); ok {
		return ending{Ran: true, Err: err, Limit: spent.Limit}
	}
	if err != nil {
		return ending{Err: err}
	}
	defer r.sayEstimate()
	defer func() { _ = r.meter.write(context.WithoutCancel(ctx)) }() // requests that were under way are counted, too
	defer k.receiveDenials(ctx)()
	defer r.door.Close() // before the meter's last look: a request that is cut off costs too
	for {
		end := r.attempt(ctx)
		if r.lostConversation(end) {
			continue
		}
		wait, why := next(end.Finished, r.tried, k.order.NoResume, k.order.MaxWait, time.Now(),
			rand.Float64()) //nolint:gosec // it spreads tries
		if wait == 0 || end.decided() {
			end.Why = why
			return end
		}
		if cut, ok := r.pause(ctx, wait, why); !ok {
			return cut
		}
		r.resume(end.Finished.Session)
	}
}

// decided says that cco or a person ended the attempt on purpose, even if the agent reports something else.
func (e ending) decided() bool {
	return e.Killed || e.Stopped || e.TimedOut || e.Idle > 0 || e.Limit.Limit != "" || e.Question != "" ||
		errors.Is(e.Err, context.Canceled)
}

func (k *keeper) newRun(ctx context.Context) (*run, error) {
	policy, err := k.guard()
	if err != nil {
		return nil, err
	}
	r := &run{keeper: k, guard: policy}
	limits := k.order.Limits
	if r.agent.Provider() == "" {
		limits = session.Limits{} // it asks no model
	}
	today, err := k.Afford(ctx, limits)
	if err != nil {
		return nil, err
	}
	if r.door, err = k.openDoor(ctx, limits.Remaining(today), r.share()); err != nil {
		return nil, err
	}
	r.meter = &meter{
		limits: limits, door: r.door.Spent(), today: today, reached: r.spentAll,
		keep: r.recordSpend,
	}
	r.shares = &shares{door: r.door.Models, main: k.rec.Model}
	// On a terminal somebody is there to see that nothing happens.
	r.clocks = clocks{total: k.order.Timeout, idle: k.order.IdleTimeout}
	if k.order.Interactive {
		r.clocks.idle = 0
	}
	r.task = agent.Task{
		Plan: k.planPath(), Session: k.rec.ID, Model: k.rec.Model, Workspace: k.place.Workspace, Exchange: k.place.Exchange,
		Home: k.place.Home, State: k.place.Home, Tool: k.place.Tool, Interactive: k.order.Interactive, Rules: r.guard.rules,
		Program: k.program, Door: r.door.Address(), Token: r.door.Token(), Prompt: k.order.Prompt,
		NewSession: uuid.NewString(), Servers: k.order.Servers,
	}
	if k.order.Again && k.rec.CLISession != "" && !k.order.Fresh {
		r.task.Resume, r.task.NewSession = k.rec.CLISession, ""
		_ = json.Unmarshal([]byte(k.rec.CLITotal), &r.before) // an unreadable old count must not stop the run
	}
	return r, nil
}

// recordSpend records what was spent since the last time.
func (r *run) recordSpend(ctx context.Context, more store.Spend) (store.Spend, error) {
	today, err := r.Store.AddSpend(ctx, r.rec.ID, store.Account{Day: store.Day(r.Now()), Agent: r.rec.Agent,
		Repo: r.rec.Repo, RepoKey: r.rec.RepoKey, Phase: r.order.Phase}, r.shares.of(more))
	if err == nil {
		r.shares.recorded()
	}
	return today, err
}

// planPath is where the agent finds the plan. One that was sent along is in the exchange directory.
func (k *keeper) planPath() string {
	if k.order.Plan == session.SentPlan {
		return path.Join(k.place.Exchange, inside.PlanFile)
	}
	return k.order.Plan
}

// exec is the program to run for the present task.
func (r *run) exec(cmd agent.Command) box.Exec {
	return box.Exec{
		Session: r.rec.ID, Argv: cmd.Argv, Env: slices.Concat(cmd.Env, r.guard.env, r.order.Env), Dir: r.place.Workspace,
		Repo: r.rec.RepoKey, Signals: r.signals, Etc: slices.Concat(r.guard.etc, cmd.Etc), Binds: r.binds,
		View: r.order.View, Report: r.step, Way: r.door.Way(),
	}
}

// furnish puts the files that the agent's program needs where it looks for them.
func (r *run) furnish(ctx context.Context, cmd agent.Command) error {
	if len(cmd.Home) == 0 {
		return nil
	}
	job, err := json.Marshal(inside.Furniture{Dir: r.place.Home, Files: cmd.Home})
	if err != nil {
		return err
	}
	err = r.drv.Run(ctx, r.box, box.Exec{Session: r.rec.ID, Furnish: true, Argv: []string{r.place.Tool, "furnish"},
		Stdin: bytes.NewReader(job)})
	if err != nil {
		return fmt.Errorf("put the settings of %s in place: %w", r.agent.Name(), err)
	}
	return nil
}

// pause waits before the next attempt. If it is cut short, it says how the run ends.
func (r *run) pause(ctx context.Context, wait time.Duration, why string) (cut ending, ok bool) {
	r.tried.Failures++
	r.tried.Waited += wait
	words := fmt.Sprintf("waiting until %s: %s; failure %d of %d", clockTime(time.Now().Add(wait), time.Now()), why,
		r.tried.Failures, maxTries)
	r.step("%s", words)
	r.recordReason(ctx, words)
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case <-over.C:
		r.recordReason(ctx, "")
		r.step("%s goes on", r.agent.Name())
		return ending{}, true
	case <-r.stopping:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return ending{Ran: true, Err: ctx.Err(), Stopped: r.stopped, Killed: r.killed}, false
}

// recordReason says in the listing of sessions what a running one is doing.
func (r *run) recordReason(ctx context.Context, reason string) {
	// the record is corrected when the session ends
	_, _ = r.Store.UpdateSession(ctx, r.rec.ID, func(v *store.Session) error {
		v.Reason = reason
		return nil
	})
}

// resume makes the next attempt go on with the conversation, if there is one.
func (r *run) resume(conversation string) {
	if conversation == "" {
		conversation = r.task.Resume
	}
	if conversation == "" {
		r.task.NewSession = uuid.NewString() // it never got as far as a conversation
		return
	}
	r.task.Resume, r.task.NewSession, r.task.Prompt = conversation, "", session.ContinuePrompt
}

// lostConversation starts anew, once, where the CLI no longer knows the conversation that it should go on with.
func (r *run) lostConversation(end ending) bool {
	f := end.Finished
	if r.task.Resume == "" || r.now.heard.started || end.decided() || f.Outcome != event.Failed || f.Transient {
		return false
	}
	r.step("%s no longer has its conversation, so it begins a new one in the same workspace", r.agent.Name())
	r.task.Resume, r.task.NewSession, r.before = "", uuid.NewString(), event.Usage{}
	if r.task.Prompt == session.ContinuePrompt {
		r.task.Prompt = ""
	} else if r.task.Prompt != "" {
		r.task.Prompt = "You have begun to carry out the plan in " + r.task.Plan + "; see what is there and in git log.\n\n" +
			r.task.Prompt
	}
	return true
}

// spentAll ends the run. If the door has closed by itself the agent gets a moment to notice, and to end with a last
// word.
func (r *run) spentAll(limit session.Reached) {
	r.mu.Lock()
	r.limit = limit
	a := r.now
	r.mu.Unlock()
	r.step("%s", limit.Words)
	if a == nil {
		return
	}
	if r.door.Full() || limit.Limit == store.LimitBudget {
		a.wrapUp(errSpent, noticeTime)
		return
	}
	a.wrapUp(errSpent, 0)
}

// sayEstimate says that nobody knows what the run has cost, if that is so.
func (r *run) sayEstimate() {
	if spent := r.meter.written(); spent.Estimate && spent.Cost > 0 {
		r.step("this run has cost $%.2f (estimate)", spent.Cost)
	}
}

// interrupt asks the agent's program to end, as a person at its terminal would. The caller holds the mutex.
func (k *keeper) interrupt() {
	if k.pty != nil {
		k.pty.Type([]byte{ctrlC})
		return
	}
	select {
	case k.signals <- syscall.SIGINT:
	default: // it has enough of them already
	}
}

// The ways in which cco ends an attempt.
var (
	errIdle     = errors.New("nothing was heard of the agent")
	errTimedOut = errors.New("the time is over")
	errSpent    = errors.New("a limit is reached")
	errAsked    = errors.New("the agent has a question")
)

// How long an agent has to end by itself: after its door has closed, and after it was asked to.
const (
	noticeTime    = 20 * time.Second
	interruptTime = 10 * time.Second
)

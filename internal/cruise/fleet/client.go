// Package fleet has phases run on many machines, with Temporal between them. A phase is a small workflow there that
// supervises; a life of it is one activity, which beats while the engine of its machine runs the phase. What the
// service keeps and passes on is sealed: whoever runs it can stop, delay, drop and begin again, and order nothing.
package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/cco-dev/cco/internal/cruise"
)

// Options say how the service is reached.
type Options struct {
	Address, Namespace string
	TLS                *tls.Config // nil is a connection that everybody on the way can read
	APIKey             string
	Heartbeat          time.Duration // of lives
}

// Client talks to the service.
type Client struct {
	Options
	c   client.Client
	key Key
}

// Heartbeat is how long a machine may be silent, by default, before others go on with its phases.
const Heartbeat = 30 * time.Second

// Dial makes a client. It connects when it is first used: a service that is away is waited for by those who can wait.
func Dial(o Options, key Key) (*Client, error) {
	opts := client.Options{HostPort: o.Address, Namespace: o.Namespace, Identity: "cco",
		Logger:            log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{TLS: o.TLS, TLSDisabled: o.TLS == nil}}
	if o.APIKey != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, fmt.Errorf("reach Temporal at %s: %w", o.Address, err)
	}
	return &Client{Options: o, c: c, key: key}, nil
}

// Close ends the connection.
func (c *Client) Close() { c.c.Close() }

// away is the error of a service that can't be asked.
func (c *Client) away(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ask Temporal at %s: %w", c.Address, err)
}

// WorkflowID names a phase to the service.
func WorkflowID(phase string) string { return "cco-" + phase }

// queue names a queue, so that those without the key learn nothing from it.
func (c *Client) queue(use string, parts ...string) string {
	return "cco-" + use + "-" + c.key.name(use, parts...)
}

// Ability is what a phase needs that its queue stands for: a login on a forge, and a label of the user's or none.
type Ability struct{ Host, Login, Label string }

func (c *Client) ability(a Ability) string { return c.queue("any", a.Host, a.Login, a.Label) }

// Start has a phase wait for a machine.
func (c *Client) Start(ctx context.Context, phase string, st cruise.State, need Ability) error {
	state, err := c.key.seal(Sealed{Kind: kindState, Phase: phase, Life: st.Life.Number}, st)
	if err != nil {
		return err
	}
	summary, err := c.key.seal(Sealed{Kind: kindSummary, Phase: phase, Life: st.Life.Number}, Summarize(st))
	if err != nil {
		return err
	}
	_, err = c.c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: WorkflowID(phase), TaskQueue: c.queue("phases"),
		WorkflowTaskTimeout:                      brief,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		Memo: map[string]any{memoSummary: summary,
			memoWaits: Sealed{Kind: kindOver, Phase: phase, Life: st.Life.Number}}},
		workflowName, Start{Phase: phase, Queue: c.ability(need), Heartbeat: c.Heartbeat, State: state, Life: st.Life.Number})
	if _, known := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); known {
		return nil // asked for again, because the answer was lost
	}
	return c.away(err)
}

// EndedError says that a phase has ended.
type EndedError struct{ Phase string }

func (e *EndedError) Error() string { return "phase " + e.Phase + " has ended" }

// Send sends a phase an event, which is kept until a saved state has seen it. An *EndedError says that it has ended.
func (c *Client) Send(ctx context.Context, phase string, ev cruise.Event) error {
	sealed, err := c.key.seal(Sealed{Kind: kindEvent, Phase: phase, Name: ev.ID}, ev)
	if err != nil {
		return err
	}
	err = c.c.SignalWorkflow(ctx, WorkflowID(phase), "", eventName, sealed)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return &EndedError{Phase: phase}
	}
	return c.away(err)
}

// CutError says that a phase was ended in the service, by somebody who operates that: its state went with it.
type CutError struct{ Phase string }

func (e *CutError) Error() string {
	return "phase " + e.Phase + " was ended in Temporal, by its operator, and can't go on: begin it anew"
}

// WrongState marks an error about a state.
func (e *CutError) WrongState() {}

// Last is the state that a phase has ended with. A *CutError says that others have ended it.
func (c *Client) Last(ctx context.Context, phase string) (st cruise.State, err error) {
	var sealed Sealed
	err = c.c.GetWorkflow(ctx, WorkflowID(phase), "").Get(ctx, &sealed)
	if _, cut := errors.AsType[*temporal.WorkflowExecutionError](err); cut {
		return st, &CutError{Phase: phase}
	}
	if err != nil {
		return st, c.away(err)
	}
	return st, c.key.open(sealed, kindState, phase, &st)
}

// Seen is what the service knows of a phase.
type Seen struct {
	Phase   string
	State   cruise.State // a summary
	Life    int
	Running bool
	Cut     bool   // it was ended in the service, by somebody who operates that
	Waits   bool   // for a machine
	Why     string // none takes it, if one has said so
}

// List gives the phases that live, and those that have ended since then.
func (c *Client) List(ctx context.Context, since time.Time) (all []Seen, err error) {
	query := fmt.Sprintf("WorkflowType = '%s' AND (ExecutionStatus = 'Running' OR CloseTime > '%s')", workflowName,
		since.UTC().Format(time.RFC3339))
	var page []byte
	for {
		got, err := c.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: page})
		if err != nil {
			return nil, c.away(err)
		}
		for _, e := range got.GetExecutions() {
			s, ok := c.seen(e)
			// One that was revived has several runs, and the newest comes first.
			if ok && !slices.ContainsFunc(all, func(o Seen) bool { return o.Phase == s.Phase }) {
				all = append(all, s)
			}
		}
		if page = got.GetNextPageToken(); len(page) == 0 {
			return all, nil
		}
	}
}

// Look asks for one phase. Known says whether the service has it.
func (c *Client) Look(ctx context.Context, phase string) (s Seen, known bool, err error) {
	got, err := c.c.DescribeWorkflowExecution(ctx, WorkflowID(phase), "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return s, false, nil
	}
	if err != nil {
		return s, false, c.away(err)
	}
	s, known = c.seen(got.GetWorkflowExecutionInfo())
	return s, known && s.Phase == phase, nil
}

// seen reads what people see of a phase. What none of us has sealed is nothing.
func (c *Client) seen(e *workflowpb.WorkflowExecutionInfo) (s Seen, ok bool) {
	status := e.GetStatus()
	if status == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
		return s, false // another run has followed it
	}
	s.Phase, ok = strings.CutPrefix(e.GetExecution().GetWorkflowId(), "cco-")
	if !ok {
		return s, false
	}
	fields := e.GetMemo().GetFields()
	var sealed Sealed
	read := converter.GetDefaultDataConverter().FromPayload
	if read(fields[memoSummary], &sealed) != nil || c.key.open(sealed, kindSummary, s.Phase, &s.State) != nil {
		return s, false
	}
	s.Life, s.Running = sealed.Life, status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	s.Cut = !s.Running && status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED // failed, timed out, canceled, terminated
	var waits Sealed
	if p := fields[memoWaits]; p != nil && read(p, &waits) == nil && waits.Kind == kindOver {
		var o over
		s.Waits = true
		if c.key.open(waits, kindOver, s.Phase, &o) == nil {
			s.Why = o.Why
		}
	}
	return s, true
}

// Package hook answers an agent's question whether a tool call may run, in
// that agent's own format. Whatever goes wrong in it is a denial.
package hook

import (
	"cmp"
	"io"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/jsontext"
)

// Bounds on one call, past which it is denied.
const (
	MaxInput = 1 << 20
	MaxTime  = 2 * time.Second
)

// Exit codes that agents understand. Any other would let the call through.
const (
	exitAllow = 0
	exitDeny  = 2
)

// DefaultPolicy is where the policy stands inside a box.
const DefaultPolicy = "/etc/cco/policy.json"

// Hook is one run of the hook.
type Hook struct {
	Agent  string // an agent with a hook in the roster
	Policy string // file name; DefaultPolicy if empty
	Turn   string // "begun" or "ended": no call is asked about, the agent's turn has begun or ended
	Mounts string // file name of the table of mounts that says whether the kernel holds the agent; the kernel's if empty
	// Socket is where denials are reported; if nil or empty, the policy's.
	// It is asked on a denial only: looking at the environment costs.
	Socket func() string

	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
}

// result is what one call came to, with what the log needs to know of it.
type result struct {
	verdict guard.Verdict
	call    guard.Call
	policy  guard.Policy
}

// Run reads one call, prints the answer and returns the exit code. It waits
// for its input as long as In does: see Input.
func (h Hook) Run() int {
	if h.Turn != "" {
		h.reportTurn()
		return exitAllow
	}
	return h.answer(h.judged())
}

// judged decides, and denies if that panics.
func (h Hook) judged() (r result) {
	defer func() {
		if recover() != nil {
			r.verdict = broken("the guard failed")
		}
	}()
	return h.decide()
}

// broken is the verdict on a call that could not be judged.
func broken(reason string) guard.Verdict {
	return guard.Verdict{Rule: guard.RuleInput, Reason: reason, Instead: "tell the user that the guard needs attention"}
}

func (h Hook) decide() result {
	agent, ok := roster.Find(h.Agent)
	if !ok || agent.Event == "" {
		return result{verdict: broken("the guard does not know the agent " + h.Agent)}
	}
	policy, err := h.policy()
	if err != nil {
		return result{verdict: broken("the guard has no policy: " + err.Error())}
	}
	data, err := readAll(h.In)
	var call guard.Call
	if err == nil {
		call, err = guard.ParseCall(data)
	}
	if err != nil {
		return result{verdict: broken("the guard can't read the call: " + err.Error()), policy: policy}
	}
	return result{guard.Decide(policy, Links{}, call), call, policy}
}

func (h Hook) policy() (guard.Policy, error) {
	data, err := ReadFile(cmp.Or(h.Policy, DefaultPolicy))
	if err != nil {
		return guard.Policy{}, err
	}
	return guard.ParsePolicy(data)
}

// answer prints the verdict so that the agent acts on it. Where the kernel holds the agent, a denial is only reported.
func (h Hook) answer(r result) int {
	if r.verdict.Allow {
		return exitAllow
	}
	if IsHeld(h.Mounts) {
		h.report(r, noted)
		return exitAllow
	}
	message := r.verdict.Message()
	// Nobody is left to tell if these can't be written: the code denies.
	_, _ = io.WriteString(h.Err, message+"\n")
	_, _ = io.WriteString(h.Out, `{"decision":"block","reason":`+jsontext.Quote(message)+"}\n")
	h.report(r, "denial")
	return exitDeny
}

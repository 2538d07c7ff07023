// Package hook answers an agent's question whether a tool call may run, in
// that agent's own format. Whatever goes wrong in it is a denial.
package hook

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/cco-dev/cco/internal/guard"
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
	Agent  string // claude, codex or gemini
	Policy string // file name; DefaultPolicy if empty
	// Socket is where denials are reported; if empty, the policy's.
	Socket string

	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
}

// result is what one call came to, with what the log needs to know of it.
type result struct {
	verdict guard.Verdict
	call    guard.Call
	socket  string
}

// Run reads one call, prints the answer and returns the exit code. It waits
// for its input as long as In does: see Input.
func (h Hook) Run() int { return h.answer(h.judged()) }

// Deadline ends the process as a denial if it has not ended before, whatever
// it waits for. It is for callers that can afford a timer.
func (h Hook) Deadline(after time.Duration, exit func(code int)) (stop func() bool) {
	return time.AfterFunc(after, func() {
		exit(h.answer(result{verdict: broken("the guard took too long")}))
	}).Stop
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
	switch h.Agent {
	case "claude", "codex", "gemini":
	default:
		return result{verdict: broken("the guard does not know the agent " + h.Agent)}
	}
	policy, err := h.policy()
	if err != nil {
		return result{verdict: broken("the guard has no policy: " + err.Error())}
	}
	call, err := h.call()
	if err != nil {
		return result{verdict: broken("the guard can't read the call: " + err.Error()), socket: policy.AuditSocket}
	}
	if policy.Linked && policy.GitDir != "" {
		call.Branch = branch(policy.GitDir)
	}
	return result{guard.Decide(policy, Links{}, call), call, policy.AuditSocket}
}

func (h Hook) policy() (guard.Policy, error) {
	name := h.Policy
	if name == "" {
		name = DefaultPolicy
	}
	data, err := readFile(name)
	if err != nil {
		return guard.Policy{}, err
	}
	return guard.ParsePolicy(data)
}

// call reads the input. Names are matched exactly, as the agents do.
func (h Hook) call() (guard.Call, error) {
	data, err := io.ReadAll(io.LimitReader(h.In, MaxInput+1))
	if err != nil {
		return guard.Call{}, err
	}
	if len(data) > MaxInput {
		return guard.Call{}, errors.New("it is larger than 1 MiB")
	}
	return Parse(data)
}

// Parse reads a hook call of claude, codex or gemini, which all name the same
// things alike.
func Parse(data []byte) (guard.Call, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return guard.Call{}, errors.New("it is not a JSON object")
	}
	var call guard.Call
	var event string
	for name, to := range map[string]*string{"cwd": &call.Cwd, "tool_name": &call.Tool, "hook_event_name": &event} {
		raw, ok := fields[name]
		if !ok && name == "hook_event_name" {
			continue
		}
		if err := json.Unmarshal(raw, to); !ok || err != nil {
			return guard.Call{}, errors.New("its " + name + " is missing or no text")
		}
	}
	switch event {
	case "", "PreToolUse", "BeforeTool":
	default:
		return guard.Call{}, errors.New("it is about " + event + " and not about a tool")
	}
	call.Input = fields["tool_input"]
	return call, nil
}

// answer prints the verdict so that the agent acts on it.
func (h Hook) answer(r result) int {
	if r.verdict.Allow {
		return exitAllow
	}
	message := r.verdict.Message()
	// Nobody is left to tell if these can't be written: the code denies.
	_, _ = io.WriteString(h.Err, message+"\n")
	if line, err := json.Marshal(decision{"block", message}); err == nil {
		_, _ = h.Out.Write(append(line, '\n'))
	}
	socket := h.Socket
	if socket == "" {
		socket = r.socket
	}
	if socket != "" {
		h.report(socket, r)
	}
	return exitDeny
}

type decision struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

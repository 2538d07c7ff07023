// Package guard decides whether an agent's tool call may run. It does no I/O
// but looking at paths, through an interface that the caller owns.
//
// It is advice and no wall: it walks the words of a command and denies what plainly leads outside, with a sentence that
// says what to do instead. What a program does while it runs is for the kernel to hold. A command that can't be parsed
// is denied; a word that can't be known beforehand is let through.
package guard

import (
	"errors"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/jsontext"
)

// Decide says whether call may run under policy. It never panics, and it denies what it can't read or finish within its
// bounds. The resolver may be nil, which leaves links unresolved.
func Decide(policy Policy, links Resolver, call Call) (v Verdict) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case denial:
			v = r.Verdict
		default:
			v = Verdict{Rule: RuleInternal, Reason: "the guard could not finish its work on this call",
				Instead: "split the call into simpler ones"}
		}
	}()
	if err := policy.Validate(); err != nil {
		return Verdict{Rule: RuleInput, Reason: err.Error()}
	}
	tools{walker: newWalker(policy, links, call)}.judge(call)
	return Verdict{Allow: true}
}

// Call is one tool call that an agent wants to make.
type Call struct {
	// Tool is the name by which the agent calls the tool.
	Tool string
	// Input is the tool's input as the agent sent it, in JSON.
	Input []byte
	// Cwd is the directory that relative paths start from.
	Cwd string
}

// Command makes the call of a shell tool.
func Command(cwd, command string) Call {
	return Call{Tool: "Bash", Input: []byte(`{"command":` + jsontext.Quote(command) + `}`), Cwd: cwd}
}

// ParseCall reads what an agent asks its hook. All of them name the same things
// alike. Names are matched exactly, as the agents do.
func ParseCall(data []byte) (call Call, err error) {
	v, err := jsontext.Parse(string(data))
	if err != nil || !v.Object() {
		return call, errors.New("it is not a JSON object")
	}
	event := ""
	for _, f := range [...]struct {
		name   string
		to     *string
		needed bool
	}{{"cwd", &call.Cwd, true}, {"tool_name", &call.Tool, true}, {"hook_event_name", &event, false}} {
		value, present := v.Field(f.name)
		text, ok := value.Text()
		switch {
		case !present && f.needed:
			return Call{}, errors.New("its " + f.name + " is missing")
		case present && !ok:
			return Call{}, errors.New("its " + f.name + " is not text")
		}
		*f.to = text
	}
	if event != "" && !roster.IsEvent(event) {
		return Call{}, errors.New("it is about " + event + " and not about a tool")
	}
	input, _ := v.Field("tool_input")
	call.Input = []byte(input.Raw)
	return call, nil
}

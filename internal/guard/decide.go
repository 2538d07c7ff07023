// Package guard decides whether an agent's tool call may run. It does no I/O
// but resolving links, through an interface that the caller owns.
//
// A shell command is parsed as bash and interpreted abstractly: directories,
// variables and written scripts are followed as far as they are known.
// Where a call acts (a command word, a directory, a redirect, something to be
// removed, program text) what can't be known is denied; where it only passes
// data, it is let through.
package guard

import (
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program"
	"github.com/cco-dev/cco/internal/guard/verdict"
)

// Decide says whether call may run under policy. It never panics, and it
// denies whatever it can't read, follow or finish within its bounds. The
// resolver may be nil, which leaves links unresolved.
func Decide(policy Policy, links land.Resolver, call Call) (v Verdict) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case verdict.Denial:
			v = r.Verdict
		default:
			v = Verdict{Rule: verdict.RuleInternal, Reason: "the guard could not finish its work on this call",
				Instead: "split the call into simpler ones"}
		}
	}()
	if err := policy.Validate(); err != nil {
		return Verdict{Rule: verdict.RuleInput, Reason: err.Error()}
	}
	s := tools{program.New(policy, links, call.Cwd, call.Typed)}
	s.OnBranch(call.Branch, call.MadeHere)
	s.tool(call)
	return Verdict{Allow: true}
}

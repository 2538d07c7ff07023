// Package guard decides whether an agent's tool call may run. It does no I/O
// but resolving links, through an interface that the caller owns.
//
// A shell command is parsed as bash and interpreted abstractly: directories,
// variables and written scripts are followed as far as they are known.
// Where a call acts (a command word, a directory, a redirect, something to be
// removed, program text) what can't be known is denied; where it only passes
// data, it is let through.
package guard

// Decide says whether call may run under policy. It never panics, and it
// denies whatever it can't read, follow or finish within its bounds. The
// resolver may be nil, which leaves links unresolved.
func Decide(policy Policy, links Resolver, call Call) (v Verdict) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case denial:
			v = r.verdict
		default:
			v = Verdict{Rule: RuleInternal, Reason: "the guard could not finish its work on this call",
				Instead: "split the call into simpler ones"}
		}
	}()
	if err := policy.Validate(); err != nil {
		return Verdict{Rule: RuleInput, Reason: err.Error()}
	}
	s := newShell(policy, links, call)
	s.tool(call)
	return Verdict{Allow: true}
}

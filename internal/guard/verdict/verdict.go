// Package verdict is what the guard says of a call.
package verdict

import "strings"

// Rule names the reason of a denial, for logs and for people.
type Rule string

// The rules, from the plainest to the most particular.
const (
	RuleNone        Rule = ""
	RuleInput       Rule = "bad-input"        // the call itself can't be read
	RuleTool        Rule = "unknown-tool"     // a tool that the policy doesn't name
	RuleSyntax      Rule = "unreadable"       // shell text that doesn't parse, or that shells read differently
	RuleTooComplex  Rule = "too-complex"      // more steps than the guard is willing to take
	RuleInternal    Rule = "guard-error"      // the guard itself went wrong
	RuleDirectory   Rule = "leaves-workspace" // a change of directory to the outside
	RuleWrite       Rule = "writes-outside"   // something outside would be written
	RuleDelete      Rule = "deletes-outside"  // something outside would be removed or moved
	RuleLink        Rule = "link-out"         // a link or mount that opens a way out
	RuleUnknownPath Rule = "unknown-target"   // a directory, redirect or delete target that can't be told beforehand
	RuleUnknownCode Rule = "unknown-program"  // a command word or program text that can't be told beforehand
	RuleRunOutside  Rule = "runs-outside"     // a program or script from outside
	RuleProgram     Rule = "program-outside"  // an interpreter's program that touches the outside
	RuleEnvironment Rule = "environment"      // a variable that redirects or injects
	RuleGitOutside  Rule = "git-outside"      // git aimed at another repository or path
	RuleGitConfig   Rule = "git-config"       // configuration that is shared or that runs programs
	RuleGitRefs     Rule = "git-refs"         // a ref other than the agent's own branch
	RuleGitShared   Rule = "git-shared"       // the shared repository's worktrees, objects or remotes
	RuleSystem      Rule = "alters-system"    // packages, services, users, devices
	RuleHomeConfig  Rule = "alters-home"      // a tool's settings in the home directory
	RuleSelf        Rule = "guard-settings"   // the guard, its settings, its processes
	RuleAgent       Rule = "starts-agent"     // another agent, outside this guard
)

// Verdict is what Decide says. The zero value denies.
type Verdict struct {
	// Allow is true only if every part of the call was understood and stays inside.
	Allow bool
	// Rule names the reason of a denial.
	Rule Rule
	// Part is the offending part of the command, and Start and End its place
	// in it as byte offsets; End is 0 where there is no place to point at.
	Part       string
	Start, End int
	// Path is the outside path after resolving, if there is one.
	Path string
	// Reason says what is wrong, and Instead what to do in its place.
	Reason, Instead string
}

// Message is the denial in words that help an agent to go on.
func (v Verdict) Message() string {
	if v.Allow {
		return ""
	}
	if v.Rule == RuleNone {
		return "denied: no decision was made"
	}
	message := "denied (" + string(v.Rule) + "): " + v.Reason
	if v.Part != "" && !strings.Contains(v.Reason, v.Part) {
		message += " [in: " + Clip(v.Part, 160) + "]"
	}
	if v.Instead != "" {
		message += "; " + v.Instead
	}
	return message
}

// Clip shortens s for a message, on a rune boundary.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// Denial unwinds an interpretation; only Decide catches it.
type Denial struct{ Verdict Verdict }

package guard

import "strings"

// Rule names the reason of a denial, for logs and for people.
type Rule string

// The rules.
const (
	RuleNone       Rule = ""
	RuleInput      Rule = "bad-input"        // the call itself can't be read
	RuleTool       Rule = "unknown-tool"     // a tool that the policy doesn't name
	RuleSyntax     Rule = "unreadable"       // shell text that doesn't parse, or that shells read differently
	RuleTooComplex Rule = "too-complex"      // more steps than the guard is willing to take
	RuleInternal   Rule = "guard-error"      // the guard itself went wrong
	RuleDirectory  Rule = "leaves-workspace" // a change of directory to the outside, or a command that runs there
	RuleWrite      Rule = "writes-outside"   // a file outside would be written
	RulePath       Rule = "path-outside"     // a path outside is given to a command that is not known to only read
	RuleGit        Rule = "git-outside"      // git aimed at another repository or path
	RuleSelf       Rule = "guard-settings"   // the settings of the guard and of agents
	RuleDeputy     Rule = "acts-elsewhere"   // a program that has somebody else act
	RuleAgent      Rule = "starts-agent"     // another agent, outside this guard
)

// Verdict is what Decide says. The zero value denies.
type Verdict struct {
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
		message += " [in: " + clip(v.Part, 160) + "]"
	}
	if v.Instead != "" {
		message += "; " + v.Instead
	}
	return message
}

// clip shortens s for a message, on a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// denial unwinds a walk; only Decide catches it.
type denial struct{ Verdict }

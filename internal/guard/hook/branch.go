package hook

import (
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/guard"
)

// OnBranch tells a call which branch HEAD of a linked worktree is on, and
// whether that branch was made there.
func OnBranch(policy guard.Policy, call guard.Call) guard.Call {
	if !policy.Linked || policy.GitDir == "" {
		return call
	}
	call.Branch = branch(policy.GitDir)
	call.MadeHere = call.Branch != "" && call.Branch != policy.Branch && policy.GitCommonDir != "" &&
		younger(policy.GitCommonDir+"/logs/refs/heads/"+call.Branch, policy.GitDir+"/logs/HEAD")
	return call
}

// younger says that what a reflog tells of began with nothing, and no earlier
// than what another one tells of. A branch that was there before the worktree is
// somebody else's.
func younger(log, than string) bool {
	old, made, ok := firstEntry(log)
	_, began, also := firstEntry(than)
	return ok && also && strings.Trim(old, "0") == "" && made >= began
}

// firstEntry reads the first line of a reflog: the commit before, and when it was written.
func firstEntry(name string) (old string, at int64, ok bool) {
	data, err := readFile(name)
	if err != nil {
		return "", 0, false
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line, _, _ = strings.Cut(line, "\t")
	words := strings.Fields(line)
	if len(words) < 5 {
		return "", 0, false
	}
	at, err = strconv.ParseInt(words[len(words)-2], 10, 64)
	return words[0], at, err == nil
}

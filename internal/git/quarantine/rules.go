package quarantine

import (
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// Rule names why something from a box was refused.
type Rule string

// The rules. Their text is stable: it is printed and put into JSON.
const (
	RuleMissing      Rule = "missing"
	RuleSymlinkFile  Rule = "file-symlink"
	RuleFIFO         Rule = "file-fifo"
	RuleDevice       Rule = "file-device"
	RuleSocket       Rule = "file-socket"
	RuleDirectory    Rule = "file-directory"
	RuleHardLink     Rule = "file-hard-link"
	RuleTooLarge     Rule = "too-large"
	RuleChanged      Rule = "changed-while-read"
	RuleHeader       Rule = "bundle-header"
	RuleRef          Rule = "bundle-ref"
	RulePrerequisite Rule = "bundle-prerequisite"
	RulePack         Rule = "pack"
	RulePackLimit    Rule = "pack-limit"
	RuleObject       Rule = "object"
	RuleBase         Rule = "base"
	RuleMode         Rule = "mode"
	RuleName         Rule = "name"
	RuleDotGit       Rule = "dot-git"
	RuleSymlink      Rule = "symlink"
	RuleSubmodule    Rule = "submodule"
	RuleTree         Rule = "tree"
)

// RefusedError says that something from a box is hostile or broken. The user's repository was not touched.
type RefusedError struct {
	Rule   Rule
	Commit string // where it is, if it is in a commit
	Path   string // inside the commit, or of the file; raw, quoted by Error
	Reason string
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	b.WriteString("refused")
	if e.Commit != "" {
		b.WriteString(": commit " + git.Short(e.Commit))
	}
	if e.Path != "" {
		b.WriteString(": " + git.Quote(git.Clip(e.Path)))
	}
	b.WriteString(": " + e.Reason)
	return b.String()
}

func refuse(rule Rule, format string, args ...any) *RefusedError {
	return &RefusedError{Rule: rule, Reason: fmt.Sprintf(format, args...)}
}

package quarantine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/safetext"
)

// fault is why one entry can't be allowed.
type fault struct {
	rule   Rule
	reason string
}

const maxNameBytes = 255

// checkName checks one name in a tree, for every file system that the repository may be checked out on.
func checkName(name string) *fault {
	switch {
	case name == "" || name == "." || name == "..":
		return &fault{RuleTree, fmt.Sprintf("a name that is %q", name)}
	case strings.ContainsAny(name, "/\x00"):
		return &fault{RuleTree, "a name with a slash or NUL in it"}
	case IsDotGit(name):
		return &fault{RuleDotGit, "a name that some file system takes for .git"}
	case isModules(name) && name != ".gitmodules":
		return &fault{RuleDotGit, "a name that some file system takes for .gitmodules"}
	case hasControl(name):
		return &fault{RuleName, "a control character in the name"}
	case len(name) > maxNameBytes:
		return &fault{RuleName, fmt.Sprintf("a name of more than %d bytes", maxNameBytes)}
	}
	return nil
}

// IsDotGit says whether any file system takes name for .git, or a part of it where a backslash separates.
func IsDotGit(name string) bool {
	for part := range strings.SplitSeq(name, `\`) {
		s := plain(part)
		if same(s, ".git") || hasShortName(s, "git", 3) {
			return true
		}
	}
	return false
}

func isModules(name string) bool { return spells(name, ".gitmodules", "gitmod", "gi7eba") }

// isSteering says whether name is a file of git's that must not be a symbolic link: git follows it out of the tree.
func isSteering(name string) bool {
	return isModules(name) || isAttributes(name) || spells(name, ".gitignore", "gitign", "gi250a") ||
		spells(name, ".mailmap", "mailma", "maba30")
}

func isAttributes(name string) bool { return spells(name, ".gitattributes", "gitatt", "gi7d29") }

// spells says whether some file system takes name for want, whose short names on NTFS begin with one of shorts.
func spells(name, want string, shorts ...string) bool {
	for part := range strings.SplitSeq(name, `\`) {
		s := plain(part)
		if same(s, want) {
			return true
		}
		for _, short := range shorts {
			if hasShortName(s, short, 2) {
				return true
			}
		}
	}
	return false
}

// same ignores case. Not every table of cases is Unicode's own: in some, İ becomes a plain i.
func same(name, want string) bool {
	return strings.EqualFold(name, want) || strings.ToLower(name) == want
}

// plain removes what HFS+ ignores in a name, and what NTFS ignores at its end: a stream's name, dots and spaces.
func plain(name string) string {
	if ascii := !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }); !ascii {
		name = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, name)
	}
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimRight(name, ". ")
}

// hasShortName says whether name is an 8.3 name such as GIT~1 or, when those are taken, GI7EB~10: a beginning of
// prefix of at least least bytes, a tilde and digits.
func hasShortName(name, prefix string, least int) bool {
	head, digits, ok := strings.Cut(name, "~")
	if !ok || len(head) < least || len(head) > len(prefix) || len(digits) == 0 || len(digits) > 6 {
		return false
	}
	return strings.EqualFold(head, prefix[:len(head)]) && strings.Trim(digits, "0123456789") == ""
}

// hasControl finds characters that steer a terminal or reverse the order of letters. Bytes that aren't UTF-8 are names
// in an old encoding, and allowed.
func hasControl(s string) bool { return strings.ContainsFunc(s, safetext.Steers) }

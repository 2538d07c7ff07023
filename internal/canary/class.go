package canary

import (
	"path"
	"slices"
	"strings"
)

// class says how a file is compared.
type class int

const (
	byContent class = iota // what isn't known counts as something that steers git
	byType                 // that it is a plain file: objects, logs, git's scratch, the agent's own
	asRef
	asPacked
	asStashes
	asLock // that it is there
)

// isLock says whether git takes a file for a sign that another git is at work.
func isLock(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, `"`), ".lock") || path.Base(name) == "gc.pid"
}

// scratch are names that git writes at every turn and that steer nothing. info/refs is for web servers.
func scratch() []string {
	return []string{"COMMIT_EDITMSG", "TAG_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "ORIG_HEAD", "FETCH_HEAD", "gc.log",
		"info/refs", "description", "lfs", "rr-cache"}
}

// classOf derives it from a path below .git, or from a full path outside.
func (o Own) classOf(name string) class {
	if path.IsAbs(name) {
		return byContent
	}
	if isLock(name) {
		return asLock
	}
	if rest, ok := strings.CutPrefix(name, "worktrees/"); ok {
		worktree, rest, _ := strings.Cut(rest, "/")
		first, _, _ := strings.Cut(rest, "/")
		if worktree == o.Admin && slices.Contains([]string{"HEAD", "index", "refs"}, first) {
			return byType
		}
		return classIn(rest)
	}
	switch name {
	case "packed-refs":
		return asPacked
	case "logs/refs/stash":
		return asStashes
	}
	if strings.HasPrefix(name, "modules/") {
		return classInModules(name)
	}
	return classIn(name)
}

// classIn is for a path in a git directory.
func classIn(name string) class {
	first, _, _ := strings.Cut(name, "/")
	switch {
	case first == "logs", strings.HasPrefix(name, "sharedindex."),
		slices.Contains(scratch(), name), slices.Contains(scratch(), first):
		return byType
	case first == "refs":
		return asRef
	case first == "objects" && !strings.HasSuffix(name, "alternates"):
		return byType
	}
	return byContent
}

// classInModules is for the git directories of submodules, whose names may have any number of parts.
func classInModules(name string) class {
	parts := strings.Split(name, "/")
	switch {
	case slices.Contains(parts, "hooks"), strings.HasPrefix(path.Base(name), "config"),
		strings.HasSuffix(name, "alternates"), slices.Contains(parts, "info") && !slices.Contains(parts, "objects"):
		return byContent
	}
	return byType
}

// sharedByClones says whether a file may well have a second name: clones on one machine share objects.
func sharedByClones(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first == "objects" || first == "lfs" || first == "modules" && strings.Contains(name, "/objects/")
}

func isIndex(name string) bool { return kindOf(name) == KindIndex }

// kindOf derives a finding's kind from a path.
func kindOf(name string) Kind {
	parts := strings.Split(name, "/")
	linked := parts[0] == "worktrees" && len(parts) == 3
	base := parts[len(parts)-1]
	switch {
	case !path.IsAbs(name) && isLock(name):
		return KindLock
	case path.IsAbs(name) && base == ".git", linked && base != "HEAD" && base != "index" && base != "config.worktree":
		return KindWorktree
	case path.IsAbs(name), slices.Contains(parts, "hooks"):
		return KindHook
	case base == "config", base == "config.worktree":
		return KindConfig
	case base == "HEAD" && (linked || len(parts) == 1):
		return KindHead
	case base == "index" && (linked || len(parts) == 1):
		return KindIndex
	}
	return KindFile
}

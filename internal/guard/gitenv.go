package guard

import "path"

// GitEnv is the git environment of a workspace, as NAME=value: a linked
// worktree's own git directory and work tree, and a ceiling above which git
// does not look for a repository. A clone of its own needs the ceiling alone.
func GitEnv(p Policy) []string {
	ceiling := "GIT_CEILING_DIRECTORIES=" + path.Dir(path.Clean(p.Workspace))
	if !p.Linked || p.GitDir == "" {
		return []string{ceiling}
	}
	return []string{
		"GIT_DIR=" + path.Clean(p.GitDir),
		"GIT_WORK_TREE=" + path.Clean(p.Workspace),
		ceiling,
	}
}

package guard

import "strings"

// CommitRule stands in the prompt, in the instructions for a box and in the skill, in the same words.
const CommitRule = "Commits go to the current branch: leave other branches and tags alone, and change no commit " +
	"that was there before you."

// Prompt is the guard's part of a prompt: its rules with the real paths, so that an agent need not learn them from
// denials.
func Prompt(p Policy) string {
	prompt := "## SANDBOX RULES (CRITICAL)\n\n"
	line := func(s string) { prompt += "- " + s + "\n" }
	line("You work in an isolated workspace: `" + p.Workspace + "`. All of your work belongs there.")
	outside := "`" + p.Workspace + "`"
	if len(p.Scratch) > 0 {
		outside += " and the directories for temporary files"
	}
	line("Never `cd` to an absolute path outside " + outside + ". Use relative paths.")
	if p.Host != "" {
		line("Never aim a git command at the host repository `" + p.Host +
			"`: no `git -C`, `--git-dir`, `--work-tree`, `GIT_DIR` or path that leads there.")
	} else {
		line("Never aim a git command at a repository outside the workspace.")
	}
	rule := CommitRule
	if p.Branch != "" {
		rule += " It is `" + p.Branch + "`."
	}
	line(rule + " Do not change git's configuration.")
	if len(p.Scratch) > 0 {
		line("Temporary files may go to `" + strings.Join(p.Scratch, "`, `") + "`, and you may work there.")
	}
	line("Do not touch the settings of this guard or of the agent's hooks.")
	line("What leads outside is denied by a hook or fails by the kernel, and is logged. Read the reason and do the same " +
		"within the workspace; do not try to get around it.")
	return prompt
}

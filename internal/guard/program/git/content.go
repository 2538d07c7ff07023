package git

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// Wrote judges what is written into the git directory of a repository
// below the workspace: its hooks are run and its settings obeyed later.
func (s *Git) Wrote(name string, content text) {
	if content.First() != word.Literal || !strings.Contains(name, "/.git/") {
		return
	}
	at := arg{Text: word.Lit(name)}
	switch {
	case strings.Contains(name, "/.git/hooks/"):
		s.Isolated(func() { s.RunFile(content, []arg{at}) })
	case strings.HasSuffix(name, "/.git/config") || strings.HasSuffix(name, "/.git/config.worktree"):
		for _, line := range content.Lines() {
			if key, value, ok := strings.Cut(line.Known(), "="); ok && !strings.HasPrefix(strings.TrimSpace(key), "#") {
				s.Mentions(word.Lit(value), at)
			}
		}
	}
}

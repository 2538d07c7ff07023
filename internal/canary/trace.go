package canary

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

// maxTrace bounds the record of an agent's git commands that is read: tens of thousands of commands.
const maxTrace = 256 << 20

// TraceEnv is the agent's environment that makes git record each command in a file. Without it a commit that the agent
// makes in the user's own worktree looks like one of the user's.
func TraceEnv(file string) []string {
	return []string{"GIT_TRACE2_EVENT=" + file, "GIT_TRACE2_EVENT_BRIEF=1", "GIT_TRACE2_EVENT_NESTING=1"}
}

// witness is git's record of the agent's commands.
type witness struct {
	outside []string // commands that may write, run on the repository but not in the agent's worktree
	names   map[string]bool
	blind   bool // the record is too long to read completely
}

func (w witness) ran(name string) bool { return w.names[name] }

// accuse makes a finding grave if its explanation may be the agent's own work.
func (w witness) accuse(f *Finding) {
	if !f.Ordinary {
		return
	}
	switch {
	case len(w.outside) > 0:
		f.Ordinary, f.Why = false, "the agent ran "+strings.Join(w.outside[:min(3, len(w.outside))], ", ")
	case w.blind:
		f.Ordinary, f.Why = false, "it could be work done meanwhile, but the record of the agent's git commands is too "+
			"long to read"
	}
}

type traced struct {
	argv     []string
	name     string
	worktree string
}

// readTrace reads the record. It skips invalid lines: the agent may have written them.
func readTrace(ctx context.Context, own Own, common string) witness {
	w := witness{names: map[string]bool{}}
	if own.Trace == "" {
		return w
	}
	f, err := openRegular(own.Trace)
	if err != nil {
		return w
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || info.Size() > maxTrace {
		w.blind = true
		return w
	}
	calls := map[string]*traced{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 4<<20)
	for in.Scan() && ctx.Err() == nil {
		note(calls, in.Bytes())
	}
	w.blind = in.Err() != nil
	for _, c := range calls {
		w.names[c.name] = true
		if c.outside(own, common) {
			words := "git " + strings.Join(c.argv[min(1, len(c.argv)):], " ")
			w.outside = append(w.outside, "`"+clean(words)+"` in "+clean(whereWords(c.worktree)))
		}
	}
	slices.Sort(w.outside)
	return w
}

func whereWords(worktree string) string {
	if worktree == "" {
		return "a git directory"
	}
	return worktree
}

func note(calls map[string]*traced, line []byte) {
	if !bytes.Contains(line, []byte(`"event":"start"`)) && !bytes.Contains(line, []byte(`"event":"def_repo"`)) &&
		!bytes.Contains(line, []byte(`"event":"cmd_name"`)) {
		return
	}
	var e struct {
		Event, SID, Name, Worktree string
		Argv                       []string
	}
	if json.Unmarshal(line, &e) != nil || e.SID == "" {
		return
	}
	c := calls[e.SID]
	if c == nil {
		c = &traced{}
		calls[e.SID] = c
	}
	switch e.Event {
	case "start":
		c.argv = e.Argv
	case "def_repo":
		c.worktree = e.Worktree
	case "cmd_name":
		c.name = e.Name
	}
}

// outside says whether a command worked on the shared repository from elsewhere than the agent's worktree, and may have
// written. Repositories that the agent made itself, for tests for example, don't concern the canary.
func (c *traced) outside(own Own, common string) bool {
	if reads(c.name) || c.worktree != "" && under(own.Workspace, c.worktree) {
		return false
	}
	for _, a := range c.argv {
		if strings.HasPrefix(a, "--git-dir") || strings.Contains(a, common) {
			return true
		}
	}
	if c.worktree == "" { // run in a git directory itself, or in no repository at all
		return slices.Contains([]string{"update-ref", "symbolic-ref", "branch", "tag", "reflog", "replace", "notes"}, c.name)
	}
	if sameDir(filepath.Join(c.worktree, ".git"), common) {
		return true
	}
	admin := adminOf(common, c.worktree)
	return admin != "" && filepath.Base(admin) != own.ID
}

// under says whether a path that an agent named is dir or lies below it.
func under(dir, path string) bool {
	return paths.Within(filepath.Clean(path), dir) || sameDir(dir, path)
}

// reads says whether a git command only ever reads. What isn't known may write.
func reads(name string) bool {
	return slices.Contains([]string{"status", "log", "show", "diff", "rev-parse", "rev-list", "ls-files", "ls-tree",
		"cat-file", "blame",
		"grep", "describe", "for-each-ref", "show-ref", "merge-base", "name-rev", "shortlog", "version", "help",
		"check-ignore",
		"check-attr", "check-ref-format", "diff-tree", "diff-index", "diff-files", "ls-remote", "var", "count-objects",
		"whatchanged"}, name)
}

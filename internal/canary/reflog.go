package canary

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// step is one line of a reflog.
type step struct{ old, new, words string }

func logLines(path string) ([]string, error) {
	b, err := readBounded(path, maxLog)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), nil
}

// stepsSince reads what a reflog has gained since its last line was the one given; ok is false if that line is gone, or
// the log is broken: then it explains nothing. gc removes old lines from the front.
func stepsSince(path, last string) (list []step, ok bool) {
	lines, err := logLines(path)
	if err != nil {
		return nil, false
	}
	if last != "" {
		at := slices.Index(lines, last)
		if at < 0 {
			return nil, false
		}
		lines = lines[at+1:]
	}
	for _, line := range lines {
		s, ok := parseStep(line)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

func parseStep(line string) (step, bool) {
	meta, words, _ := strings.Cut(line, "\t")
	f := strings.SplitN(meta, " ", 3)
	if len(f) != 3 {
		return step{}, false
	}
	return step{f[0], f[1], words}, true
}

// story is what a worktree's own reflog says about the time since the shot: where HEAD is, and which branches it moved
// where.
type story struct {
	known   bool
	head    string // a ref, or "" when detached
	last    string // the commit of the last step
	moved   map[string]string
	visited map[string]bool // branches that were checked out
}

// ordinary says whether a step of HEAD is one that a person makes by working. A ref moved by hand leaves no message,
// and a reset discards commits.
func (s step) ordinary() bool {
	for _, start := range []string{"commit", "merge ", "pull", "cherry-pick", "revert", "rebase", "am",
		"cco: fast-forward"} {
		if strings.HasPrefix(s.words, start) {
			return true
		}
	}
	return false
}

// readStory follows HEAD through a worktree's reflog. A step that doesn't follow from the one before, or that isn't
// ordinary, makes the branch that it moved unexplained.
func readStory(p place, refs map[Raw]git.Ref) story {
	t := story{head: p.Head, moved: map[string]string{}, visited: map[string]bool{}}
	steps, ok := stepsSince(filepath.Join(p.Dir, "logs", "HEAD"), p.Last)
	if !ok {
		return t
	}
	t.known = true
	if !strings.HasPrefix(t.head, "refs/") {
		t.head = ""
	}
	at := func(ref string) string {
		if oid, ok := t.moved[ref]; ok {
			return oid
		}
		return refs[Raw(ref)].OID
	}
	for _, s := range steps {
		t.last = s.new
		if _, to, ok := checkout(s.words); ok {
			ref := "refs/heads/" + to
			t.head = ref
			t.visited[ref] = true
			if at(ref) == "" {
				t.moved[ref] = s.new // made by this checkout, or a detached commit, which is no ref
			}
			continue
		}
		if ref, ok := cutAfter(s.words, "(finish): returning to "); ok {
			t.head, t.moved[ref] = ref, s.new
			continue
		}
		if strings.Contains(s.words, "(start): checkout ") {
			t.head = ""
		}
		if t.head == "" {
			continue
		}
		if s.old == s.new {
			continue
		}
		if !s.ordinary() || at(t.head) != s.old && at(t.head) != "" {
			t.moved[t.head] = unexplained
			continue
		}
		t.moved[t.head] = s.new
	}
	return t
}

// unexplained is no object id, so that it matches no ref.
const unexplained = "?"

func checkout(words string) (from, to string, ok bool) {
	rest, ok := strings.CutPrefix(words, "checkout: moving from ")
	if !ok {
		return "", "", false
	}
	from, to, ok = strings.Cut(rest, " to ")
	return from, to, ok
}

func cutAfter(s, sep string) (string, bool) {
	_, after, ok := strings.Cut(s, sep)
	return after, ok
}

// lore is everything that may explain a change.
type lore struct {
	shot    *Shot
	own     Own
	repo    *git.Repo
	stories map[string]story // by git directory
	agent   story            // of the agent's own worktree
	fetched bool             // a worktree of the user's has fetched
	fetches string           // what was fetched last
	witness witness
}

func learn(ctx context.Context, repo *git.Repo, shot *Shot, own Own) *lore {
	l := &lore{shot: shot, own: own, repo: repo, stories: map[string]story{}, witness: readTrace(ctx, own, shot.Common)}
	for _, p := range shot.Places {
		l.stories[p.Dir] = readStory(p, shot.Refs)
		if now := placeAt(p.Dir); now.Fetch != "" && now.Fetch != p.Fetch {
			l.fetched = true
			if b, err := readBounded(filepath.Join(p.Dir, "FETCH_HEAD"), maxLog); err == nil {
				l.fetches += string(b) + "\n"
			}
		}
	}
	if shot.Admin != "" {
		l.agent = readStory(place{Dir: shot.Admin, Head: "refs/heads/" + own.Branch}, shot.Refs)
	}
	return l
}

// peer says whether a ref or worktree belongs to another session of cco's.
func (l *lore) peer(id string) bool { return slices.Contains(l.own.Peers, id) }

// ref explains a change of a ref, if it can.
func (l *lore) ref(ctx context.Context, f *Finding, name string, was, is git.Ref) error {
	if was.Symref != "" || is.Symref != "" {
		if strings.HasPrefix(name, "refs/remotes/") && l.fetched && strings.HasPrefix(is.Symref, "refs/remotes/") {
			f.ordinary("you fetched meanwhile")
		}
		return nil
	}
	if l.agent.visited[name] {
		f.Why = "the agent's own worktree had it checked out"
		return nil
	}
	switch {
	case strings.HasPrefix(name, "refs/heads/"):
		return l.branch(ctx, f, name, was, is)
	case name == "refs/stash":
		l.stash(f)
	case strings.HasPrefix(name, "refs/remotes/"):
		l.remote(f, name)
	case strings.HasPrefix(name, "refs/tags/"):
		if was.OID == "" && strings.Contains(l.fetches, is.OID+"\t") {
			f.ordinary("you fetched it meanwhile")
		}
	case strings.HasPrefix(name, "refs/cco/"):
		id := strings.TrimPrefix(name, "refs/cco/")
		if len(id) >= 8 && l.peer(id[:8]) {
			f.ordinary("cco keeps the work of session " + id[:8] + " there")
		}
	case strings.HasPrefix(name, "refs/prefetch/"):
		f.ordinary("git's background maintenance writes there")
	}
	return nil
}

func (f *Finding) ordinary(why string) { f.Ordinary, f.Why = true, why }

// branch explains ordinary steps of a user's worktree, or of another session, that discard nothing.
func (l *lore) branch(ctx context.Context, f *Finding, name string, was, is git.Ref) error {
	if id, ok := strings.CutPrefix(name, "refs/heads/cco/"); ok && l.peer(id) {
		f.ordinary("session " + id + " works on it")
		return nil
	}
	if is.OID == "" {
		return nil
	}
	if was.OID != "" {
		forward, err := l.repo.IsAncestor(ctx, was.OID, is.OID)
		if err != nil || !forward {
			return err
		}
	}
	for _, p := range l.shot.Places {
		if t := l.stories[p.Dir]; t.known && t.moved[name] == is.OID {
			f.ordinary("the reflog of " + l.worktreeOf(p.Dir) + " shows it as work that was done there")
			return nil
		}
	}
	if slices.Contains(l.own.Tips, is.OID) {
		f.ordinary("cco brought it there by a pull")
	}
	return nil
}

// remote explains the effects of a user's fetch or push. The agent's fetches leave no trace in the user's worktrees.
func (l *lore) remote(f *Finding, name string) {
	if l.fetched {
		f.ordinary("you fetched meanwhile")
		return
	}
	lines, err := logLines(filepath.Join(l.shot.Common, "logs", filepath.FromSlash(name)))
	if err != nil || len(lines) == 0 || l.witness.ran("push") {
		return
	}
	if s, ok := parseStep(lines[len(lines)-1]); ok && s.words == "update by push" && s.new == f.Is.OID {
		f.ordinary("you pushed meanwhile")
	}
}

// stash lets stashes come and go where the agent may stash, but none that was there before.
func (l *lore) stash(f *Finding) {
	if !l.own.Stash {
		return
	}
	if l.shot.Stash != "" {
		before, err := l.shot.content(l.shot.Stash)
		if err != nil {
			return
		}
		now, err := logLines(stashLog(l.shot.Common))
		if err != nil {
			f.Why = "stashes that were there before are gone"
			return
		}
		for line := range strings.Lines(string(before)) {
			if !hasStash(now, line) {
				f.Why = "stashes that were there before are gone"
				return
			}
		}
	}
	f.ordinary("the agent may stash, and every worktree shares the list")
}

// hasStash looks for a stash and ignores its predecessor, which changes when another is dropped.
func hasStash(now []string, line string) bool {
	want, ok := parseStep(strings.TrimSuffix(line, "\n"))
	return ok && slices.ContainsFunc(now, func(n string) bool {
		s, ok := parseStep(n)
		return ok && s.new == want.new
	})
}

// worktreeOf names a worktree by its git directory.
func (l *lore) worktreeOf(dir string) string {
	if dir == l.shot.Common {
		return "the main worktree"
	}
	if to := firstLine(filepath.Join(dir, "gitdir")); to != "" {
		return "worktree " + clean(filepath.Dir(to))
	}
	return "worktree " + clean(filepath.Base(dir))
}

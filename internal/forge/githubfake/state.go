package githubfake

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/proc"
)

// repo is a repository with its pull requests. The server's lock guards all of it.
type repo struct {
	owner, name string
	dir         string // bare
	private     bool
	writers     []string
	readers     []string // collaborators who may not write
	members     []string
	pulls       []*pull // in order of their numbers
	checks      map[string][]object
	statuses    map[string][]object
	required    []string // by the protection of its branches
	ruled       []string // by a ruleset
	pipeline    []string // jobs of its own runner
	runner      Runner
	jobs        []*job
	diffs       map[string]forge.Diff
	patches     map[string][]object
	activities  []activity
	strict      string // a branch that takes only requests which contain it
	byRule      bool   // because of a ruleset
	hooks       []hook
	keys        []object
	version     int               // goes up with every change
	lists       map[string]listed // answers to long lists, which most polls find unchanged
}

type listed struct {
	version int
	answer  answer
	link    string
}

type pull struct {
	number           int
	title, body      string
	author           string
	head, base       string
	headSHA, baseSHA string
	closed, draft    bool
	merged           *time.Time
	created, updated time.Time
	comments         []*comment
	reviews          []*review
	lines            []*lineComment
}

type comment struct {
	id               int64
	author, body     string
	created, updated time.Time
}

type review struct {
	id                 int64
	author, body       string
	state              string // PENDING, COMMENTED, APPROVED, CHANGES_REQUESTED, DISMISSED
	commit             string
	submitted, updated time.Time
}

type lineComment struct {
	comment
	review        *review
	replyTo       int64
	path, text    string
	line, first   int // line is 0 when the comment is outdated
	old           bool
	commit, start string
	resolved      bool
	resolver      string
}

func (r *repo) full() string { return r.owner + "/" + r.name }

// association is what GitHub says about a user.
func (r *repo) association(login string) string {
	switch {
	case login == r.owner:
		return "OWNER"
	case slices.Contains(r.members, login):
		return "MEMBER"
	case slices.Contains(r.writers, login), slices.Contains(r.readers, login):
		return "COLLABORATOR"
	}
	return "NONE"
}

func (r *repo) canWrite(login string) bool {
	return login == r.owner || slices.Contains(r.writers, login) || slices.Contains(r.members, login)
}

func (r *repo) find(number int) *pull {
	i, ok := slices.BinarySearchFunc(r.pulls, number, func(p *pull, n int) int { return cmp.Compare(p.number, n) })
	if !ok {
		return nil
	}
	return r.pulls[i]
}

// ref reads a branch without starting a git: it is asked for at every request.
func (r *repo) ref(branch string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, "refs", "heads", filepath.FromSlash(branch)))
	if err == nil {
		return strings.TrimSpace(string(data))
	}
	packed, _ := os.ReadFile(filepath.Join(r.dir, "packed-refs"))
	for line := range strings.Lines(string(packed)) {
		if sha, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == "refs/heads/"+branch {
			return sha
		}
	}
	return ""
}

func (r *repo) git(ctx context.Context, args ...string) (string, error) {
	out, err := proc.Output(ctx, proc.Cmd{Argv: append([]string{"git", "-C", r.dir}, args...), Env: gitEnv()})
	return strings.TrimRight(string(out), "\n"), err
}

func gitEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=GitHub", "GIT_AUTHOR_EMAIL=noreply@github.example", "GIT_COMMITTER_NAME=GitHub",
		"GIT_COMMITTER_EMAIL=noreply@github.example",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
}

// refresh notices a push: the head moves, and comments on lines that are no longer there become outdated.
func (s *Server) refresh(ctx context.Context, r *repo, p *pull) {
	if p.closed {
		return
	}
	head, base := r.ref(p.head), r.ref(p.base)
	if head == "" || head == p.headSHA {
		p.baseSHA = cmp.Or(p.baseSHA, base)
		return
	}
	p.headSHA, p.baseSHA, p.updated = head, base, s.time()
	r.version++
	if len(p.lines) == 0 {
		return
	}
	diff, _ := s.diff(ctx, r, p)
	for _, c := range p.lines {
		text, ok := diff.Line(c.path, c.first, c.old)
		if c.line = 0; ok && text == c.text {
			c.line, c.commit = c.first, head
		}
	}
}

// diff gives the diff of a pull request, and its files as the API shows them.
func (s *Server) diff(ctx context.Context, r *repo, p *pull) (forge.Diff, []object) {
	key := p.baseSHA + p.headSHA
	if d, ok := r.diffs[key]; ok {
		return d, r.patches[key]
	}
	// It is kept, so a client that hangs up must not cut it short.
	text, err := r.git(context.WithoutCancel(ctx), "diff", "--no-color", "--no-ext-diff", "--no-renames", p.baseSHA+
		"..."+p.headSHA)
	if err != nil {
		s.contract.complain("diff %s: %v", key, err)
	}
	var files []object
	for _, part := range strings.Split("\n"+text, "\ndiff --git ")[1:] {
		files = append(files, fileObject(part))
	}
	r.diffs[key], r.patches[key] = forge.ParseDiff(text+"\n"), files
	return r.diffs[key], files
}

func fileObject(part string) object {
	lines := strings.Split(part, "\n")
	name, status := "", "modified"
	var patch []string
	plus, minus := 0, 0
	for _, l := range lines {
		switch {
		case len(patch) > 0 || strings.HasPrefix(l, "@@ "):
			patch = append(patch, l)
			if strings.HasPrefix(l, "+") {
				plus++
			} else if strings.HasPrefix(l, "-") {
				minus++
			}
		case strings.HasPrefix(l, "--- a/"):
			name = cmp.Or(name, l[6:])
		case strings.HasPrefix(l, "+++ b/"):
			name = l[6:]
		case strings.HasPrefix(l, "new file"):
			status = "added"
		case strings.HasPrefix(l, "deleted file"):
			status = "removed"
		}
	}
	f := object{"filename": name, "status": status, "additions": plus, "deletions": minus, "changes": plus + minus,
		"sha": strings.Repeat("0", 40)}
	if len(patch) > 0 {
		f["patch"] = strings.Join(patch, "\n")
	}
	return f
}

// mergeTree merges in the bare repository: the tree, or "" on a conflict.
func (r *repo) mergeTree(ctx context.Context, base, head string) string {
	out, err := r.git(ctx, "merge-tree", "--write-tree", base, head)
	if err != nil {
		return ""
	}
	return strings.SplitN(out, "\n", 2)[0]
}

func (r *repo) merge(ctx context.Context, p *pull) (string, error) {
	tree := r.mergeTree(ctx, r.ref(p.base), p.headSHA)
	if tree == "" {
		return "", fmt.Errorf("conflict")
	}
	commit, err := r.git(ctx, "commit-tree", tree, "-p", r.ref(p.base), "-p", p.headSHA, "-m",
		fmt.Sprintf("Merge pull request #%d", p.number))
	if err == nil {
		_, err = r.git(ctx, "update-ref", "refs/heads/"+p.base, commit)
	}
	return commit, err
}

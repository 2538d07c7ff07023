package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
)

// KeptRef is the prefix of refs to what no branch of the session leads to. They are sent in the rest bundle.
const KeptRef = "refs/cco/kept/"

// These limit what a hostile workspace can make of publishing.
const (
	lookTime  = time.Minute     // for refs and HEAD
	leftTime  = 4 * time.Minute // for what was left uncommitted
	maxKept   = 1000            // things beside the branch that are brought at once
	maxNamed  = 100             // of them, by name in a result
	maxLost   = 20              // things that can't be brought, by name in a result
	maxWords  = 200             // bytes, of one name
	maxListed = 64 << 20        // bytes, of one listing of git's
)

// title is the name that a person uses for what is beside the branch: git's own where it leads to the same, and where
// it was found beside ours.
func (f ref) title() string {
	name := strings.TrimPrefix(f.name, KeptRef)
	if f.from == "refs/"+name || strings.HasPrefix(f.from, "stash@{") {
		return f.from
	}
	return name + " (" + f.from + ")"
}

// lookBeside finds what of the workspace's own refs, stashes and HEAD the branch doesn't lead to. It changes nothing,
// and reports what it can't read.
func lookBeside(ctx context.Context, work repo, j Job, r *Result, head string) (all []ref) {
	ctx, cancel := context.WithTimeout(ctx, j.look())
	defer cancel()
	r.Lost = append(r.Lost, work.outside(ctx, j.Workspace)...)
	all, lost, err := work.listed(ctx, head)
	if r.Lost = append(r.Lost, lost...); err != nil {
		r.Lost = append(r.Lost, "its refs can't be listed: "+firstOf("", err))
	}
	var not []string
	for _, oid := range []string{j.Base, r.Head, r.Wip} {
		if oid != "" {
			not = append(not, oid)
		}
	}
	news, err := work.news(ctx, not, all...)
	if err != nil { // some of it is broken
		news = map[string]bool{}
		all = slices.DeleteFunc(all, func(f ref) bool {
			more, err := work.news(ctx, not, f)
			if err != nil {
				r.Lost = append(r.Lost, f.from+": "+firstOf("", err))
			}
			maps.Copy(news, more)
			return err != nil
		})
	}
	return slices.DeleteFunc(all, func(f ref) bool { return !news[f.oid] })
}

// listed gives the commits of all refs but cco's own, of all stashes, and HEAD. What leads nowhere is lost.
func (r repo) listed(ctx context.Context, head string) (all []ref, lost []string, err error) {
	out, err := r.text(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, nil, err
	}
	var ask strings.Builder
	for line := range strings.Lines(out) {
		oid, _, _ := strings.Cut(line, " ")
		ask.WriteString(oid + "^{}\n")
	}
	is, err := r.text(ctx, strings.NewReader(ask.String()), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	kinds := strings.Split(is, "\n")
	stash, i := "", 0
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		_, from, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		oid, kind, _ := strings.Cut(kinds[min(i, len(kinds)-1)], " ") // a tag's target, in its place
		i++
		name := keptName(from, oid)
		if below(seen, name) { // packed refs may be a and a/b, of which a repository has only one
			name = "other/" + oid
		}
		switch {
		case from == OutRef, from == WipRef, seen[name], kind == "tree", kind == "blob":
		case kind != "commit":
			lost = append(lost, from+" leads to nothing that can be read")
		case from == "refs/stash":
			stash = oid
		default:
			seen[name], all = true, append(all, ref{KeptRef + name, oid, from})
		}
	}
	if !slices.ContainsFunc(all, func(f ref) bool { return f.oid == head }) {
		all = append(all, ref{KeptRef + "other/" + head, head, "HEAD"})
	}
	if stash == "" {
		return all, lost, err
	}
	out, _ = r.text(ctx, nil, "rev-list", "--walk-reflogs", "refs/stash") // one without a reflog is there all the same
	stashes := strings.Fields(out)
	if !slices.Contains(stashes, stash) {
		stashes = slices.Insert(stashes, 0, stash)
	}
	for i, oid := range stashes {
		all = append(all, ref{fmt.Sprintf("%sstash/%d", KeptRef, i), oid, fmt.Sprintf("stash@{%d}", i)})
	}
	return all, lost, err
}

// below says whether a name is below one of others.
func below(names map[string]bool, name string) bool {
	for name = path.Dir(name); name != "."; name = path.Dir(name) {
		if names[name] {
			return true
		}
	}
	return false
}

// outside names the worktrees that the agent made of its repository elsewhere, whose files stay there.
func (r repo) outside(ctx context.Context, workspace string) (lost []string) {
	out, err := r.text(ctx, nil, "worktree", "list", "--porcelain")
	if err != nil {
		return []string{"its worktrees can't be listed: " + firstOf("", err)}
	}
	all := strings.Split(out, "\n\n")
	for _, one := range all[1:] { // after the repository itself
		dir, _, _ := strings.Cut(strings.TrimPrefix(one, "worktree "), "\n")
		if dir != "" && !paths.Within(dir, workspace) {
			lost = append(lost, "the files of the worktree "+dir+", which is outside the workspace")
		}
	}
	return lost
}

// keptName is a ref's name below KeptRef, or a name made from its commit if the agent's name could conflict with
// others.
func keptName(ref, oid string) string {
	name := strings.TrimPrefix(ref, "refs/")
	first, _, deep := strings.Cut(name, "/")
	odd := func(r rune) bool {
		return r > 'z' || !strings.ContainsRune("/._@+=-0123456789", r) && (r|0x20 < 'a' || r|0x20 > 'z')
	}
	// These names are made here and on the host.
	taken := []string{"stash", "reflog", "worktree", "index", "halfway", "other", "head", "uncommitted"}
	if !deep || slices.Contains(taken, strings.ToLower(first)) || len(name) > maxWords || strings.ContainsFunc(name, odd) {
		return "other/" + oid
	}
	for part := range strings.SplitSeq(name, "/") { // git takes these, and the host doesn't
		if part == "@" || strings.Trim(part, ".") != part || part[0] == '-' ||
			strings.HasSuffix(strings.ToLower(part), ".lock") {
			return "other/" + oid
		}
	}
	return name
}

// news are the commits that the given ones lead to and others don't.
func (r repo) news(ctx context.Context, not []string, of ...ref) (map[string]bool, error) {
	news := map[string]bool{}
	if len(of) == 0 {
		return news, nil
	}
	out, err := r.text(ctx, revisions(oids(of), not), "rev-list", "--stdin")
	for oid := range strings.FieldsSeq(out) {
		news[oid] = true
	}
	return news, err
}

func oids(refs []ref) (list []string) {
	for _, r := range refs {
		list = append(list, r.oid)
	}
	return list
}

func revisions(tips, not []string) io.Reader {
	var b strings.Builder
	for _, oid := range tips {
		b.WriteString(oid + "\n")
	}
	for _, oid := range not {
		b.WriteString("^" + oid + "\n")
	}
	return strings.NewReader(b.String())
}

// rest bundles what is beside the branch. If git fails for some of it, it reports that part and bundles the others.
func rest(ctx context.Context, work repo, j Job, r *Result, all []ref) (_ []ref, err error) {
	if more := len(all) - maxKept; more > 0 {
		r.Lost = append(r.Lost, fmt.Sprintf("%s and %d more: too many to bring at once", all[maxKept].from, more))
		all = all[:maxKept]
	}
	if r.Rest, err = bundle(ctx, work.plain(), j, RestBundle, all); err == nil || ctx.Err() != nil {
		return all, err
	}
	all = slices.DeleteFunc(all, func(f ref) bool {
		err := work.plain().pack(ctx, io.Discard, []string{f.oid}, []string{j.Base})
		if err != nil {
			r.Lost = append(r.Lost, f.from+": "+firstOf("", err))
		}
		return err != nil
	})
	r.Rest, err = bundle(ctx, work.plain(), j, RestBundle, all)
	return all, err
}

// name gives the number and the first names of what is beside the branch, and shortens lists to fit into a result.
func (r *Result) name(beside []ref) {
	r.Count = len(beside)
	for _, f := range beside[:min(maxNamed, len(beside))] {
		r.Names = append(r.Names, clip(f.title()))
	}
	if more := len(r.Lost) - maxLost; more > 0 {
		r.Lost = append(r.Lost[:maxLost], fmt.Sprintf("%d more", more))
	}
	for i := range r.Lost {
		r.Lost[i] = clip(r.Lost[i])
	}
}

func clip(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return safetext.Cut(s, maxWords)
}

// firstOf is the first line of git's message, or the error itself.
func firstOf(words string, err error) string {
	if exit, ok := errors.AsType[*proc.ExitError](err); ok && words == "" {
		words = exit.Stderr
	}
	if words = clip(words); words != "" {
		return words
	}
	return err.Error()
}

// text is git's output, if it is not too long.
func (r repo) text(ctx context.Context, in io.Reader, args ...string) (string, error) {
	c := r.cmd(args...)
	out := &limited{max: maxListed}
	c.Stdin, c.Stdout = in, out
	err := proc.Run(ctx, c)
	if out.full {
		err = errors.New("it is too much")
	}
	return out.String(), err
}

// limited accepts no more than max bytes.
type limited struct {
	strings.Builder
	max  int
	full bool
}

// Write fails when it is full, so that git ends.
func (l *limited) Write(p []byte) (int, error) {
	if l.full = l.full || l.Len()+len(p) > l.max; l.full {
		return 0, errors.New("too much")
	}
	return l.Builder.Write(p)
}

// readSmall reads a file of the agent's that must be small.
func readSmall(path string) (string, error) { return readUpTo(path, 4<<10) }

// readUpTo reads the beginning of a file of the agent's.
func readUpTo(path string, most int64) (string, error) {
	f, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, most))
	return string(data), err
}

// openFile opens a regular file, whatever an agent has put in its place.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("not a file"), f.Close())
	}
	return f, nil
}

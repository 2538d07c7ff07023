package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
)

// KeptRef is the prefix of refs to what no branch of the session leads to. They are sent in the rest bundle.
const KeptRef = "refs/cco/kept/"

// These limit what a hostile workspace can make of keeping; what exceeds them is reported as lost.
const (
	keepTime  = 2 * time.Minute
	leftTime  = 4 * time.Minute // for what was left uncommitted
	maxKept   = 1000            // things that are kept
	maxNamed  = 100             // of them, by name in a result
	maxLost   = 20              // things that can't be kept, by name in a result
	maxWords  = 200             // bytes, of one name
	maxTrees  = 64              // worktrees that are looked into
	maxTries  = 100             // runs of git, to find out what it fails for
	maxListed = 64 << 20        // bytes, of one listing of git's
)

// found is something that exists only in this workspace: a commit, its name below KeptRef, and where it was found.
type found struct{ name, from, oid string }

// title is the name that a person uses: git's own where it leads to the same, and where it was found beside ours.
func (f found) title() string {
	if f.from == "refs/"+f.name || strings.HasPrefix(f.from, "stash@{") {
		return f.from
	}
	return f.name + " (" + f.from + ")"
}

// keeping collects what was found.
type keeping struct {
	repo
	job  Job
	not  []string // commits that are saved anyway, with all their ancestors
	all  []found
	old  []string // commits that were kept before, and need a name only if nothing else leads to them
	drop []string // our own refs, to be removed
	lost []string
}

// keep finds what only this workspace has beside the branch, and gives it refs below KeptRef. It never fails: it
// reports what can't be kept.
func keep(ctx context.Context, work repo, j Job, r *Result, head, staged string) []found {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	k := &keeping{repo: work, job: j, lost: r.Lost, old: []string{head}}
	for _, oid := range []string{j.Base, r.Head, r.Wip} {
		if oid != "" {
			k.not = append(k.not, oid)
		}
	}
	if staged != "" {
		k.all = append(k.all, found{"index", "the index", staged})
	}
	k.worktrees(ctx)
	k.refs(ctx)
	if k.gitDir == "" {
		k.halfway(adminDir(j.Workspace))
	}
	k.peel(ctx)
	k.fresh(ctx)
	k.reflogs(ctx)
	k.write(ctx)
	if ctx.Err() != nil {
		k.reportLost("there was no time to look at everything")
	}
	r.Lost = k.lost
	return k.all
}

func (k *keeping) reportLost(format string, args ...any) {
	k.lost = append(k.lost, fmt.Sprintf(format, args...))
}

// refs takes every ref. Our own refs are removed, but not the commits that they lead to.
func (k *keeping) refs(ctx context.Context) {
	out, err := k.text(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		k.reportLost("its refs can't be listed: %v", err)
		return
	}
	stash := ""
	for line := range strings.Lines(out) {
		oid, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case ref == OutRef || ref == WipRef:
		case ref == "refs/cco" || strings.HasPrefix(ref, "refs/cco/"):
			k.old, k.drop = append(k.old, oid), append(k.drop, ref)
		case ref == "refs/stash":
			stash = oid
		default:
			k.all = append(k.all, found{keptName(ref, oid), ref, oid})
		}
	}
	if stash == "" {
		return
	}
	if out, err = k.text(ctx, nil, "rev-list", "--walk-reflogs", "refs/stash"); err != nil {
		k.reportLost("its stashes can't be read: %v", err)
	}
	all := strings.Fields(out)
	if !slices.Contains(all, stash) {
		all = slices.Insert(all, 0, stash) // its reflog is empty, or tells something else
	}
	for i, oid := range all {
		k.all = append(k.all, found{fmt.Sprintf("stash/%d", i), fmt.Sprintf("stash@{%d}", i), oid})
	}
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
	return name
}

// halfway takes the commits that git itself has set aside in an unfinished operation.
func (k *keeping) halfway(admin string) {
	for _, name := range []string{"ORIG_HEAD", "MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash",
		"rebase-merge/orig-head"} {
		text, err := readSmall(filepath.Join(admin, filepath.FromSlash(name)))
		if oid := strings.TrimSpace(text); err == nil && isHex(oid) {
			k.old = append(k.old, oid)
		}
	}
}

func isHex(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// peel turns the targets of refs into commits: a tag into its target, a file or directory into a new commit.
func (k *keeping) peel(ctx context.Context) {
	saved := func(oid string) bool { return slices.Contains(k.not, oid) }
	k.all = slices.DeleteFunc(k.all, func(f found) bool { return saved(f.oid) })
	k.old = slices.DeleteFunc(k.old, saved)
	var in strings.Builder
	for _, f := range k.all {
		in.WriteString(f.oid + "^{}\n")
	}
	for _, oid := range k.old {
		in.WriteString(oid + "^{commit}\n")
	}
	if in.Len() == 0 {
		return
	}
	out, err := k.text(ctx, strings.NewReader(in.String()), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if err != nil || len(lines) != len(k.all)+len(k.old) {
		k.reportLost("what its refs lead to can't be read: %v", err)
		k.all, k.old = nil, nil
		return
	}
	var all []found
	for i, f := range k.all {
		oid, kind, _ := strings.Cut(lines[i], " ")
		switch kind {
		case "commit":
		case "tree", "blob":
			if oid, err = k.wrap(ctx, oid, kind); err != nil {
				k.reportLost("%s: %v", f.from, err)
				continue
			}
		default:
			k.reportLost("%s leads to nothing that can be read", f.from)
			continue
		}
		all = append(all, found{f.name, f.from, oid})
	}
	old := k.old
	k.old = nil
	for i := range old {
		if oid, kind, _ := strings.Cut(lines[len(k.all)+i], " "); kind == "commit" {
			k.old = append(k.old, oid)
		}
	}
	k.all = all
}

// wrap makes a commit of a file or a directory.
func (k *keeping) wrap(ctx context.Context, oid, kind string) (_ string, err error) {
	if kind == "blob" {
		if oid, err = k.text(ctx, strings.NewReader("100644 blob "+oid+"\tcontent\n"), "mktree"); err != nil {
			return "", err
		}
	}
	return k.commitTree(ctx, strings.TrimSpace(oid), k.job.Base, "Kept by session "+k.job.Session)
}

// fresh drops what is saved anyway, and what git can't follow.
func (k *keeping) fresh(ctx context.Context) {
	news, err := k.news(ctx, k.all...)
	if err != nil {
		news = map[string]bool{}
		k.all = slices.DeleteFunc(k.all, func(f found) bool {
			more, err := k.news(ctx, f)
			if err != nil {
				k.reportLost("%s: %v", f.from, err)
			}
			for oid := range more {
				news[oid] = true
			}
			return err != nil
		})
	}
	k.all = slices.DeleteFunc(k.all, func(f found) bool { return !news[f.oid] })
}

// news are the commits that only the given ones lead to.
func (k *keeping) news(ctx context.Context, of ...found) (map[string]bool, error) {
	news := map[string]bool{}
	if len(of) == 0 {
		return news, nil
	}
	var tips []string
	for _, f := range of {
		tips = append(tips, f.oid)
	}
	out, err := k.text(ctx, revisions(tips, k.not), "rev-list", "--stdin")
	for oid := range strings.FieldsSeq(out) {
		news[oid] = true
	}
	return news, err
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

// reflogs takes the commits that only a reflog knows, or that were kept before: only the last of each line of commits.
func (k *keeping) reflogs(ctx context.Context) {
	not := slices.Clone(k.not)
	for _, f := range k.all {
		not = append(not, f.oid)
	}
	c := k.cmd("rev-list", "--reflog", "--parents", "--stdin")
	words := &proc.Tail{Max: 4 << 10}
	out := &limited{max: maxListed}
	c.Stdin, c.Stdout, c.Stderr = revisions(k.old, not), out, words
	if err := proc.Run(ctx, c); err != nil {
		k.reportLost("commits that only its reflogs know can't be read: %v", firstOf(words.String(), err))
		return
	}
	if strings.Contains(words.String(), saysPruned) {
		k.reportLost("its reflogs know commits that can't be read")
	}
	parents := map[string]bool{}
	var oids []string
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		oids = append(oids, f[0])
		for _, p := range f[1:] {
			parents[p] = true
		}
	}
	for _, oid := range oids {
		if !parents[oid] {
			k.all = append(k.all, found{"reflog/" + oid[:12], "commit " + oid[:12], oid})
		}
	}
}

// write makes refs for everything that was found, and removes the earlier ones.
func (k *keeping) write(ctx context.Context) {
	seen := map[string]bool{}
	k.all = slices.DeleteFunc(k.all, func(f found) bool {
		again := seen[f.name]
		seen[f.name] = true
		return again && strings.HasPrefix(f.name, "other/") // the same commit by two odd names
	})
	if more := len(k.all) - maxKept; more > 0 {
		k.reportLost("%s and %d more: too many to keep", k.all[maxKept].from, more)
		k.all = k.all[:maxKept]
	}
	var in strings.Builder
	for _, ref := range k.drop {
		in.WriteString("delete " + ref + "\n")
	}
	if in.Len() > 0 {
		if _, err := k.text(ctx, strings.NewReader(in.String()), "update-ref", "--no-deref", "--stdin"); err != nil {
			k.reportLost("refs in the place of cco's can't be removed: %v", err)
		}
		in.Reset()
	}
	for _, f := range k.all {
		in.WriteString("update " + KeptRef + f.name + " " + f.oid + "\n")
	}
	if in.Len() == 0 {
		return
	}
	if _, err := k.text(ctx, strings.NewReader(in.String()), "update-ref", "--no-deref", "--stdin"); err != nil {
		k.reportLost("%s and what else is beside the branch (%d) can't be kept: %v", k.all[0].from, len(k.all), err)
		k.all = nil
	}
}

// rest bundles what is beside the branch. If git fails for some of it, it reports that part and bundles the others.
func rest(ctx context.Context, work repo, j Job, r *Result, all []found) (err error) {
	path := filepath.Join(j.Exchange, RestBundle)
	not := []string{"^" + j.Base, "^" + r.Head}
	make := func(all []found) error {
		var revs []string
		for _, f := range all {
			revs = append(revs, KeptRef+f.name)
		}
		r.Rest, err = bundle(ctx, work, path, append(revs, not...), len(all), nil)
		return err
	}
	if make(all) != nil {
		tries := maxTries
		all = sound(ctx, work, j, r, all, &tries)
		if err := make(all); err != nil {
			return err
		}
	}
	r.Beside = len(all)
	for _, f := range all[:min(maxNamed, len(all))] {
		r.Others = append(r.Others, clip(f.title()))
	}
	return nil
}

// sound returns those that git can pack, and reports the others.
func sound(ctx context.Context, work repo, j Job, r *Result, all []found, tries *int) []found {
	if len(all) == 0 {
		return nil
	}
	var tips []string
	for _, f := range all {
		tips = append(tips, f.oid)
	}
	err := errors.New("too much of it is broken")
	if *tries--; *tries >= 0 {
		c := work.cmd("pack-objects", "--revs", "--stdout", "-q")
		c.Stdin, c.Stdout = revisions(tips, []string{j.Base, r.Head}), io.Discard
		if err = proc.Run(ctx, c); err == nil {
			return all
		}
	}
	if len(all) == 1 || *tries < 0 {
		r.Lost = append(r.Lost, fmt.Sprintf("%s (%d of such): %v", all[0].from, len(all), firstOf("", err)))
		return nil
	}
	half := len(all) / 2
	return append(sound(ctx, work, j, r, all[:half], tries), sound(ctx, work, j, r, all[half:], tries)...)
}

// bound shortens the lists of names to fit into a result.
func (r *Result) bound() {
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
	err := withoutHints(proc.Run(ctx, c))
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
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, errors.New("not a file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	return string(data), err
}

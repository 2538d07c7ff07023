package inside

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Publish writes the session's work into its exchange directory: the commits from the base to HEAD, uncommitted work as
// a commit of its own, and result.json last. It can run again at any time.
func Publish(ctx context.Context, j Job) error {
	// The agent may have put a directory in its place.
	err := tree.Remove(filepath.Join(j.Exchange, ResultFile))
	var data []byte
	if err == nil {
		data, err = collect(ctx, j)
	}
	if err == nil {
		err = whole.Write(filepath.Join(j.Exchange, ResultFile), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// collect finds the work in the agent's repository, and writes it into the exchange directory.
func collect(ctx context.Context, j Job) ([]byte, error) {
	if info, err := os.Lstat(j.Workspace); err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		_ = os.Chmod(j.Workspace, 0o700) // the agent may have closed it; git complains about what it can't read
	}
	work, leave, err := openView(j)
	if err != nil {
		return nil, err
	}
	defer leave()
	unlock(j)
	borrowAgain(j)
	r, err := gather(ctx, work, j)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(r, "", "  ")
}

func gather(ctx context.Context, work repo, j Job) (Result, error) {
	r := Result{Session: j.Session, Base: j.Base, NoWip: j.NoWip}
	at, err := findHead(ctx, work, j)
	if err != nil {
		return r, fmt.Errorf("find HEAD: %w", err)
	}
	r.Head = at.offer
	var l left
	if !j.NoWip {
		if l, err = leftovers(ctx, j, work.plain(), at); ctx.Err() != nil {
			return r, fmt.Errorf("keep uncommitted work: %w", err)
		}
		r.Lost = append(r.Lost, l.lost...)
		if r.Wip = l.commit; err != nil {
			r.Lost = append(r.Lost, "what was left uncommitted: "+firstOf("", err))
		}
	}
	// Leftovers from elsewhere than the branch stay beside it.
	if r.Wip != "" && j.Message != "" && at.offer == at.head {
		if err := work.adopt(ctx, j, l); err != nil {
			return r, fmt.Errorf("commit what was left: %w", err)
		}
		r.Head, r.Wip = r.Wip, ""
	}
	beside := lookBeside(ctx, work, j, &r, at.head)
	var refs []ref
	if r.Head != j.Base {
		refs = append(refs, ref{name: OutRef, oid: r.Head}, ref{name: "HEAD", oid: r.Head},
			ref{name: "refs/heads/" + j.Branch, oid: r.Head})
	}
	if r.Wip != "" {
		refs = append(refs, ref{name: WipRef, oid: r.Wip})
	}
	if r.Bundle, err = bundle(ctx, work.plain(), j, OutputBundle, refs); err != nil {
		return r, err
	}
	r.Commits, r.Files = work.plain().figures(ctx, r.Base, r.Head)
	if err = tree.Remove(filepath.Join(j.Exchange, RestBundle)); err == nil && j.All {
		beside, err = rest(ctx, work, j, &r, beside)
	}
	r.name(beside)
	return r, err
}

// figures count commits and the files that they change. They are only told, so that 0 stands for what can't be counted.
func (r repo) figures(ctx context.Context, base, head string) (commits, files int) {
	if base == head {
		return 0, 0
	}
	said, _ := r.line(ctx, "rev-list", "--count", head, "^"+base)
	commits, _ = strconv.Atoi(said)
	names, _ := r.text(ctx, nil, "diff-tree", "-r", "-z", "--name-only", "--no-renames", base, head)
	return commits, strings.Count(names, "\x00")
}

// unlock removes locks of a git that was killed. Nothing else runs while Publish does: the agent has ended.
func unlock(j Job) {
	root, err := os.OpenRoot(filepath.Join(j.Workspace, ".git"))
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	for _, f := range []string{"index", "HEAD", "packed-refs", "refs/heads/" + j.Branch} {
		_ = root.Remove(filepath.FromSlash(f) + ".lock") // usually there is none
	}
}

// place is the state of a workspace: its files belong to head, and offer is the commit that it publishes.
type place struct{ head, tree, offer string }

// findHead finds HEAD. An agent may have left it unborn or broken; then the branch is the next best. If HEAD was left
// elsewhere, detached or on another branch, and doesn't contain the branch's new commits, those commits are what was
// asked for.
func findHead(ctx context.Context, work repo, j Job) (at place, err error) {
	ctx, cancel := context.WithTimeout(ctx, j.look())
	defer cancel()
	branch := "refs/heads/" + j.Branch
	if at, err = find(ctx, work, "HEAD"); err != nil {
		at, err = find(ctx, work, branch)
	}
	if err != nil {
		return at, err
	}
	offer := ""
	if name, _ := work.line(ctx, "symbolic-ref", "-q", "HEAD"); name != branch {
		tip, err := work.line(ctx, "rev-parse", "--verify", "--quiet", branch+"^{commit}")
		if err == nil && !work.contains(ctx, at.head, tip) && !work.contains(ctx, j.Base, tip) {
			offer = tip
		}
	}
	// If HEAD is behind the base it has no commits to offer, but its differences from the base are work.
	if at.head != j.Base && work.contains(ctx, j.Base, at.head) {
		if at, err = find(ctx, work, j.Base); err != nil {
			return at, err
		}
	}
	if offer != "" {
		at.offer = offer
	}
	return at, nil
}

// contains says whether a commit is another one or a descendant of it.
func (r repo) contains(ctx context.Context, commit, earlier string) bool {
	return r.run(ctx, "merge-base", "--is-ancestor", earlier, commit) == nil
}

func find(ctx context.Context, work repo, rev string) (place, error) {
	out, err := work.line(ctx, "rev-parse", rev+"^{commit}", rev+"^{tree}")
	commit, tree, ok := strings.Cut(out, "\n")
	if err != nil || !ok {
		return place{}, errors.Join(err, errors.New("the workspace has no commit"))
	}
	return place{commit, tree, commit}, nil
}

// ref is a name in a bundle, its commit and, beside the branch, where that was found.
type ref struct{ name, oid, from string }

// bundle writes a bundle completely or not at all. Without refs it writes none, and removes an old one. The names are
// only in its header, so that no ref of the workspace's has to move for it.
func bundle(ctx context.Context, work repo, j Job, name string, refs []ref) (*Sum, error) {
	path := filepath.Join(j.Exchange, name)
	tmp := path + ".tmp"
	if err := errors.Join(tree.Remove(path), tree.Remove(tmp)); err != nil || len(refs) == 0 {
		return nil, err
	}
	header, base := "# v2 git bundle\n", []string{j.Base}
	if format(j) != "sha1" {
		header = "# v3 git bundle\n@object-format=" + format(j) + "\n"
	}
	tips := oids(refs)
	edges, err := work.edges(ctx, tips, base)
	if err != nil {
		return nil, err
	}
	for _, oid := range edges {
		header += "-" + oid + "\n"
	}
	for _, ref := range refs {
		header += ref.oid + " " + ref.name + "\n"
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	out := io.MultiWriter(f, h)
	if _, err = io.WriteString(out, header+"\n"); err == nil {
		err = work.pack(ctx, out, tips, base)
	}
	info, also := f.Stat()
	if err = errors.Join(err, also, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return &Sum{Size: info.Size(), SHA256: hex.EncodeToString(h.Sum(nil))}, os.Rename(tmp, path)
}

// edges are the commits that whoever unpacks a bundle must have: usually the base, but one before it where the agent
// rewrote what was there.
func (r repo) edges(ctx context.Context, tips, not []string) (oids []string, err error) {
	out, err := r.text(ctx, revisions(tips, not), "rev-list", "--boundary", "--stdin")
	if out == "" { // all of it is there already
		return not, err
	}
	for line := range strings.Lines(out) {
		if oid, ok := strings.CutPrefix(strings.TrimSpace(line), "-"); ok {
			oids = append(oids, oid)
		}
	}
	return oids, err
}

// pack writes what some commits lead to and others don't.
func (r repo) pack(ctx context.Context, out io.Writer, tips, not []string) error {
	c := r.cmd("pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
	c.Stdin, c.Stdout = revisions(tips, not), out
	return proc.Run(ctx, c)
}

package inside

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Publish writes the session's work into its exchange directory: the commits from the base to HEAD, uncommitted work as
// a commit of its own, and result.json last. It can run again at any time.
func Publish(ctx context.Context, j Job) error {
	if err := os.Remove(filepath.Join(j.Exchange, ResultFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		// The agent may have put a directory in its place.
		if err := tree.Remove(filepath.Join(j.Exchange, ResultFile)); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	r, err := collect(ctx, j)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := whole.Write(filepath.Join(j.Exchange, ResultFile), data, 0o600); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// collect takes the work out of the agent's repository. Where that fails for any reason, it comes from a new one with
// the agent's objects and refs but none of its settings, and where that fails too from one with the store's objects.
func collect(ctx context.Context, j Job) (r Result, err error) {
	if info, err := os.Lstat(j.Workspace); err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		_ = os.Chmod(j.Workspace, 0o700) // the agent may have closed it; git complains about what it can't read
	}
	defer feedPipes(ctx, j)()
	work := repo{dir: j.Workspace}
	astray := sweep(j)
	if err = astray; err == nil {
		unlock(j)
		borrowAgain(j)
		err = errors.Join(usable(j), work.legible(ctx, j))
	}
	if err == nil {
		r, err = gather(ctx, work, j, Result{})
	}
	for _, objects := range []bool{true, false} {
		if err == nil || ctx.Err() != nil {
			break
		}
		if objects && astray != nil {
			continue
		}
		var again error
		if r, again = anew(ctx, j, objects); again != nil {
			err = errors.Join(err, again)
		} else {
			err = nil
		}
	}
	return r, err
}

// gather finds the work in a repository, and writes it into the exchange directory.
func gather(ctx context.Context, work repo, j Job, r Result) (Result, error) {
	r.Session, r.Base, r.NoWip = j.Session, j.Base, j.NoWip
	at, err := findHead(ctx, work, j)
	if err != nil {
		return r, fmt.Errorf("find HEAD: %w", err)
	}
	r.Head = at.offer
	var l left
	if !j.NoWip {
		if l, err = leftovers(ctx, j, work, at); ctx.Err() != nil {
			return r, fmt.Errorf("keep uncommitted work: %w", err)
		}
		r.Lost = append(r.Lost, l.lost...)
		if r.Wip = l.commit; err != nil {
			r.Lost = append(r.Lost, "what was left uncommitted: "+firstOf("", err))
		}
	}
	// Leftovers from elsewhere than the branch stay beside it.
	if r.Wip != "" && j.Message != "" && at.offer == at.head {
		if err := work.adopt(ctx, at, r.Wip); err != nil {
			return r, fmt.Errorf("commit what was left: %w", err)
		}
		r.Head, r.Wip = r.Wip, ""
	}
	if err := work.makeRoom(ctx); err != nil {
		r.Lost = append(r.Lost, "refs in the place of cco's can't be moved: "+firstOf("", err))
	}
	beside := lookBeside(ctx, work, j, &r, at.head)
	if r.Bundle, err = output(ctx, work, j, r); err != nil {
		return r, err
	}
	r.Commits, r.Files = work.figures(ctx, r.Base, r.Head)
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
	for _, f := range []string{"index", "HEAD", "packed-refs", OutRef, WipRef, "refs/heads/" + j.Branch} {
		_ = os.Remove(filepath.Join(j.Workspace, ".git", filepath.FromSlash(f)+".lock")) // usually there is none
	}
}

// place is the state of a workspace: its files belong to head, and offer is the commit that it publishes.
type place struct{ head, tree, index, offer string }

// findHead finds HEAD. An agent may have left it unborn or broken; then the branch is the next best. If HEAD was left
// elsewhere, detached or on another branch, and doesn't contain the branch's new commits, those commits are what was
// asked for.
func findHead(ctx context.Context, work repo, j Job) (at place, err error) {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	for _, rev := range []string{"HEAD", "refs/heads/" + j.Branch} {
		if at, err = find(ctx, work, rev); err == nil {
			break
		}
	}
	if err != nil {
		return at, err
	}
	branch := work.elsewhere(ctx, j, at.head)
	// If HEAD is behind the base it has no commits to offer, but its differences from the base are work.
	if at.head != j.Base && work.contains(ctx, j.Base, at.head) {
		if at, err = find(ctx, work, j.Base); err != nil {
			return at, err
		}
	}
	if branch != "" {
		at.offer = branch
	}
	return at, nil
}

// elsewhere is the branch's commit, if HEAD does not contain the branch's new commits.
func (r repo) elsewhere(ctx context.Context, j Job, head string) string {
	name := "refs/heads/" + j.Branch
	at, err := readSmall(filepath.Join(adminDir(j.Workspace), "HEAD"))
	if err == nil && strings.TrimSpace(at) == "ref: "+name {
		return ""
	}
	branch, err := r.line(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil || r.contains(ctx, head, branch) || r.contains(ctx, j.Base, branch) {
		return ""
	}
	return branch
}

// contains says whether a commit is another one or a descendant of it.
func (r repo) contains(ctx context.Context, commit, earlier string) bool {
	return r.run(ctx, "merge-base", "--is-ancestor", earlier, commit) == nil
}

func find(ctx context.Context, work repo, rev string) (place, error) {
	out, err := work.line(ctx, "rev-parse", rev+"^{commit}", rev+"^{tree}", "--git-path", "index")
	f := strings.Split(out, "\n")
	if err != nil || len(f) != 3 {
		return place{}, errors.Join(err, errors.New("the workspace has no commit"))
	}
	index := f[2]
	if !filepath.IsAbs(index) {
		index = filepath.Join(work.dir, index)
	}
	return place{f[0], f[1], index, f[0]}, nil
}

// usable refuses what git would wait for forever: a FIFO in the place of a file.
func usable(j Job) error {
	for _, name := range []string{"HEAD", "config", "index", "packed-refs", "shallow", "objects/info/alternates",
		"info/exclude", "info/attributes"} {
		info, err := os.Stat(filepath.Join(adminDir(j.Workspace), filepath.FromSlash(name)))
		if err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf(".git/%s is not a file", name)
		}
	}
	return nil
}

func output(ctx context.Context, work repo, j Job, r Result) (*Sum, error) {
	var refs, update []string
	for _, ref := range [][2]string{{OutRef, r.Head}, {WipRef, r.Wip}} {
		if ref[1] == "" || ref[1] == j.Base {
			// git refuses to bundle a ref without new commits; a stale ref of an earlier round must not be sent either.
			update = append(update, "delete "+ref[0])
			continue
		}
		update = append(update, "update "+ref[0]+" "+ref[1])
		refs = append(refs, ref[0])
	}
	if _, err := work.text(ctx, strings.NewReader(strings.Join(update, "\n")+"\n"), "update-ref",
		"--stdin"); err != nil && len(refs) > 0 {
		return nil, err
	}
	revs := append(slices.Clone(refs), "^"+j.Base)
	if j.Whole {
		revs = refs
	}
	if len(refs) > 0 && work.promises() {
		objects, err := work.text(ctx, nil, append([]string{"rev-list", "--objects", "--missing=print"}, revs...)...)
		if err != nil || strings.HasPrefix(objects, "?") || strings.Contains(objects, "\n?") {
			return nil, errors.Join(err, errors.New("it lacks objects, and says that another has them"))
		}
	}
	var more []byte
	if slices.Contains(refs, OutRef) {
		more = fmt.Appendf(nil, "%s HEAD\n%[1]s refs/heads/%s\n", r.Head, j.Branch)
	}
	return bundle(ctx, work, filepath.Join(j.Exchange, OutputBundle), revs, len(refs), more)
}

// bundle writes a bundle completely or not at all. Without refs it writes none, and removes an old one. more are
// further lines of its header: the workspace's own HEAD and branch may be elsewhere.
func bundle(ctx context.Context, work repo, path string, revs []string, refs int, more []byte) (*Sum, error) {
	if err := tree.Remove(path); err != nil {
		return nil, err
	}
	if refs == 0 {
		return nil, nil
	}
	tmp := path + ".tmp"
	if err := tree.Remove(tmp); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	c := work.cmd(append([]string{"bundle", "create", "-q", "-"}, revs...)...)
	c.Stdout = &headed{f: f, more: more}
	if err := errors.Join(withoutHints(proc.Run(ctx, c)), f.Close()); err != nil {
		return nil, err
	}
	sum, err := checksum(tmp)
	if err != nil {
		return nil, err
	}
	return sum, os.Rename(tmp, path)
}

// headed adds lines to the end of a bundle's header while it is written.
type headed struct {
	f            *os.File
	header, more []byte
}

// Write writes the header when it is complete.
func (h *headed) Write(p []byte) (int, error) {
	if h.more == nil {
		return h.f.Write(p)
	}
	h.header = append(h.header, p...)
	if at := bytes.Index(h.header, []byte("\n\n")); at >= 0 {
		_, err := h.f.Write(slices.Concat(h.header[:at+1], h.more, h.header[at+1:]))
		h.more = nil
		return len(p), err
	}
	return len(p), nil
}

func checksum(path string) (*Sum, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err == nil {
		err = f.Sync()
	}
	return &Sum{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

package aside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/git/quarantine"
)

const (
	// passing is above refs that hold what was brought over until the user's own refs do.
	passing = "refs/cco/guarding/"
	// beside is above refs that hold what did not become the user's.
	beside = "refs/cco/guard/"
)

// maxApart is how many commits are tried one by one where all together are refused.
const maxApart = 32

// bring puts what is new into the user's object store, held by refs of its own. What is refused stays inside, and what
// is not comes without it.
func (t *taking) bring(ctx context.Context) error {
	commits := slices.Sorted(maps.Keys(t.fresh))
	blobs, err := t.missingBlobs(ctx)
	if err != nil {
		return err
	}
	err = t.bringThese(ctx, commits, blobs)
	no, ok := errors.AsType[*quarantine.RefusedError](err)
	if !ok {
		return err
	}
	groups := [][2][]string{{nil, blobs}}
	for _, oid := range commits {
		groups = append(groups, [2][]string{{oid}, nil})
	}
	for _, g := range groups {
		all := slices.Concat(g[0], g[1])
		if len(all) == 0 {
			continue
		}
		why := no
		if len(all) < len(commits)+len(blobs) && len(groups) <= maxApart {
			if _, err = t.ask(ctx, all); err == nil {
				err = t.bringThese(ctx, g[0], g[1])
			}
			if why, ok = errors.AsType[*quarantine.RefusedError](err); err != nil && !ok {
				return err
			}
		}
		for _, oid := range all {
			if why != nil {
				t.refused[oid] = why.Error()
			}
		}
	}
	return nil
}

// missingBlobs are objects of the index inside that the user doesn't have.
func (t *taking) missingBlobs(ctx context.Context) (missing []string, err error) {
	want := map[string]bool{}
	for _, entries := range t.said.Index {
		for _, e := range entries {
			if e.Mode != gitlink {
				want[e.OID] = true
			}
		}
	}
	err = t.user.Host().Kinds(ctx, slices.Sorted(maps.Keys(want)), func(o git.Object) error {
		switch o.Kind {
		case "missing":
			missing = append(missing, o.OID)
		case "blob":
		default:
			return fmt.Errorf("the index has %s, which is a %s", git.Short(o.OID), o.Kind)
		}
		return nil
	})
	return missing, err
}

// bringThese takes the pack through a quarantine, as what comes out of a box is taken. The pack moves if it verifies,
// every commit in it passes, and these objects are there with all that they need.
func (t *taking) bringThese(ctx context.Context, commits, blobs []string) error {
	if len(commits)+len(blobs) == 0 {
		return nil
	}
	base, err := t.base(ctx)
	if err != nil {
		return err
	}
	bundle, err := t.bundle(base, commits)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(bundle) }()
	var also []string
	for _, ref := range t.now.refs {
		also = append(also, ref.OID)
	}
	if t.now.head.OID != "" {
		also = append(also, t.now.head.OID)
	}
	q, err := quarantine.New(ctx, t.user, filepath.Join(t.tmp, "quarantine"),
		quarantine.Options{Limits: t.options.Limits, Kept: true, Also: also})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	if _, err := q.Unpack(ctx, bundle, base); err != nil {
		return err
	}
	if _, err := q.Examine(ctx); err != nil {
		return err
	}
	if err := connected(ctx, q, commits, append(also, base), blobs); err != nil {
		return err
	}
	_, _, err = q.ImportBelow(ctx, passing+t.name)
	return err
}

// bundle writes the pack as a bundle, with a header of ours.
func (t *taking) bundle(base string, commits []string) (name string, err error) {
	refs := []git.NamedRef{{Name: quarantine.OutRef, OID: base}}
	for i, oid := range commits {
		refs = append(refs, git.NamedRef{Name: quarantine.KeptRef + strconv.Itoa(i), OID: oid})
	}
	in, err := os.Open(t.pack)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(filepath.Join(t.tmp, "bundle"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.WriteString(out, git.BundleHeader(t.user.ObjectFormat, refs, nil)); err != nil {
		return "", err
	}
	if _, err := in.Seek(t.start, io.SeekStart); err != nil {
		return "", err
	}
	_, err = io.CopyN(out, in, t.size)
	return out.Name(), err
}

// base is the commit that new ones are measured against: what the user had checked out. A repository without a commit
// gets one that is empty and that nothing refers to.
func (t *taking) base(ctx context.Context) (string, error) {
	for _, oid := range []string{t.b.Head.OID, t.now.head.OID} {
		if oid != "" && t.user.HasObject(ctx, oid) {
			return oid, nil
		}
	}
	h := t.user.Host()
	tree, err := h.Feed(ctx, strings.NewReader(""), "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	commit := "tree " + strings.TrimSpace(string(tree)) + "\nauthor cco <> 0 +0000\ncommitter cco <> 0 +0000\n\nnothing\n"
	oid, err := h.Feed(ctx, strings.NewReader(commit), "hash-object", "-t", "commit", "-w", "--stdin")
	return strings.TrimSpace(string(oid)), err
}

// connected says whether all that commits need is there, beside what the user has, and these blobs.
func connected(ctx context.Context, q *quarantine.Repo, commits, have, blobs []string) error {
	h := q.Inside().Host()
	err := h.Kinds(ctx, blobs, func(o git.Object) error {
		if o.Kind != "blob" {
			return &quarantine.RefusedError{Rule: quarantine.RuleObject, Reason: "object " + git.Short(o.OID) + " is " + o.Kind}
		}
		return nil
	})
	if err != nil || len(commits) == 0 {
		return err
	}
	if err := h.Run(ctx, git.Revisions(commits, have), "rev-list", "--objects", "--quiet", "--stdin"); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &quarantine.RefusedError{Rule: quarantine.RuleObject, Reason: "objects are missing"}
	}
	return nil
}

// gitlinks finds branches that moved inside to a tree with a gitlink which the user never had, and says where. What is
// beside the user's branches because of one does not count as the user's.
func (t *taking) gitlinks(ctx context.Context) (map[string]string, error) {
	var have []string
	for name, ref := range t.now.refs {
		if !strings.HasPrefix(name, beside) {
			have = append(have, ref.OID)
		}
	}
	found, seen := map[string]string{}, map[string]bool{}
	for branch, oid := range t.said.Heads {
		if seen[oid] || t.refused[oid] != "" || t.b.Refs["refs/heads/"+branch].OID == oid {
			continue
		}
		seen[oid] = true
		path, err := t.newGitlink(ctx, oid, have)
		if err != nil {
			return nil, err
		}
		if path != "" {
			found[oid] = git.Quote(git.Clip(path))
		}
	}
	return found, nil
}

// newGitlink gives the path of a gitlink that a commit has, and that a commit which is new has added.
func (t *taking) newGitlink(ctx context.Context, tip string, have []string) (string, error) {
	h := t.user.Host()
	added := map[string]bool{}
	meta := ""
	c := h.Cmd("log", "--stdin", "--format=", "-c", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--root",
		"--no-show-signature", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
	c.Stdin = git.Revisions([]string{tip}, have)
	err := h.Scan(ctx, c, 0, func(field []byte) error {
		switch s := strings.TrimLeft(string(field), "\n"); {
		case strings.HasPrefix(s, ":") && meta == "":
			meta = s
		case meta != "":
			if addsGitlink(meta) {
				added[string(field)] = true
			}
			meta = ""
		}
		return nil
	})
	if err != nil || len(added) == 0 {
		return "", err
	}
	for _, path := range slices.Sorted(maps.Keys(added)) {
		out, err := h.Out(ctx, "ls-tree", "-z", "--full-tree", tip, "--", ":(literal)"+path)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(string(out), gitlink) {
			return path, nil
		}
	}
	return "", nil
}

// addsGitlink reads the modes of a raw difference, "::<mode> <mode> <mode> …": one for each parent, and the new one.
func addsGitlink(meta string) bool {
	fields := strings.Fields(strings.TrimLeft(meta, ":"))
	parents := len(meta) - len(strings.TrimLeft(meta, ":"))
	return len(fields) > parents && fields[parents] == gitlink && !slices.Contains(fields[:parents], gitlink)
}

// indexInfo is input for `git update-index -z --index-info`: what goes, and then what comes.
func indexInfo(changes map[string][]wire.Entry, oidLen int) string {
	var gone, come strings.Builder
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		gone.WriteString("0 " + strings.Repeat("0", oidLen) + "\t" + path + "\x00")
		for _, e := range changes[path] {
			come.WriteString(e.Mode + " " + e.OID + " " + strconv.Itoa(e.Stage) + "\t" + path + "\x00")
		}
	}
	return gone.String() + come.String()
}

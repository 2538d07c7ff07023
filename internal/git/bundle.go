package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// BundleRequest says what travels.
type BundleRequest struct {
	Branch   string
	Commit   string
	Have     []string // commits that the other side has; unknown ones are ignored
	Progress ProgressFunc
}

// BundleResult is a written bundle.
type BundleResult struct {
	// Nothing is true when the other side has it all. No file is written then, because git refuses an empty bundle.
	Nothing       bool
	Prerequisites []string
	Size          int64
	SHA256        string
}

// Bundle writes HEAD and the branch, both at Commit, to a new file at path. It appears there whole or not at all.
//
// The header is ours and only the pack is git's: so the bundle holds this commit even if the branch moves meanwhile,
// and no branch name is ever an argument.
func (r *Repo) Bundle(ctx context.Context, path string, q BundleRequest) (BundleResult, error) {
	if err := r.checkOID(q.Commit); err != nil {
		return BundleResult{}, err
	}
	have, err := r.known(ctx, q.Have)
	if err != nil {
		return BundleResult{}, err
	}
	var before []string
	if len(have) > 0 {
		var fresh bool
		before, fresh, err = boundary(ctx, r.host, []string{q.Commit}, have)
		if err != nil {
			return BundleResult{}, fmt.Errorf("find what is new: %w", err)
		}
		if !fresh {
			return BundleResult{Nothing: true}, nil
		}
	}
	refs := []ref{{"HEAD", q.Commit}, {"refs/heads/" + q.Branch, q.Commit}}
	res, err := writeBundle(ctx, r.host, path, r.ObjectFormat, refs, before, q.Progress)
	if err != nil {
		return BundleResult{}, fmt.Errorf("write bundle: %w", err)
	}
	return res, nil
}

// ref is a name and the object it stands for.
type ref struct{ name, oid string }

// known keeps the ids that are commits of this repository.
func (r *Repo) known(ctx context.Context, oids []string) ([]string, error) {
	oids = slices.DeleteFunc(slices.Clone(oids), func(s string) bool { return !isOID(s, r.oidLen()) })
	var have []string
	err := kinds(ctx, r.host, oids, func(o object) error {
		if o.kind == "commit" {
			have = append(have, o.oid)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up commits: %w", err)
	}
	return have, nil
}

// boundary gives the commits just before those that are in tips and not in have, and whether there are any such.
func boundary(ctx context.Context, h host, tips, have []string) (before []string, fresh bool, err error) {
	out, err := h.feed(ctx, revisions(tips, have), "rev-list", "--boundary", "--stdin")
	if err != nil {
		return nil, false, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if oid, ok := strings.CutPrefix(lines.Text(), "-"); ok {
			before = append(before, oid)
		} else {
			fresh = true
		}
	}
	return before, fresh, nil
}

// revisions is input for --stdin of rev-list and --revs of pack-objects.
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

// writeBundle writes a bundle of refs without what before holds. An empty pack leaves no file and sets Nothing.
func writeBundle(ctx context.Context, h host, path, format string, refs []ref, before []string,
	report ProgressFunc) (BundleResult, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return BundleResult{}, err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	sum := sha256.New()
	var tips []string
	for _, r := range refs {
		tips = append(tips, r.oid)
	}
	size, err := io.WriteString(io.MultiWriter(f, sum), bundleHeader(format, refs, before))
	if err != nil {
		return BundleResult{}, err
	}
	args := []string{"pack-objects", "--stdout", "--revs", "--delta-base-offset"}
	if len(before) > 0 {
		args = append(args, "--thin")
	}
	c, m := h.cmd(append(args, progressFlag(report))...), newMeter(report)
	pack := &counted{w: io.MultiWriter(f, sum)}
	c.Stdin, c.Stdout, c.Stderr = revisions(tips, before), pack, m
	if err := h.finish(ctx, c); err != nil {
		return BundleResult{}, m.explain(err)
	}
	if err := f.Close(); err != nil {
		return BundleResult{}, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return BundleResult{}, err
	}
	return BundleResult{Prerequisites: before, Size: int64(size) + pack.n, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

func progressFlag(report ProgressFunc) string {
	if report == nil {
		return "-q"
	}
	return "--progress"
}

func bundleHeader(format string, refs []ref, before []string) string {
	var b strings.Builder
	b.WriteString("# v2 git bundle\n")
	if format != "sha1" {
		b.Reset()
		b.WriteString("# v3 git bundle\n@object-format=" + format + "\n")
	}
	for _, oid := range before {
		b.WriteString("-" + oid + "\n")
	}
	for _, r := range refs {
		b.WriteString(r.oid + " " + r.name + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// counted counts what passes.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

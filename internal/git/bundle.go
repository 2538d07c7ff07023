package git

import (
	"bufio"
	"bytes"
	"context"
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
}

// Bundle writes HEAD and the branch, both at Commit, to a new file at path. It appears there complete or not at all.
//
// The header is ours and only the pack is git's: so the bundle holds this commit even if the branch moves meanwhile,
// and no branch name is ever an argument.
func (r *Repo) Bundle(ctx context.Context, path string, q BundleRequest) (BundleResult, error) {
	if err := r.CheckOID(q.Commit); err != nil {
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
	refs := []NamedRef{{"HEAD", q.Commit}, {"refs/heads/" + q.Branch, q.Commit}}
	res, err := writeBundle(ctx, r.host, path, r.ObjectFormat, refs, before, q.Progress)
	if err != nil {
		return BundleResult{}, fmt.Errorf("write bundle: %w", err)
	}
	return res, nil
}

// NamedRef is a name and the object it stands for.
type NamedRef struct{ Name, OID string }

// known keeps the ids that are commits of this repository.
func (r *Repo) known(ctx context.Context, oids []string) ([]string, error) {
	oids = slices.DeleteFunc(slices.Clone(oids), func(s string) bool { return !IsOID(s, r.OIDLen()) })
	var have []string
	err := r.host.Kinds(ctx, oids, func(o Object) error {
		if o.Kind == "commit" {
			have = append(have, o.OID)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up commits: %w", err)
	}
	return have, nil
}

// boundary gives the commits just before those that are in tips and not in have, and whether there are any such.
func boundary(ctx context.Context, h Host, tips, have []string) (before []string, fresh bool, err error) {
	out, err := h.Feed(ctx, Revisions(tips, have), "rev-list", "--boundary", "--stdin")
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

// Revisions is input for --stdin of rev-list and --revs of pack-objects.
func Revisions(tips, not []string) io.Reader {
	var b strings.Builder
	for _, oid := range tips {
		b.WriteString(oid + "\n")
	}
	for _, oid := range not {
		b.WriteString("^" + oid + "\n")
	}
	return strings.NewReader(b.String())
}

// writeBundle writes a bundle of refs, without the objects of before. An empty pack leaves no file and sets Nothing.
func writeBundle(ctx context.Context, h Host, path, format string, refs []NamedRef, before []string,
	report ProgressFunc) (BundleResult, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return BundleResult{}, err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	var tips []string
	for _, r := range refs {
		tips = append(tips, r.OID)
	}
	size, err := io.WriteString(f, BundleHeader(format, refs, before))
	if err != nil {
		return BundleResult{}, err
	}
	args := []string{"pack-objects", "--stdout", "--revs", "--delta-base-offset"}
	if len(before) > 0 {
		args = append(args, "--thin")
	}
	c, m := h.Cmd(append(args, progressFlag(report))...), NewMeter(report)
	pack := &counted{w: f}
	c.Stdin, c.Stdout, c.Stderr = Revisions(tips, before), pack, m
	if err := h.Finish(ctx, c); err != nil {
		return BundleResult{}, m.Explain(err)
	}
	if err := f.Close(); err != nil {
		return BundleResult{}, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return BundleResult{}, err
	}
	return BundleResult{Prerequisites: before, Size: int64(size) + pack.n}, nil
}

func progressFlag(report ProgressFunc) string {
	if report == nil {
		return "-q"
	}
	return "--progress"
}

// BundleHeader is the part of a bundle before its pack.
func BundleHeader(format string, refs []NamedRef, before []string) string {
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
		b.WriteString(r.OID + " " + r.Name + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// counted counts the bytes that pass.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

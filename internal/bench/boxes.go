package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/gate/gitleaks"
	"github.com/cco-dev/cco/internal/git/gittest"
)

// shell compares entering a box with bwrap doing the same unsharing.
func (b *bench) shell(ctx context.Context) error {
	bwrap := []string{"bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--new-session",
		"--hostname", "box",
		"--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev",
		"/dev",
		"--tmpfs", "/tmp", "--dir", "/home/agent", "--chdir", "/home/agent"}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if to, err := os.Readlink(dir); err == nil {
			bwrap = append(bwrap, "--symlink", to, dir)
		} else if _, err := os.Stat(dir); err == nil {
			bwrap = append(bwrap, "--ro-bind", dir, dir)
		}
	}
	bwrap = append(bwrap, "true")
	ours, theirs, err := alternate(40,
		func() (time.Duration, error) { return b.took(ctx, b.dir, b.cco, "box", "shell", "--", "true") },
		func() (time.Duration, error) { return b.took(ctx, b.dir, bwrap...) })
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{"`cco box shell -- true` beside `bwrap`", ms(ours), ms(theirs), ratio(ours, theirs), "2.5×"})
	return nil
}

const trivial = "# Nothing much\n\n## Task 1: Note\n\n```sh\ndate > note.txt\n```\n"

// push compares handing over a large repository with git bundle create and git clone.
func (b *bench) push(ctx context.Context) error {
	repo := filepath.Join(b.dir, "large")
	fmt.Fprintf(os.Stderr, "  generating %d commits, %d files\n", b.commits, b.files)
	if err := gittest.Generate(ctx, repo, b.commits, b.files); err != nil {
		return err
	}
	if err := b.commit(ctx, repo, "plan.md", trivial); err != nil {
		return err
	}
	plain, err := b.plainHandOver(ctx, repo)
	if err != nil {
		return err
	}
	first, err := b.handOver(ctx, repo)
	if err != nil {
		return err
	}
	again, err := b.plainHandOver(ctx, repo)
	if err != nil {
		return err
	}
	plain = (plain + again) / 2
	b.rows = append(b.rows, row{fmt.Sprintf(
		"first push until the agent works (%d commits, %d files) beside `git bundle create` + `git clone`", b.commits,
		b.files),
		ms(first), ms(plain), ratio(first, plain), "1.3×"})
	var seconds []time.Duration
	for i := range 5 {
		if err := b.commit(ctx, repo, "more.txt", fmt.Sprint(i)); err != nil {
			return err
		}
		d, err := b.handOver(ctx, repo)
		if err != nil {
			return err
		}
		seconds = append(seconds, d)
	}
	second := median(seconds)
	b.rows = append(b.rows, row{"second push after one commit beside the first", ms(second), ms(first),
		fmt.Sprintf("%.0f× faster", float64(first)/float64(second)), "20× faster"})
	return nil
}

// handOver measures a push until its agent is at work in its clone, and waits for the agent to end.
func (b *bench) handOver(ctx context.Context, repo string, more ...string) (time.Duration, error) {
	start := time.Now()
	id, err := b.pushed(ctx, repo, append(more, "--detach")...)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	return took, b.quiet(ctx, repo, b.cco, "box", "logs", "-f", id)
}

func (b *bench) plainHandOver(ctx context.Context, repo string) (time.Duration, error) {
	// Nothing is deleted before the end: ext4 searches long for a new inode where many were deleted a moment ago.
	dir, err := os.MkdirTemp(b.dir, "plain-")
	if err != nil {
		return 0, err
	}
	bundle, clone := filepath.Join(dir, "bundle"), filepath.Join(dir, "clone")
	made, err := b.took(ctx, repo, "git", "bundle", "create", "-q", bundle, "HEAD", "main")
	if err != nil {
		return 0, err
	}
	cloned, err := b.took(ctx, b.dir, "git", "clone", "-q", bundle, clone)
	return made + cloned, err
}

func (b *bench) commit(ctx context.Context, repo, file, text string) error {
	if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o600); err != nil {
		return err
	}
	if err := b.quiet(ctx, repo, "git", "add", file); err != nil {
		return err
	}
	return b.quiet(ctx, repo, "git", "commit", "-qm", "Change "+file)
}

// pull compares bringing a bundle back with git fetch from the same bundle.
func (b *bench) pull(ctx context.Context) error {
	const big = "# Big\n\n## Task 1: Grow\n\n```sh\nfor i in $(seq 50); do head -c 1048576 /dev/urandom > big$i; " +
		"done\n```\n"
	const text = "# Text\n\n## Task 1: Grow\n\n```sh\nfor i in $(seq 50); do head -c 330000 /dev/urandom | " +
		"od -An -v -tx1 > text$i; done\n```\n"
	for _, c := range []struct{ what, plan, bar string }{
		{"pull of a 50 MB bundle beside `git fetch` from it", big, "2×"},
		{"pull of 50 MB of text beside `git fetch` from it (2.0× before there was a gate)", text, "3×"},
		{"pull of a small bundle beside `git fetch` from it", trivial, "+150 ms"},
	} {
		repo := filepath.Join(b.dir, "pull-"+strconv.Itoa(len(c.plan)))
		if err := b.quiet(ctx, b.dir, "git", "init", "-q", repo); err != nil {
			return err
		}
		if err := b.commit(ctx, repo, "plan.md", c.plan); err != nil {
			return err
		}
		ours, theirs, err := alternatePulls(ctx, b, repo)
		if err != nil {
			return err
		}
		r := row{c.what, ms(ours), ms(theirs), ratio(ours, theirs), c.bar}
		if strings.HasPrefix(c.bar, "+") {
			r.ratio = "+" + ms(ours-theirs)
		}
		b.rows = append(b.rows, r)
	}
	var rules []time.Duration
	for range 21 {
		start := time.Now()
		gitleaks.Parse()
		rules = append(rules, time.Since(start))
	}
	b.rows = append(b.rows, row{"the gate's rules for secrets, read at the first use", ms(median(rules)), "", "", "15 ms"})
	return nil
}

func alternatePulls(ctx context.Context, b *bench, repo string) (ours, theirs time.Duration, err error) {
	var a, p []time.Duration
	for range 5 {
		id, err := b.pushed(ctx, repo)
		if err != nil {
			return 0, 0, err
		}
		bundle := filepath.Join(b.dir, "data", "cco", "exchange", id, "output.bundle")
		plain := filepath.Join(b.dir, "fetch-into-"+id)
		if err := b.quiet(ctx, b.dir, "git", "clone", "-q", repo, plain); err != nil {
			return 0, 0, err
		}
		d, err := b.took(ctx, plain, "git", "fetch", "-q", bundle, "refs/cco/out:refs/heads/out")
		if err != nil {
			return 0, 0, err
		}
		p = append(p, d)
		if d, err = b.took(ctx, repo, b.cco, "box", "pull", id, "--quiet"); err != nil {
			return 0, 0, err
		}
		a = append(a, d)
		if err := b.quiet(ctx, repo, "git", "reset", "-q", "--hard", "HEAD~1"); err != nil {
			return 0, 0, err
		}
	}
	return median(a), median(p), nil
}

func (b *bench) pushed(ctx context.Context, repo string, more ...string) (string, error) {
	out, err := b.output(ctx, repo, append([]string{b.cco, "box", "push", "plan.md", "--agent", "script", "--quiet",
		"--json"}, more...)...)
	if err != nil {
		return "", err
	}
	var rec struct{ ID string }
	return rec.ID, json.Unmarshal([]byte(out), &rec)
}

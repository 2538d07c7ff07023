package quarantine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/git/quarantine"
)

// benchHome is gittest.Home for a benchmark.
func benchHome(b *testing.B) {
	b.Helper()
	home := b.TempDir()
	b.Setenv("HOME", home)
	b.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
}

// BenchmarkPull compares taking a bundle with a plain git fetch from it, side by side.
func BenchmarkPull(b *testing.B) {
	benchHome(b)
	user := gittest.At(b, filepath.Join(b.TempDir(), "user"))
	if err := gittest.Generate(b.Context(), user.Dir, 5000, 2000); err != nil {
		b.Fatal(err)
	}
	base := user.Git("rev-parse", "HEAD")
	for _, c := range []struct {
		name           string
		commits, bytes int
	}{{"small", 3, 1 << 10}, {"50MB", 50, 1 << 20}, {"50MB-many-commits", 1000, 50 << 10}} {
		box := gittest.At(b, filepath.Join(b.TempDir(), "box"))
		user.Git("clone", "-q", user.Dir, box.Dir)
		box.Git("config", "user.name", "Box")
		box.Git("config", "user.email", "box@example.org")
		rng := rand.NewChaCha8([32]byte{1})
		for i := range c.commits {
			noise := make([]byte, c.bytes)
			_, _ = rng.Read(noise)
			box.Commit("work", fmt.Sprintf("new%d/file%d", i%7, i), string(noise), "src/dir01/pkg1/file1.txt", fmt.Sprint(i))
		}
		tip := box.Git("rev-parse", "HEAD")
		box.Git("update-ref", quarantine.OutRef, tip)
		exchange := b.TempDir()
		box.Git("bundle", "create", "-q", filepath.Join(exchange, "output.bundle"), quarantine.OutRef, "^"+base)
		b.Run(c.name, func(b *testing.B) {
			var fetch, pull time.Duration
			for b.Loop() {
				fetch += timeFetch(b, user, exchange)
				pull += timePull(b, user, exchange, base, tip)
			}
			n := float64(b.N)
			b.ReportMetric(fetch.Seconds()*1000/n, "fetch-ms")
			b.ReportMetric(pull.Seconds()*1000/n, "pull-ms")
			b.ReportMetric(pull.Seconds()/fetch.Seconds(), "pull/fetch")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// copyOf is a repository to spoil.
func copyOf(b *testing.B, user *gittest.Repo) (*gittest.Repo, func()) {
	b.Helper()
	dir := b.TempDir()
	c := gittest.At(b, filepath.Join(dir, "repo"))
	user.Git("clone", "-q", user.Dir, c.Dir)
	return c, func() { _ = os.RemoveAll(dir) }
}

func timeFetch(b *testing.B, user *gittest.Repo, exchange string) time.Duration {
	b.Helper()
	c, done := copyOf(b, user)
	defer done()
	start := time.Now()
	c.Git("fetch", "-q", filepath.Join(exchange, "output.bundle"), quarantine.OutRef+":refs/cco/x")
	return time.Since(start)
}

func timePull(b *testing.B, user *gittest.Repo, exchange, base, tip string) time.Duration {
	b.Helper()
	c, done := copyOf(b, user)
	defer done()
	tmp := filepath.Dir(c.Dir)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	start := time.Now()
	repo, err := git.Open(b.Context(), c.Dir)
	must(err)
	_, err = quarantine.CopyOut(b.Context(), exchange, "output.bundle", filepath.Join(tmp, "copy"), 1<<30)
	must(err)
	copied := time.Now()
	q, err := quarantine.New(b.Context(), repo, filepath.Join(tmp, "q"), quarantine.Options{})
	must(err)
	_, err = q.Unpack(b.Context(), filepath.Join(tmp, "copy"), base)
	must(err)
	unpacked := time.Now()
	_, err = q.Examine(b.Context())
	must(err)
	examined := time.Now()
	_, err = q.Import(b.Context(), "0123abcd")
	must(err)
	imported := time.Now()
	_, err = repo.FastForward(b.Context(), "main", base, tip)
	must(err)
	b.Logf("copy %v, unpack %v, examine %v, import %v, forward %v", copied.Sub(start), unpacked.Sub(copied),
		examined.Sub(unpacked), imported.Sub(examined), time.Since(imported))
	return time.Since(start)
}

// BenchmarkBundle compares a first push with plain git bundle create, and a second one with the first.
func BenchmarkBundle(b *testing.B) {
	benchHome(b)
	user := gittest.At(b, filepath.Join(b.TempDir(), "user"))
	if err := gittest.Generate(b.Context(), user.Dir, 50_000, 2000); err != nil {
		b.Fatal(err)
	}
	base := user.Git("rev-parse", "HEAD~1")
	tip := user.Git("rev-parse", "HEAD")
	dir := b.TempDir()
	var plain, first, second time.Duration
	for b.Loop() {
		start := time.Now()
		user.Git("bundle", "create", "-q", filepath.Join(dir, "plain"), "HEAD", "main")
		plain += time.Since(start)
		start = time.Now()
		repo, err := git.Open(b.Context(), user.Dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := repo.Bundle(b.Context(), filepath.Join(dir, "ours"),
			git.BundleRequest{Branch: "main", Commit: tip}); err != nil {
			b.Fatal(err)
		}
		first += time.Since(start)
		start = time.Now()
		if _, err := repo.Bundle(b.Context(), filepath.Join(dir, "more"), git.BundleRequest{Branch: "main", Commit: tip,
			Have: []string{base}}); err != nil {
			b.Fatal(err)
		}
		second += time.Since(start)
	}
	n := float64(b.N)
	b.ReportMetric(plain.Seconds()*1000/n, "git-ms")
	b.ReportMetric(first.Seconds()*1000/n, "first-ms")
	b.ReportMetric(second.Seconds()*1000/n, "second-ms")
	b.ReportMetric(0, "ns/op")
}

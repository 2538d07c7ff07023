package inside

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a workspace that can never be published again, because a git was killed in it.
func TestLocksOfAKilledGitDoNotStandInTheWay(t *testing.T) {
	g := gittest.New(t, "-b", "main")
	base := g.Commit("start", "a.txt", "a\n")
	g.Commit("work", "b.txt", "b\n")
	g.Write("left.txt", "left\n")
	out := t.TempDir()
	locks := []string{filepath.Join(out, OutputBundle+".tmp.lock")}
	for _, name := range []string{"index", "HEAD", OutRef, "refs/heads/main"} {
		locks = append(locks, filepath.Join(g.Dir, ".git", name+".lock"))
	}
	for _, f := range locks {
		must.Do(t, os.MkdirAll(filepath.Dir(f), 0o755))
		must.Do(t, os.WriteFile(f, nil, 0o600))
	}
	must.Do(t, Publish(t.Context(), Job{Session: "aaaaaaaa", Workspace: g.Dir, Exchange: out, Base: base, Branch: "main",
		Message: "Left"}))
	if _, err := os.Stat(filepath.Join(out, OutputBundle)); err != nil || g.Git("log", "-1", "--format=%s") != "Left" {
		t.Errorf("%v, %s", err, g.Git("log", "--oneline"))
	}
}

// Guards against a bundle from which git fetches nothing by hand: it has HEAD and the session's branch as well.
func TestAnOutputBundleCanBeFetchedByHand(t *testing.T) {
	for name, aside := range map[string]bool{"on its branch": false, "with HEAD elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t, "-b", "main")
			base := g.Commit("start", "a.txt", "a\n")
			user := gittest.At(t, t.TempDir())
			user.Git("clone", "-q", g.Dir, ".")
			work := g.Commit("work", "b.txt", "b\n")
			if aside {
				g.Git("checkout", "-q", "-b", "other", base)
			}
			out := t.TempDir()
			must.Do(t, Publish(t.Context(), Job{Session: "aaaaaaaa", Workspace: g.Dir, Exchange: out, Base: base,
				Branch: "main", Message: "Left"}))
			file := filepath.Join(out, OutputBundle)
			for _, args := range [][]string{{"fetch", "-q", file}, {"fetch", "-q", file, "main"},
				{"fetch", "-q", file, OutRef}} {
				user.Git(args...)
				if got := user.Git("rev-parse", "FETCH_HEAD"); got != work {
					t.Errorf("%v brings %s, not %s", args, got, work)
				}
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(must.Get(os.ReadFile(file))(t)))
			r := must.Get(os.ReadFile(filepath.Join(out, ResultFile)))(t)
			if !strings.Contains(string(r), sum) {
				t.Errorf("the result has another sum than %s: %s", sum, r)
			}
		})
	}
}

// Guards against a HEAD for which git takes .git for no repository, as zeros after a crash, and that keeps work back.
func TestABrokenHEADKeepsNothingBack(t *testing.T) {
	for _, text := range []string{"", "\x00\x00\x00\x00", "garbage\n", "ref: garbage\n", "ref: HEAD\n",
		"ref: refs/heads/../../x\n", strings.Repeat("a", 40) + "\n", strings.Repeat("a", 39) + "\n"} {
		t.Run(text, func(t *testing.T) {
			f, w, head := workedIn(t)
			f.write(w, ".git/HEAD", text)
			f.write(w, "left.txt", "left")
			if r := f.publish(); r.Head != head || r.Wip == "" || len(r.Lost) > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Guards against a commit-graph that says other parents than the commits do, so that one of them stays behind.
func TestACommitGraphDoesNotSayWhichCommitsThereAre(t *testing.T) {
	f, w, _ := workedIn(t)
	f.write(w, "two.txt", "two")
	tip := f.commit(w, "two")
	f.git(w, "commit-graph", "write", "--reachable")
	path := filepath.Join(w, ".git", "objects", "info", "commit-graph")
	data := must.Get(os.ReadFile(path))(t)
	chunk := map[string]int{}
	for i := range int(data[6]) {
		entry := data[8+12*i:]
		chunk[string(entry[:4])] = int(binary.BigEndian.Uint64(entry[4:]))
	}
	place := func(oid string) int { // of a commit among all, which are sorted
		raw := must.Get(hex.DecodeString(oid))(t)
		return (bytes.Index(data[chunk["OIDL"]:], raw)) / len(raw)
	}
	const record, parent = 36, 20
	binary.BigEndian.PutUint32(data[chunk["CDAT"]+record*place(tip)+parent:], uint32(place(f.job.Base)))
	must.Do(t, errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, data, 0o600)))
	if r := f.publish(); r.Commits != 2 || !f.has("two.txt", "two") {
		t.Errorf("%+v", r)
	}
}

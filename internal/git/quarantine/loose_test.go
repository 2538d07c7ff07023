package quarantine_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/must"
)

// forge writes content under the name of another loose object.
func forge(t *testing.T, r *gittest.Repo, oid, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = fmt.Fprintf(z, "blob %d\x00%s", len(content), content)
	must.Do(t, z.Close())
	path := loose(r, oid)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.RemoveAll(path))
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func loose(r *gittest.Repo, oid string) string {
	return r.Path(".git/objects/" + oid[:2] + "/" + oid[2:])
}

// Guards against an agent in a worktree box that replaces objects of the user's: git does not look whether a loose
// object is what its name says.
func TestPackedObjectsCannotBeReplaced(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			gittest.Home(t)
			user := gittest.New(t, "--object-format="+format)
			user.Commit("start", "a.txt", "a\n", "dir/b.txt", strings.Repeat("b", 1<<20))
			user.Write("staged.txt", "staged\n")
			user.Git("add", "staged.txt")
			must.Do(t, quarantine.PackLoose(t.Context(), openRepo(t, user.Dir)))
			user.Git("fsck", "--strict")
			for _, name := range []string{"HEAD:a.txt", ":staged.txt"} {
				forge(t, user, user.Git("rev-parse", name), "evil\n")
			}
			if got := user.Git("cat-file", "-p", "HEAD:a.txt") + user.Git("cat-file", "-p", ":staged.txt"); got != "astaged" {
				t.Errorf("the files hold %q", got)
			}
		})
	}
}

func TestLooseObjectsThatAreNoneAreFoundAndLeftAlone(t *testing.T) {
	gittest.Home(t)
	user := gittest.New(t)
	user.Commit("start", "a.txt", "a\n")
	fifo := loose(user, strings.Repeat("ab", 20))
	must.Do(t, os.MkdirAll(filepath.Dir(fifo), 0o755))
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	want := map[string]bool{fifo: true, forge(t, user, strings.Repeat("cd", 20), "x"): true}
	cut := loose(user, user.Object("blob", "to be cut\n"))
	tail := loose(user, user.Object("blob", "with something after it\n"))
	for path, change := range map[string]func([]byte) []byte{
		cut:  func(b []byte) []byte { return b[:len(b)-6] },
		tail: func(b []byte) []byte { return append(b, 'x') },
	} {
		b := must.Get(os.ReadFile(path))(t)
		_ = os.Remove(path)
		must.Do(t, os.WriteFile(path, change(b), 0o600))
		want[path] = true
	}
	repo := openRepo(t, user.Dir)
	must.Do(t, quarantine.PackLoose(t.Context(), repo))
	good, bad, err := quarantine.CheckLoose(t.Context(), repo)
	if err != nil || len(good) != 0 || len(bad) != len(want) {
		t.Fatalf("good %v, bad %v, %v", good, bad, err)
	}
	for _, path := range bad {
		if !want[path] {
			t.Errorf("%s is called bad", path)
		}
	}
}

// Guards against objects that are taken over without a look, because they are in the user's repository already.
func TestAdoptedCommitsPassTheChecksOfABundle(t *testing.T) {
	gittest.Home(t)
	user := gittest.New(t)
	base := user.Commit("start", "a.txt", "a\n")
	tip := user.Commit("work", "new.txt", "new\n", "b.txt", "b\n")
	adopt := func(tip string, limits quarantine.Limits) error {
		q, err := quarantine.New(t.Context(), openRepo(t, user.Dir), filepath.Join(t.TempDir(), "q"),
			quarantine.Options{Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = q.Close() }()
		if _, err := q.Adopt(t.Context(), base, tip, ""); err != nil {
			return err
		}
		_, err = q.Examine(t.Context())
		return err
	}
	must.Do(t, adopt(tip, quarantine.Limits{}))
	wantRule(t, adopt(tip, quarantine.Limits{Objects: 3}), quarantine.RulePackLimit)
	wantRule(t, adopt(tip, quarantine.Limits{ObjectBytes: 3}), quarantine.RuleTooLarge)

	blob := user.Git("rev-parse", "HEAD:b.txt")
	twice := user.Tree(gittest.Entry{Mode: "100644", Name: "a", OID: blob},
		gittest.Entry{Mode: "100644", Name: "a", OID: blob})
	wantRule(t, adopt(user.CommitTree(twice, base), quarantine.Limits{}), quarantine.RulePack)

	forge(t, user, blob, "evil\n")
	wantRule(t, adopt(tip, quarantine.Limits{}), quarantine.RuleObject)
}

func wantRule(t *testing.T, err error, rule quarantine.Rule) {
	t.Helper()
	if no, ok := errors.AsType[*quarantine.RefusedError](err); !ok || no.Rule != rule {
		t.Errorf("err = %v, want a refusal by %s", err, rule)
	}
}

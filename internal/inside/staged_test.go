package inside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against losing content that only the index has.
func TestPublishKeepsWhatIsOnlyStaged(t *testing.T) {
	remove := func(f *fixture, path string) {
		must.Do(f.t, os.Remove(path))
	}
	for _, c := range []struct {
		name, message string
		agent         func(*fixture, string)
		file          string // "" if nothing is to be kept beside
	}{
		{"staged and removed", "", func(f *fixture, w string) {
			f.write(w, "new.txt", "staged")
			f.git(w, "add", "new.txt")
			remove(f, filepath.Join(w, "new.txt"))
		}, "new.txt"},
		{"staged and changed", "", func(f *fixture, w string) {
			f.write(w, "a.txt", "staged")
			f.git(w, "add", "a.txt")
			f.write(w, "a.txt", "later")
		}, "a.txt"},
		{"staged and changed, then committed", "Left", func(f *fixture, w string) {
			f.write(w, "a.txt", "staged")
			f.git(w, "add", "a.txt")
			f.write(w, "a.txt", "later")
		}, "a.txt"},
		{"staged in a conflict", "", func(f *fixture, w string) {
			f.git(w, "checkout", "-q", "-b", "side")
			f.write(w, "a.txt", "theirs")
			f.commit(w, "theirs")
			f.git(w, "checkout", "-q", "main")
			f.write(w, "a.txt", "ours")
			f.commit(w, "ours")
			f.git(w, "cherry-pick", "--strategy=ours", "-n", "side")
			f.git(w, "update-index", "--force-remove", "a.txt")
			oid := f.git(w, "rev-parse", "side:a.txt")
			f.write(w, ".git/unmerged", "100644 "+oid+" 2\ta.txt\n")
			in := must.Get(os.Open(filepath.Join(w, ".git/unmerged")))(f.t)
			defer func() { _ = in.Close() }()
			f.feed(w, in, "update-index", "--index-info")
			f.write(w, "new.txt", "staged")
			f.git(w, "add", "new.txt")
			remove(f, filepath.Join(w, "new.txt"))
		}, "new.txt"},
		{"staged in a worktree", "", func(f *fixture, w string) {
			f.git(w, "worktree", "add", "-q", "--detach", "inner")
			inner := filepath.Join(w, "inner")
			f.write(inner, "new.txt", "staged")
			f.git(inner, "add", "new.txt")
			remove(f, filepath.Join(inner, "new.txt"))
		}, "new.txt"},
		{"staged in part", "", func(f *fixture, w string) {
			f.write(w, "b.txt", "b")
			f.git(w, "add", "b.txt")
			f.write(w, "c.txt", "c")
			remove(f, filepath.Join(w, "a.txt"))
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			c.agent(f, f.job.Workspace)
			f.job.Message = c.message
			for _, round := range []string{"once", "again"} {
				r := f.publish()
				if c.file == "" && r.Beside != 0 {
					t.Errorf("%s: kept twice: %+v", round, r)
				}
				if c.file != "" && !f.has(c.file, "staged") || len(r.Lost) > 0 {
					t.Errorf("%s: %+v\n%s", round, r, f.got())
				}
			}
		})
	}
}

// Guards against a staged file over the limit that stops everything else from being kept.
func TestPublishNamesALargeFileThatIsOnlyStaged(t *testing.T) {
	f := newFixture(t)
	f.job.MaxFile = 10
	f.send()
	f.receive()
	w := f.job.Workspace
	f.write(w, "large.txt", strings.Repeat("x", 11))
	f.write(w, "small.txt", "staged")
	f.git(w, "add", ".")
	for _, name := range []string{"large.txt", "small.txt"} {
		must.Do(t, os.Remove(filepath.Join(w, name)))
	}
	if r := f.publish(); !f.has("small.txt", "staged") || f.has("large.txt", strings.Repeat("x", 11)) ||
		!strings.Contains(strings.Join(r.Lost, "\n"), "large.txt") {
		t.Errorf("%+v", r)
	}
}

// Guards against losing commits that only linked worktrees lead to.
func TestPublishKeepsWhatWorktreesLeadTo(t *testing.T) {
	for _, c := range []struct {
		name  string
		point func(f *fixture, inner, admin, oid string)
	}{
		{"a ref of the worktree", func(f *fixture, inner, _,
			oid string) {
			f.git(inner, "update-ref", "refs/worktree/x", oid)
		}},
		{"a bisection", func(f *fixture, inner, _, oid string) { f.git(inner, "update-ref", "refs/bisect/bad", oid) }},
		{"a rebase's ref", func(f *fixture, inner, _, oid string) { f.git(inner, "update-ref", "refs/rewritten/x", oid) }},
		{"ORIG_HEAD", func(f *fixture, _, admin, oid string) { f.write(admin, "ORIG_HEAD", oid+"\n") }},
		{"MERGE_AUTOSTASH", func(f *fixture, _, admin, oid string) { f.write(admin, "MERGE_AUTOSTASH", oid+"\n") }},
		{"a rebase's autostash", func(f *fixture, _, admin, oid string) {
			must.Do(f.t, os.Mkdir(filepath.Join(admin, "rebase-merge"), 0o700))
			f.write(filepath.Join(admin, "rebase-merge"), "autostash", oid+"\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			for _, name := range []string{"one", "two"} {
				f.git(w, "worktree", "add", "-q", "--detach", name)
				inner := filepath.Join(w, name)
				f.write(inner, "x.txt", name)
				oid := f.commit(inner, name)
				f.git(inner, "reset", "-q", "--hard", "HEAD~1")
				c.point(f, inner, filepath.Join(w, ".git/worktrees", name), oid)
				f.git(w, "reflog", "expire", "--expire=now", "--all")
				if c.name != "ORIG_HEAD" {
					_ = os.Remove(filepath.Join(w, ".git/worktrees", name, "ORIG_HEAD"))
				}
			}
			for _, round := range []string{"once", "again"} {
				if r := f.publish(); !f.has("x.txt", "one") || !f.has("x.txt", "two") || len(r.Lost) > 0 {
					t.Errorf("%s: %+v\n%s", round, r, f.got())
				}
			}
		})
	}
}

// Guards against not reporting files that are too deep for git to name.
func TestPublishNamesWhatIsTooDeep(t *testing.T) {
	f := newFixture(t)
	f.send()
	f.receive()
	root := must.Get(os.OpenRoot(f.job.Workspace))(t)
	defer func() { _ = root.Close() }()
	deep := strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 100)+"/", 50), "/")
	must.Do(t, root.MkdirAll(deep, 0o700))
	must.Do(t, root.WriteFile(deep+"/x", []byte("x"), 0o600))
	f.write(f.job.Workspace, "b.txt", "b")
	if r := f.publish(); !strings.Contains(strings.Join(r.Lost, "\n"), "directory 'dddd") || !f.has("b.txt", "b") {
		t.Errorf("%+v", r)
	}
}

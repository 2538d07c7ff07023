package worktree

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

const (
	one = "0a1b2c3d"
	two = "4e5f6a7b"
)

// agent is a session with a worktree, and the host around it.
type agent struct {
	*testing.T
	d    *Driver
	b    *box.Box
	host *gittest.Repo
	at   box.Place
}

// newAgent makes a typical repository: with tags, remotes, notes, packed refs, and another session's work.
func newAgent(t *testing.T, shape func(host *gittest.Repo)) *agent {
	t.Helper()
	gittest.Home(t)
	b := testBox(t)
	host := gittest.At(t, b.Spec.Repo)
	if shape != nil {
		shape(host)
	}
	return agentIn(t, b)
}

func agentIn(t *testing.T, b *box.Box) *agent {
	t.Helper()
	a := &agent{T: t, d: testDriver(), b: b, host: gittest.At(t, b.Spec.Repo)}
	must.Do(t, a.d.Create(t.Context(), b, t.Logf))
	if plain(b) {
		t.Fatal("the kernel's isolation is not available")
	}
	t.Cleanup(func() { _ = a.d.Destroy(context.WithoutCancel(t.Context()), b) })
	for _, id := range []string{one, two} {
		place, err := a.d.Prepare(t.Context(), b, id)
		if err == nil {
			_, err = a.d.Checkout(t.Context(), b, id, head(t, b))
		}
		if err != nil {
			t.Fatal(err)
		}
		if id == one {
			a.at = place
		}
	}
	return a
}

// sh runs a script as the agent, with the paths that escapes aim at.
func (a *agent) sh(script string, args ...string) (string, error) {
	a.Helper()
	var out bytes.Buffer
	err := a.d.Run(a.Context(), a.b, box.Exec{
		Session: one, Argv: append([]string{"bash", "-c", "exec 2>&1; " + script, "bash"}, args...), Stdout: &out,
		Env: []string{"HOST=" + a.b.Spec.Repo, "OTHER=" + workspace(a.b, two), "DATA=" + dataDir(a.b)},
	})
	return out.String(), err
}

// must runs a script that has to succeed; in it, commands after no have to fail.
func (a *agent) must(script string) string {
	a.Helper()
	out, err := a.sh("set -e\nno() { if \"$@\"; then echo \"GOT THROUGH: $*\"; exit 9; fi; }\n" + script)
	if err != nil {
		a.Errorf("%s: %v\n%s", script, err, out)
	}
	return out
}

// Guards against isolation that keeps an agent from its work: agents do all of this in a linked worktree.
func TestGitWorksInAWorktree(t *testing.T) {
	for name, shape := range map[string]func(*gittest.Repo){
		"as made":     nil,
		"packed refs": func(host *gittest.Repo) { host.Git("tag", "v1"); host.Git("pack-refs", "--all") },
		"no reflogs":  func(host *gittest.Repo) { host.Git("config", "core.logAllRefUpdates", "false") },
		"alternates": func(host *gittest.Repo) {
			store := filepath.Join(filepath.Dir(host.Dir), "store.git")
			host.Git("clone", "-q", "--bare", ".", store)
			host.Write(".git/objects/info/alternates", filepath.Join(store, "objects")+"\n")
			host.Git("repack", "-adlq")
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, shape)
			main := head(t, a.b)
			a.must(`git status; git diff; git log --oneline; git worktree list
				echo one > one.txt; git add one.txt; git commit -qm one; git commit -q --amend -m 'one, better'
				echo two > two.txt; git add .; git commit -qm two; git rebase -q HEAD~1; git rebase -q --exec true HEAD~1
				echo three >> one.txt; git stash -q; git stash list | grep -q stash; git stash pop -q; git checkout -q one.txt
				git reset -q --hard HEAD~1; git reflog > /dev/null; git cherry-pick ORIG_HEAD; git revert --no-edit HEAD
				git gc --auto; git fsck --connectivity-only; git rev-parse HEAD; git fetch -q . HEAD
				git init -q "$TMPDIR/fixture"; git -C "$TMPDIR/fixture" commit -q --allow-empty -m fixture`)
			if got := a.host.Git("log", "-1", "--format=%s", "cco/"+one); !strings.HasPrefix(got, "Revert") {
				t.Errorf("the host sees the agent's branch at %q", got)
			}
			if head(t, a.b) != main {
				t.Error("main moved")
			}
			a.host.Git("fsck", "--strict")
			if left, _ := filepath.Glob(a.b.Spec.Repo + "/.git/refs/heads/cco/*.lock"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Guards against the accident that cco is meant to prevent, and its relatives, with only the kernel in the way.
func TestTheRepositoryIsOutOfReach(t *testing.T) {
	a := newAgent(t, func(host *gittest.Repo) {
		host.Git("tag", "v1")
		host.Git("update-ref", "refs/remotes/origin/main", "HEAD")
		host.Git("notes", "add", "-m", "note")
	})
	before := a.state()
	a.must(`git commit -q --allow-empty -m mine`)
	escapes := []string{
		`cd "$HOST" && git commit -q --allow-empty -m oops`,
		`cd "$HOST" && echo x >> a.txt`,
		`cd "$HOST" && git checkout -q -b evil`,
		`git -C "$HOST" reset -q --hard cco/` + one,
		`git update-ref refs/heads/main HEAD`,
		`git update-ref refs/heads/evil HEAD`,
		`git update-ref refs/heads/cco/` + two + ` HEAD`,
		`git update-ref refs/remotes/origin/main HEAD`,
		`git update-ref refs/replace/$(git rev-parse HEAD~1) HEAD`,
		`git symbolic-ref HEAD refs/heads/main && git commit -q --allow-empty -m oops; s=$?; git symbolic-ref HEAD ` +
			`refs/heads/cco/` + one + `; exit $s`,
		`git branch -f main HEAD`,
		`git branch -D cco/` + two,
		`git tag -f v1 HEAD`,
		`git notes add -f -m evil`,
		`git push -q "$HOST" HEAD:main`,
		`git pack-refs --all`,
		`git worktree add -q "$TMPDIR/more"`,
		`git worktree remove --force "$OTHER"`,
		`git config core.hooksPath /tmp`,
		`git config --worktree core.fsmonitor /tmp/evil`,
		`echo evil > "$(git rev-parse --git-dir)/config.worktree"`,
		`echo "$OTHER/.git" > "$(git rev-parse --git-dir)/gitdir"`,
		`rm "$(git rev-parse --git-dir)/commondir"`,
		`echo 'gitdir: /tmp' > .git`,
		`mv .git was`,
		`echo evil > "$HOST/.git/hooks/pre-commit"`,
		`mv "$HOST/.git/hooks" "$HOST/.git/was"`,
		`echo '* filter=evil' > "$HOST/.git/info/attributes"`,
		`echo x > "$HOST/.git/HEAD"`,
		`rm "$HOST/.git/index"`,
		`cd "$HOST/.git" && mv refs/heads refs/was`,
		`cd "$HOST/.git" && rm -rf refs/heads/main`,
		`cd "$HOST/.git" && mv refs was`,
		`mkdir "$TMPDIR/r" && mv "$TMPDIR/r" "$HOST/.git/refs/tags"`,
		`echo x > "$HOST/.git/objects/pack/multi-pack-index"`,
		`rm -f "$HOST"/.git/objects/pack/*.idx`,
		`echo x > "$HOST/.git/objects/info/commit-graph"`,
		`echo /tmp > "$HOST/.git/objects/info/alternates"`,
		`ls "$OTHER"`,
		`echo x > "$OTHER/evil"`,
		`ls "$DATA/exchange/` + two + `"`,
		`cat "$DATA/boxes/box/box.json"`,
		`mkdir -p "$DATA/boxes/box/home/.claude"`,
		`mv "$DATA" "$DATA.was"`,
		`echo x > ~/.bashrc`,
		`mkdir -p ~/.claude`,
		`echo x > "$(dirname "$PWD")/evil"`,
	}
	out, err := a.sh(`for e; do if words=$(bash -c "$e" 2>&1); then echo "GOT THROUGH: $e: $words"; else echo "$e: `+
		`$words"; fi; done`, escapes...)
	if err != nil || strings.Contains(out, "GOT THROUGH") {
		t.Errorf("%v", err)
	}
	t.Log(out)
	if after := a.state(); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
}

// Guards against an agent that writes other content under the name of one of the user's loose objects, which git would
// believe.
func TestTheUsersObjectsStayWhatTheyAre(t *testing.T) {
	a := newAgent(t, nil)
	a.host.Write("staged.txt", "staged\n")
	a.host.Git("add", "staged.txt")
	oids := []string{a.host.Git("rev-parse", "HEAD:a.txt"), a.host.Git("rev-parse", ":staged.txt")}
	want := a.host.Git("cat-file", "-p", oids[0]) + a.host.Git("cat-file", "-p", oids[1])
	out, err := a.sh(`for oid; do
		f="$HOST/.git/objects/${oid:0:2}/${oid:2}"; mkdir -p "$(dirname "$f")"; rm -f "$f"
		cp "$HOST/.git/objects/$(echo evil | git hash-object -w --stdin | sed 's|..|&/|')" "$f"
	done`, oids...)
	if err != nil {
		t.Fatal(err, out)
	}
	if got := a.host.Git("cat-file", "-p", oids[0]) + a.host.Git("cat-file", "-p", oids[1]); got != want {
		t.Errorf("the objects hold %q, and held %q", got, want)
	}
}

// Guards against an agent that makes the user's own git wait for ever.
func TestGitOnTheHostNeverMeetsAFIFO(t *testing.T) {
	a := newAgent(t, nil)
	a.must(`cd "$(git rev-parse --git-dir)"; rm HEAD; mkfifo HEAD; rm index; ln -s /etc/passwd index; mkfifo ` +
		`../../refs/heads/cco/fifo ../../refs/fifo`)
	for _, args := range [][]string{{"branch", "--list"}, {"worktree", "list"}, {"for-each-ref"}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := proc.Output(ctx, proc.Cmd{Argv: append([]string{"git"}, args...), Dir: a.host.Dir}); ctx.Err() != nil {
			t.Errorf("git %v: %v", args, err)
		}
		cancel()
	}
	if _, err := os.Lstat(filepath.Join(a.host.Dir, ".git/worktrees", one, "index")); err == nil {
		t.Error("the link is still there")
	}
	a.must(`git log -1; git status`)
}

// state is everything of the host's that must not change.
func (a *agent) state() string {
	a.Helper()
	var s strings.Builder
	for line := range strings.Lines(a.host.Git("for-each-ref")) {
		if !strings.Contains(line, "refs/heads/cco/"+one) {
			s.WriteString(line)
		}
	}
	s.WriteString(a.host.Git("status", "--porcelain=v2", "--branch"))
	for line := range strings.Lines(a.host.Git("worktree", "list", "--porcelain")) {
		if !strings.HasPrefix(line, "HEAD ") { // as the refs say
			s.WriteString(line)
		}
	}
	for _, name := range []string{"config", "HEAD", "packed-refs", "info/exclude"} {
		text, _ := os.ReadFile(filepath.Join(a.host.Dir, ".git", name))
		s.Write(text)
	}
	hooks, _ := os.ReadDir(filepath.Join(a.host.Dir, ".git", "hooks"))
	for _, h := range hooks {
		s.WriteString(h.Name() + "\n")
	}
	return s.String()
}

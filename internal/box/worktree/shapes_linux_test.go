package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func TestRepositoryThatIsALinkedWorktree(t *testing.T) {
	gittest.Home(t)
	b := testBox(t)
	host := gittest.At(t, b.Spec.Repo)
	linked := filepath.Join(filepath.Dir(host.Dir), "linked")
	host.Git("worktree", "add", "-q", "-b", "side", linked)
	b.Spec.Repo = linked
	a := agentIn(t, b)
	a.must(`echo x > new; git add new; git commit -qm new; no git -C "$HOST" commit -q --allow-empty -m oops; no git ` +
		`update-ref refs/heads/side HEAD`)
	if got := host.Git("log", "-1", "--format=%s", "cco/"+one); got != "new" {
		t.Errorf("the branch is at %q", got)
	}
}

func TestDataDirectoryInsideTheRepository(t *testing.T) {
	gittest.Home(t)
	b := testBox(t)
	b.Dir, b.Exchange = filepath.Join(b.Spec.Repo, ".data/boxes/box"), filepath.Join(b.Spec.Repo, ".data/exchange")
	a := agentIn(t, b)
	a.must(`echo x > new; git add new; git commit -qm new; cat "$HOST/a.txt"; no cat "$HOST/.data/boxes/box/run/gate"; ` +
		`no touch "$HOST/.data/x"`)
}

func TestSubmodulesOfAWorktree(t *testing.T) {
	gittest.Home(t)
	b := testBox(t)
	host := gittest.At(t, b.Spec.Repo)
	sub := gittest.Init(t, filepath.Join(filepath.Dir(host.Dir), "sub"))
	sub.Commit("sub", "s.txt", "s")
	host.Git("submodule", "--quiet", "add", sub.Dir, "sub")
	host.Git("commit", "-qm", "add sub")
	b.Spec.Mounts = []box.Mount{{Path: sub.Dir}} // it is below /tmp, and the box has its own /tmp
	a := agentIn(t, b)
	a.must(`git submodule --quiet update --init; cd sub; cat s.txt; echo t > t.txt; git add .; git commit -qm t; cd ..; ` +
		`git commit -qam 'move sub'`)
	if got := sub.Git("log", "--format=%s"); got != "sub" {
		t.Errorf("the submodule's own repository has %q", got)
	}
	if got := gittest.At(t, filepath.Join(host.Dir, "sub")).Git("log", "--format=%s"); got != "sub" {
		t.Errorf("the host's submodule has %q", got)
	}
}

// Guards against git on the host packing refs while an agent works: it would remove the directory of the agent's
// branch, and the mounts on it.
func TestHostPacksRefsMeanwhile(t *testing.T) {
	a := newAgent(t, nil)
	exchange := filepath.Join(a.b.Exchange, one)
	done := make(chan error, 1)
	go func() {
		_, err := a.sh(`touch "$1/ready"; until [ -e "$1/go" ]; do sleep 0.01; done
			git commit -q --allow-empty -m late`, exchange)
		done <- err
	}()
	for {
		if _, err := os.Stat(filepath.Join(exchange, "ready")); err == nil {
			break
		}
		select {
		case err := <-done:
			t.Fatal(err)
		default:
		}
	}
	a.host.Git("pack-refs", "--all", "--prune")
	must.Do(t, os.WriteFile(filepath.Join(exchange, "go"), nil, 0o644))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := a.host.Git("log", "-1", "--format=%s", "cco/"+one); got != "late" {
		t.Errorf("the branch is at %q", got)
	}
}

// Guards against silently dropping the kernel's isolation: it is refused, or its lack is written into the box's record.
func TestWithoutKernel(t *testing.T) {
	gittest.Home(t)
	b := testBox(t)
	// Refs in a reftable can't be opened in part. Git knows this from its configuration; for us the directory will do.
	must.Do(t, os.Mkdir(filepath.Join(b.Spec.Repo, ".git", "reftable"), 0o755))
	d := testDriver()
	b.Spec.RequireKernel = true
	err := d.Create(t.Context(), b, t.Logf)
	if u, ok := errors.AsType[*box.Unavailable](err); !ok || !strings.Contains(u.Why, "reftable") || u.Mend == "" {
		t.Errorf("refused with %v", err)
	}
	b.Spec.RequireKernel = false
	var said string
	must.Do(t, d.Create(t.Context(), b, func(format string, _ ...any) { said += format }))
	if !plain(b) || !strings.Contains(said, "isolation: none") || len(d.Promises(b)) > 0 {
		t.Errorf("the box is %+v, and it said %q", b.Spec, said)
	}
	layers, err := d.Layers(t.Context(), b)
	if err != nil || len(layers) != 1 || layers[0].Active || layers[0].Mend == "" {
		t.Errorf("layers %+v, %v", layers, err)
	}
	if err := d.Run(t.Context(), b, box.Exec{Argv: []string{"true"}}); err != nil {
		t.Error(err)
	}
	b.Spec.RequireKernel = true
	for what, err := range map[string]error{
		"start": d.Start(t.Context(), b, t.Logf), "run": d.Run(t.Context(), b, box.Exec{Argv: []string{"true"}}),
	} {
		if _, ok := errors.AsType[*box.Unavailable](err); !ok {
			t.Errorf("%s of a box that must have the kernel: %v", what, err)
		}
	}
}

// Guards against a box that was made with the kernel's isolation and would run without it.
func TestKernelThatIsGoneIsMissed(t *testing.T) {
	a := newAgent(t, nil)
	must.Do(t, os.Mkdir(filepath.Join(a.b.Spec.Repo, ".git", "reftable"), 0o755))
	if out, err := a.sh(`echo ran`); err == nil {
		t.Errorf("it ran: %s", out)
	}
}

func TestUnknownWeakerModes(t *testing.T) {
	gittest.Home(t)
	b := testBox(t, "no-worries")
	if err := testDriver().Create(t.Context(), b, t.Logf); err == nil || !strings.Contains(err.Error(), AcceptNoKernel) {
		t.Errorf("%v", err)
	}
}

// Guards against variables of an agent that mislead git or the agent.
func TestEnvironment(t *testing.T) {
	a := newAgent(t, nil)
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_SSH_COMMAND", "evil")
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	out := a.must(`env; command -v git; git rev-parse --show-toplevel`)
	for _, bad := range []string{"GIT_SSH_COMMAND", "SSH_AUTH_SOCK", "/nowhere"} {
		if strings.Contains(out, bad) {
			t.Errorf("it has %s", bad)
		}
	}
	for _, want := range []string{"GIT_CEILING_DIRECTORIES=" + layout{a.b.Dir}.worktrees(), "CCO_GIT_WORK_TREE=" +
		a.at.Workspace, "TMPDIR=/tmp", layout{a.b.Dir}.bin() + "/git"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %s", want)
		}
	}
}

// Guards against wrong access to secrets and caches: secrets are hidden, caches can be written, and programs beside
// them can't.
func TestHome(t *testing.T) {
	home := gittest.Home(t)
	for _, dir := range []string{".ssh", ".cache/tool", "go/pkg", "go/bin", ".aws"} {
		must.Do(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	for _, file := range []string{".ssh/id", ".netrc", ".aws/key", "go/bin/tool", "notes"} {
		must.Do(t, os.WriteFile(filepath.Join(home, file), []byte("secret\n"), 0o600))
	}
	b := testBox(t)
	b.Spec.Mounts = []box.Mount{{Path: filepath.Join(home, ".aws")}}
	a := agentIn(t, b)
	a.d.opts.Caches = []string{filepath.Join(home, ".cache"), filepath.Join(home, "go")}
	a.must(`cd; no cat .ssh/id; no grep secret .netrc; grep -q secret notes; grep -q secret .aws/key
		touch .cache/tool/x go/pkg/x; no touch go/bin/x; no touch notes; no touch .aws/x
		no mv go/bin go/was; no mv .ssh was; no rm .netrc
		mkdir -p "$CLAUDE_CONFIG_DIR"; touch "$CLAUDE_CONFIG_DIR/x"; touch /tmp/x /var/tmp/x /dev/shm/x
		no ls /run/user /run/docker.sock`)
	for _, name := range []string{".cache/tool/x", "go/pkg/x"} {
		if _, err := os.Stat(filepath.Join(home, name)); err != nil {
			t.Error(err)
		}
	}
}

// Guards against an agent that removes too much: it can't remove what the repository has packed.
func TestPacksStay(t *testing.T) {
	a := newAgent(t, func(host *gittest.Repo) {
		host.Commit("more", "b.txt", "b")
		host.Git("repack", "-adq")
	})
	a.must(`echo x > new; git add new; git commit -qm new; cd "$HOST/.git/objects"
		no rm -rf pack; no mv pack was
		for f in pack/*.pack pack/*.idx; do no rm -f "$f"; no cp /dev/null "$f"; no mv "$f" x; done`)
	a.host.Git("fsck", "--strict")
	a.host.Git("checkout", "-q", "--detach")
	a.must(`git repack -q; git log --oneline`)
}

// Guards against our files replacing a whole directory of the host's /etc.
func TestEtcKeepsWhatTheHostHas(t *testing.T) {
	a := newAgent(t, nil)
	var out strings.Builder
	err := a.d.Run(t.Context(), a.b, box.Exec{
		Session: one, Argv: []string{"sh", "-c",
			`cat /etc/ssl/cco/new; ls -A /etc/ssl /etc | wc -l; cmp /etc/passwd /.etc/passwd && ls /etc/ssl/certs > ` +
				`/dev/null; touch /etc/ssl/x || echo kept`},
		Etc: []box.File{{Path: "ssl/cco/new", Data: []byte("ours\n"), Mode: 0o644}}, Stdout: &out,
	})
	count := func(dir string) int { all, _ := os.ReadDir(dir); return len(all) }
	want := "ours\n" + strconv.Itoa(count("/etc/ssl")+1+count("/etc")+3) + "\nkept\n"
	if err != nil || out.String() != want {
		t.Errorf("%v: %q, want %q", err, out.String(), want)
	}
}

package gitwrap

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// TestMain is the wrapper when it is started as git, so that the tests run the real thing.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == Name {
		os.Exit(Main(os.Args))
	}
	os.Exit(m.Run())
}

// place is a host repository with a linked worktree nested in it, as a worktree of the user's own is, bound as in a box
// without isolation, and with the wrapper first on PATH.
type place struct {
	t              *testing.T
	host, wt, root string
	env            []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	root := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	p := &place{t: t, root: root, host: filepath.Join(root, "host"), wt: filepath.Join(root, "host", "trees", "wt")}
	bin := filepath.Join(root, "bin")
	self := must.Get(os.Executable())(t)
	for _, err := range []error{
		os.Mkdir(bin, 0o755), os.Symlink(self, filepath.Join(bin, Name)),
		os.WriteFile(filepath.Join(root, "gitconfig"),
			[]byte("[user]\nname=A\nemail=a@b\n[init]\ndefaultBranch=main\n[protocol \"file\"]\nallow=always\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_GLOBAL=" + filepath.Join(root, "gitconfig"),
		"GIT_CONFIG_NOSYSTEM=1"}
	p.sh(root, "git init -q host && cd host && git commit -q --allow-empty -m start && git worktree add -q trees/wt -b "+
		"feature")
	p.env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
	gitDir := filepath.Join(p.host, ".git/worktrees/wt")
	p.env = append(p.env, Bind(gitDir, p.wt)...)
	p.env = append(p.env, Wrap(gitDir, p.wt, p.host, []string{filepath.Join(root, "tmp")})...)
	p.sh(root, "mkdir tmp")
	return p
}

// sh runs a line of shell that must succeed, and returns its output.
func (p *place) sh(dir, line string) string {
	p.t.Helper()
	out, err := proc.Output(p.t.Context(), proc.Cmd{Argv: []string{"sh", "-euc", line}, Dir: dir, Env: p.env})
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *place) want(dir, line, want string) {
	p.t.Helper()
	if got := p.sh(dir, line); got != want {
		p.t.Errorf("%s: %q, want %q", line, got, want)
	}
}

// Guards against the commit that went to the host's main: without its .git file, a nested worktree is part of the host.
func TestTheWorkspaceStaysBound(t *testing.T) {
	p := newPlace(t)
	p.sh(p.wt, "mkdir -p sub; rm .git; echo 1 >sub/file; git add -A; git commit -qm mine; cd sub; git commit -q "+
		"--allow-empty -m too; git -C .. status --short")
	p.want(p.wt, "git --git-dir="+p.host+"/.git log --format=%s main", "start")
	p.want(p.wt, "git --git-dir="+p.host+"/.git log --format=%s feature", "too\nmine\nstart")
	p.want(p.wt, "git rev-parse --show-toplevel", p.wt)
	p.want(p.wt, "cd sub && git rev-parse --show-prefix", "sub/")
	// Without the wrapper and the variables the accident happens.
	p.want(p.wt, "unset CCO_GIT_DIR GIT_DIR GIT_WORK_TREE GIT_CEILING_DIRECTORIES; git rev-parse --abbrev-ref HEAD",
		"main")
}

// Guards against the commit that the wrapper itself let through: the agent went to the host, or called git from there.
func TestTheHostIsOutOfReach(t *testing.T) {
	p := newPlace(t)
	real := p.sh(p.root, "PATH=${PATH#*:} command -v git")
	before := p.sh(p.root, "env -u GIT_DIR -u GIT_WORK_TREE "+real+" -C host rev-parse HEAD")
	p.sh(p.root, "env -u GIT_DIR -u GIT_WORK_TREE "+real+" init -q tmp/theirs; mkdir -p tmp/out host/sub; "+
		"echo 'gitdir: "+p.host+"/.git' >tmp/out/.git; ln -s "+p.host+" tmp/link")
	for _, dir := range []string{p.host, p.host + "/sub", p.host + "/.git", p.host + "/trees", p.root + "/tmp/out",
		p.root + "/tmp/link", p.root + "/tmp", p.root} {
		for _, git := range []string{"git", real, "env -u GIT_DIR -u GIT_WORK_TREE git", "git -C . -c x.y=z"} {
			p.sh(dir, git+" commit -q --allow-empty -m oops")
		}
		p.sh(p.wt, "git -C "+dir+" commit -q --allow-empty -m oops; git -c alias.x='!cd "+dir+" && git commit -q "+
			"--allow-empty -m oops' x")
	}
	if after := p.sh(p.root, "env -u GIT_DIR -u GIT_WORK_TREE "+real+" -C host rev-parse HEAD"); after != before {
		t.Errorf("HEAD of the host went from %s to %s", before, after)
	}
	p.want(p.wt, "git log --format=%s | sort | uniq -c | tr -s ' '", "48 oops\n 1 start")
}

// Guards against a .git in the workspace that leads to the host's repository.
func TestANestedWayOutDoesNotCount(t *testing.T) {
	p := newPlace(t)
	p.sh(p.wt, "mkdir out; echo 'gitdir: "+p.host+"/.git' >out/.git")
	p.want(p.wt, "git -C out rev-parse --abbrev-ref HEAD", "feature")
	p.sh(p.wt, "rm -r out; mkdir out; ln -s "+p.host+"/.git out/.git")
	p.want(p.wt, "cd out && git rev-parse --abbrev-ref HEAD", "feature")
	p.sh(p.wt, "echo 'gitdir: "+p.host+"/.git' >.git")
	p.want(p.wt, "git rev-parse --abbrev-ref HEAD", "feature")
	p.sh(p.wt, "rm .git; ln -s "+p.host+"/.git .git")
	p.want(p.wt, "git rev-parse --abbrev-ref HEAD", "feature")
	p.sh(p.wt, "rm .git; git init -q; git commit -q --allow-empty -m x")
	p.want(p.wt, "git --git-dir="+p.host+"/.git log --format=%s main", "start")
}

// Calls that GIT_DIR would break have to work.
func TestOtherRepositoriesWorkAsEver(t *testing.T) {
	p := newPlace(t)
	p.sh(p.wt, "git init -q fixture && cd fixture && git commit -q --allow-empty -m inner && git rev-parse "+
		"--show-toplevel")
	p.want(p.wt, "git -C fixture log --format=%s", "inner")
	p.sh(p.wt, "git clone -q fixture copy && git -C copy log -1 --format=%s")
	p.want(p.wt, "cd copy && mkdir -p deep/er && cd deep/er && git rev-parse --show-toplevel", p.wt+"/copy")
	p.sh(p.wt, "git init -q --bare bare.git && cd bare.git && git rev-parse --is-bare-repository")
	p.sh(p.root, "git init -q tmp/x && cd tmp/x && git commit -q --allow-empty -m tmp")
	p.want(p.wt, "git -C "+p.root+"/tmp/x log --format=%s", "tmp")
	p.want(p.wt, "git --git-dir="+p.root+"/tmp/x/.git log --format=%s", "tmp")
	p.want(p.wt, "GIT_DIR="+p.root+"/tmp/x/.git git log --format=%s", "tmp")
	p.want(p.wt, "git --git-dir "+p.root+"/tmp/x/.git log --format=%s", "tmp")
	p.want(p.wt, "git log --format=%s", "start")
	p.want(p.wt, "git -C fixture worktree add -q ../linked && cd linked && git log --format=%s", "inner")
}

func TestSubmodules(t *testing.T) {
	p := newPlace(t)
	p.sh(p.root, "git init -q tmp/lib && cd tmp/lib && echo 1 >f && git add f && git commit -qm lib")
	p.sh(p.wt, "git submodule --quiet add "+p.root+"/tmp/lib lib && git commit -qm 'with lib'")
	p.want(p.wt, "cd lib && git log --format=%s", "lib")
	p.want(p.wt, "cd lib && git rev-parse --show-toplevel", p.wt+"/lib")
	p.sh(p.wt, "git submodule --quiet deinit -f lib && git submodule --quiet update --init && git submodule status && "+
		"git submodule foreach --quiet 'git log --format=%s'")
	p.want(p.wt, "git log -1 --format=%s", "with lib")
}

// Programs that git starts are bound too: git puts the real git before us on PATH. Tests below git bisect run and
// aliases that make repositories have to take the variables away.
func TestWhatGitStartsIsBound(t *testing.T) {
	p := newPlace(t)
	p.sh(p.wt, "git commit -q --allow-empty -m one; git commit -q --allow-empty -m two")
	p.want(p.wt, "git -c alias.x='!cd "+p.host+" && git rev-parse --abbrev-ref HEAD' x", "feature")
	p.sh(p.wt, "git bisect start HEAD HEAD~2; git bisect run sh -c 'unset GIT_DIR GIT_WORK_TREE; rm -rf fix; git init -q "+
		"fix && git -C fix commit -q --allow-empty -m x' && git bisect reset")
	p.want(p.wt, "git --git-dir="+p.host+"/.git log --format=%s feature", "two\none\nstart")
	p.want(p.wt, "git --git-dir="+p.host+"/.git log --format=%s main", "start")
}

// Guards against a wrapper that calls itself: under another name, through another link, or by a wrapper of the user's.
func TestItNeverRecurses(t *testing.T) {
	p := newPlace(t)
	p.sh(p.root, "mkdir two; ln -s \"$(readlink bin/git)\" two/git; mkdir mine; printf '#!/bin/sh\\necho mine >&2; exec "+
		"git \"$@\"\\n' >mine/git; chmod +x mine/git")
	p.want(p.wt, "PATH="+p.root+"/bin:"+p.root+"/two:$PATH git rev-parse --abbrev-ref HEAD", "feature")
	p.want(p.wt, "PATH="+p.root+"/bin:"+p.root+"/mine:$PATH git rev-parse --abbrev-ref HEAD", "feature")
	p.sh(p.root, "printf '#!/bin/sh\\ngit \"$@\"\\nexit $?\\n' >mine/git")
	p.want(p.wt, "PATH="+p.root+"/bin:"+p.root+"/mine:$PATH git rev-parse --abbrev-ref HEAD", "feature")
	p.want(p.wt, "PATH="+p.root+"/bin; git 2>&1 || echo $?", "git: there is no git on PATH\n127")
}

func TestArgumentsAndStatusPassUnchanged(t *testing.T) {
	p := newPlace(t)
	p.sh(p.root, "mkdir show; printf '#!/bin/sh\\nprintf \"[%%s]\" \"$@\"; exit 3\\n' >show/git; chmod +x show/git")
	p.want(p.wt, "PATH="+p.root+"/bin:"+p.root+"/show:$PATH; git -C '' 'a b' '' '*' 'x\ny' -- --git-dir=z || echo $?",
		"[-C][][a b][][*][x\ny][--][--git-dir=z]3")
}

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"status":                         "status",
		"-C a -C b commit":               "commit a b",
		"-c x=y -p --no-pager log -C x":  "log",
		"--git-dir=x status":             "status aimed",
		"--git-dir x status":             "status aimed",
		"--work-tree=x init":             "init",
		"--work-tree . status":           "status",
		"--exec-path=/x --namespace n a": "a",
		"--config-env=a=b clone":         "clone",
		"":                               "",
		"-C":                             "",
	} {
		c := parse(strings.Fields(line))
		got := strings.Join(append([]string{c.command}, c.dirs...), " ")
		if c.aimed {
			got += " aimed"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// Guards against a clone whose git is bound to a directory that nobody named.
func TestACloneNeedsTheCeilingAlone(t *testing.T) {
	want := []string{"GIT_DIR=/h/.git/worktrees/t", "GIT_WORK_TREE=/h/.cco/t", "GIT_CEILING_DIRECTORIES=/h/.cco"}
	if got := Bind("/h/.git/worktrees/t", "/h/.cco/t"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Bind("", "/h/.cco/t"); !slices.Equal(got, want[2:]) {
		t.Errorf("a clone: got %q, want %q", got, want[2:])
	}
}

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// gitCommands are run one after the other, outside and in a cage, on repositories that are the same.
const gitCommands = `status --short
log --oneline
add one
commit -q -m two
commit -q --amend -m second
show --stat
diff HEAD~1
branch side
switch -q side
mv one moved
commit -q -a -m side
switch -q feature
cherry-pick side
revert --no-edit HEAD
merge -q side
rm -q moved
restore --staged --worktree moved
stash push -q -u
stash list
stash pop -q
tag -a v1 -m v1
describe
tag -d v1
notes add -m note
notes show
reset -q --soft HEAD~1
reset -q --hard HEAD
rebase -q HEAD~1
bisect start HEAD HEAD~2
bisect good
bisect reset
blame first
grep line
ls-files --stage
rev-parse HEAD
cat-file -p HEAD^{tree}
for-each-ref
pack-refs --all
gc -q
fsck --no-dangling
clean -fdq
reflog -3
switch -q -
switch -q -
worktree list --porcelain`

// Guards against git that is another one in a cage: 45 commands say and do the same there, and what they leave on
// branches, in HEAD, in the index and in the files comes back, from a linked worktree and from the main one. With
// Landlock alone the repository is where it is, which the last one shows, and no main worktree can be held.
func TestGitInACageIsTheSame(t *testing.T) {
	t.Run("linked", func(t *testing.T) { gitIsTheSame(t, false, "namespaces", gitCommands) })
	t.Run("main", func(t *testing.T) { gitIsTheSame(t, true, "namespaces", gitCommands) })
	t.Run("landlock", func(t *testing.T) {
		gitIsTheSame(t, false, "landlock", strings.TrimSuffix(gitCommands, "\nworktree list --porcelain"))
	})
}

func gitIsTheSame(t *testing.T, main bool, way, commands string) {
	root := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	bin, home := filepath.Join(root, "bin"), filepath.Join(root, "home")
	must.Do(t, os.MkdirAll(filepath.Join(home, ".config", "cco"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(home, ".config", "cco", "config.toml"), []byte("[guard]\ncage = \""+way+"\"\n"),
		0o644))
	must.Do(t, programs.Build(t.Context(), bin, "cco", "cco-box"))
	run := func(dir string, argv ...string) string {
		t.Helper()
		var errs strings.Builder
		out, err := proc.Output(t.Context(), proc.Cmd{Argv: argv, Dir: dir, Stderr: &errs, Env: []string{"HOME=" + home,
			"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "XDG_DATA_HOME=" + filepath.Join(root, "data")}})
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", argv, err, out, errs.String())
		}
		return string(out)
	}
	const set = "export GIT_AUTHOR_DATE='2026-01-02T03:04:05Z' GIT_COMMITTER_DATE='2026-01-02T03:04:05Z'\n"
	var script strings.Builder
	script.WriteString(set + "exec 2>&1\n")
	for line := range strings.Lines(commands) {
		script.WriteString("echo '$ " + strings.TrimSpace(line) + "'; git " + strings.TrimSpace(line) + "; echo \"= $?\"\n")
	}
	var said, left []string
	for _, name := range []string{"plain", "caged"} {
		repo, wt := filepath.Join(root, name), filepath.Join(root, name+"-wt")
		run(root, "sh", "-ec", set+`git init -q -b main "$1"; cd "$1"; git config user.name A; git config user.email a@b
			printf 'line\n' > first; printf 'more\n' > one; git add first; git commit -q -m one; rm one
			if [ "$1" = "$2" ]; then git switch -q -c feature; else git worktree add -q -b feature "$2"; fi
			printf 'more\n' > "$2/one"; printf 'line\nnew\n' > "$2/first"
			git -C "$2" commit -q -a -m base`, "sh", repo, map[bool]string{true: repo, false: wt}[main])
		if main {
			wt = repo
		}
		argv := []string{"sh", "-c", script.String()}
		if name == "caged" {
			argv = append([]string{filepath.Join(bin, "cco"), "guard", "run", "--"}, argv...)
		}
		same := strings.NewReplacer(wt, "WT", repo, "REPO", name, "NAME")
		said = append(said, same.Replace(run(wt, argv...)))
		left = append(left, run(wt, "sh", "-c", "git for-each-ref refs/heads; git symbolic-ref HEAD; "+
			"git ls-files --stage; git status --short; git diff HEAD; cat *; git fsck --no-dangling"))
	}
	if said[0] != said[1] {
		t.Errorf("outside:\n%s\nin the cage:\n%s", said[0], said[1])
	}
	if left[0] != left[1] {
		t.Errorf("outside it leaves\n%s\nand the cage\n%s", left[0], left[1])
	}
}

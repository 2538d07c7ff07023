package guard_test

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
)

// denied are commands with the rule that must deny each, and a part of the sentence.
var denied = [...][3]string{
	// Directories.
	{"cd {HOST} && git commit -am x", "leaves-workspace", "cd to {HOST} leaves the workspace; use a path below {WT}"},
	{"cd ..", "leaves-workspace", ""},
	{"cd", "leaves-workspace", ""},
	{"cd ~ && make", "leaves-workspace", "cd to {HOMEDIR}"},
	{`cd "$HOME/x"`, "leaves-workspace", ""},
	{`cd "$PWD/.."`, "leaves-workspace", ""},
	{`cd ${X:-{OUT}}`, "leaves-workspace", ""},
	{"cd src && cd .. && cd ..", "leaves-workspace", ""},
	{"(cd src); cd ..", "leaves-workspace", ""},
	{"cd src & cd ..", "leaves-workspace", ""},
	{"f() { cd src; }; cd ..", "leaves-workspace", ""},
	{"pushd src; popd; cd ..", "leaves-workspace", ""},
	{"pushd {OUT}", "leaves-workspace", ""},
	{"cd link-host && git status", "leaves-workspace", ""},
	{"cd {WT}-old && make", "leaves-workspace", ""},
	{"d={HOST}; cd $d", "leaves-workspace", ""},
	{"for d in src {OUT}; do cd $d; done", "leaves-workspace", ""},
	{"if true; then cd ..; fi", "leaves-workspace", ""},
	{"cd$IFS..", "leaves-workspace", ""},
	{"CDPATH={OUT} cd bin", "path-outside", ""},
	{"command cd ..", "leaves-workspace", ""},
	{"echo $(cd {HOST} && git commit -am x)", "leaves-workspace", ""},
	{"diff <(cd .. && ls) a", "leaves-workspace", ""},
	{"[[ -n $(cd ..) ]]", "leaves-workspace", ""},
	// Redirections.
	{"echo x > {OUT}/y", "writes-outside", "{OUT}/y is outside the workspace and may not be written; use a path below"},
	{"echo x > {HOST}/y", "writes-outside", "{HOST}/y is outside the workspace"},
	{"echo x >> ~/.bashrc", "writes-outside", "{HOMEDIR}/.bashrc is outside the workspace"},
	{"echo x > ../y", "writes-outside", ""},
	{"cd src; echo x > ../../y", "writes-outside", ""},
	{"{ echo a; } &> {OUT}/y", "writes-outside", ""},
	{"echo x > link-file", "writes-outside", ""},
	{"for i in 1; do echo $i; done > {OUT}/x", "writes-outside", ""},
	{"echo x > /proc/sys/kernel/core_pattern", "writes-outside", ""},
	{"true | tee >(cat > {OUT}/x)", "writes-outside", ""},
	// Paths in commands that are not known to only read.
	{"touch {OUT}/x", "writes-outside", "{OUT}/x is outside the workspace and may not be changed"},
	{"rm -rf ../x", "writes-outside", ""},
	{`rm -rf "${HOME}"/*`, "writes-outside", ""},
	{"rm -rf link-out/", "writes-outside", ""},
	{"mkdir /nothing-here", "writes-outside", ""}, {"mkdir '/nothing here'", "writes-outside", ""},
	{"cp README.md ..", "writes-outside", ""},
	{"cp -l {HOST}/a b", "writes-outside", ""},
	{"touch -m {OUT}/x", "writes-outside", ""},
	{"ln -s {HOST} h", "writes-outside", ""},
	{"ln -s ../../../x src/pkg/y", "writes-outside", ""},
	{"sed -i s/a/b/ {OUT}/notes.txt", "path-outside", "sed is not known to only read, and is given {OUT}/notes.txt"},
	{"sed -i.bak -e s/a/b/ README.md ../x", "path-outside", ""}, {"sed -ne p -i ../x", "path-outside", ""},
	{"sort a -o {OUT}/b", "path-outside", ""},
	{"make -C {HOST}", "path-outside", ""},
	{"make -C{HOST}", "path-outside", ""},
	{"make --directory={HOST}", "path-outside", "to read there use cat, grep, ls and the like"},
	{"make install DESTDIR={OUT}", "path-outside", ""},
	{"x={OUT}; frobnicate --to=$x/y", "path-outside", ""},
	{"find {HOST} -name '*.orig' -delete", "path-outside", ""},
	{"find . -exec cp {} {OUT}/ \\;", "path-outside", ""}, {"find . -exec sh -c 'touch {OUT}/x' \\;", "path-outside", ""},
	{"find {OUT} -name x -exec rm {} +", "path-outside", ""},
	{"python3 -c 'open(\"{OUT}/x\",\"w\")'", "path-outside", ""},
	{"python3 - <<'EOF'⏎open('{OUT}/x','w')⏎EOF", "path-outside", ""},
	{"awk 'BEGIN{print > \"{OUT}/x\"}'", "path-outside", ""},
	{"node -e 'x(\"~/y\")'", "path-outside", ""},
	{"tar -xf a.tar -C {OUT}", "path-outside", ""},
	{"$BIN --to {OUT}/x", "path-outside", ""},
	// Texts that are run.
	{"sh -c 'touch {OUT}/x'", "writes-outside", ""},
	{"bash -euo pipefail -c 'cd ..'", "leaves-workspace", ""},
	{`bash -lc "sh -c 'cd ..'"`, "leaves-workspace", ""},
	{"bash -c $'ls\\ncd ..'", "leaves-workspace", ""},
	{"sh -c 'touch $0/x' {OUT}", "path-outside", ""},
	{"eval 'cd ..'", "leaves-workspace", ""},
	{"eval cd ..; ls", "leaves-workspace", ""},
	{"trap 'rm -rf {OUT}' EXIT", "writes-outside", ""},
	{"bash <<'EOF'⏎cd {HOST}⏎EOF", "leaves-workspace", ""},
	{"sh <<< 'cd ..'", "leaves-workspace", ""},
	{". /dev/stdin <<< 'cd ..'", "leaves-workspace", ""},
	{"env A=b git -C {HOST} status", "git-outside", ""},
	{"nice -n 10 rm -rf {OUT}", "writes-outside", ""},
	{"timeout -s KILL 5 bash -c 'cd ..'", "leaves-workspace", ""},
	{"xargs -n1 sh -c 'touch {OUT}/$0'", "writes-outside", ""},
	{"xargs -d $'\\n' rm {OUT}/x", "writes-outside", ""},
	{"env -S 'git -C {HOST} commit'", "git-outside", ""},
	{"watch 'touch {OUT}/x'", "writes-outside", ""},
	{"flock /tmp/l rm {OUT}/x", "path-outside", ""},
	{"$(which git) -C {HOST} commit", "path-outside", ""},
	// Git.
	{"git -C {HOST} log", "git-outside", "git is given {HOST}, which is outside the workspace"},
	{"git -C src -C ../.. status", "git-outside", ""}, {"git -C link-host log", "git-outside", ""},
	{"git --git-dir={HOST}/.git commit", "git-outside", ""},
	{"git --work-tree {HOST} status", "git-outside", ""},
	{"GIT_DIR={HOST}/.git git commit -am x", "git-outside", ""},
	{"export GIT_WORK_TREE={HOST}; git add -A", "git-outside", ""},
	{"env GIT_DIR={HOST}/.git git log", "git-outside", ""},
	{"git -c core.worktree={HOST} checkout .", "git-outside", ""},
	{"git clone . ../x", "git-outside", ""},
	{"git push {HOST} HEAD:main", "git-outside", ""},
	{"git worktree add ../wt2", "git-outside", ""},
	{"git log --output={OUT}/x", "git-outside", ""},
	// The guard's own.
	{"echo {} > .claude/settings.json", "guard-settings", "leave it as it is"},
	{"cd .claude && rm settings.local.json", "guard-settings", ""},
	{"mv .claude x", "guard-settings", ""},
	{"rm -rf .git", "guard-settings", ""},
	{"git checkout HEAD~3 -- .claude/settings.json", "guard-settings", ""},
	{`node -e "const f = '.claude/settings.json'; write(f)"`, "guard-settings", ""},
	{"sed -i s/a/b/ ~/.claude/settings.json", "guard-settings", ""},
	{"touch ~/.config/cco/config.toml", "guard-settings", ""},
	// Others who act.
	{"docker run -v /:/h alpine", "acts-elsewhere", "docker runs containers"},
	{"sudo make install", "acts-elsewhere", ""},
	{"systemd-run --user touch x", "acts-elsewhere", ""},
	{"echo ls | at now", "acts-elsewhere", ""},
	{"crontab x", "acts-elsewhere", ""},
	{"nohup tmux new -d make", "acts-elsewhere", ""},
	{"ssh localhost ls", "acts-elsewhere", "ssh to this machine"},
	{"cco box list", "acts-elsewhere", ""},
	{"claude -p x", "starts-agent", "do the work yourself"},
	{"npx @openai/codex@latest exec x", "starts-agent", ""},
	// What can't be read.
	{"echo 'x", "unreadable", "does not parse as bash"},
	{"ls\r", "unreadable", "control character"},
	{"echo $\\⏎(ls)", "unreadable", ""},
}

var allowed = [...]string{
	"go test ./... && git add -A && git commit -m 'add parser'",
	// Directories.
	"cd src && go build ./... && cd ..", "cd {WT}/src/pkg/.. && ls", "cd ../{WTNAME}", "cd {TMP} && make", "cd link-in",
	"pushd src && make && popd", "cd src && cd - && make", `for d in */; do (cd "$d" && pwd); done`, "cd .claude && ls",
	`cd "$(git rev-parse --show-toplevel)"`, "cd \"$SOMEWHERE\" && make", "case x in a) cd src;; b) cd docs;; esac",
	"D={WT}/src; cd $D", "cd build || mkdir build && cd src", "if [ -d src ]; then cd src; else cd docs; fi; cd ..",
	// Redirections.
	"go build ./... >/dev/null 2>&1", "echo x > {TMP}/y", "cd src && echo x > ../y", "echo x > link-in/y",
	"echo a 3>&1 1>&2",
	`echo x > "$OUT_FILE"`, "make 2>&1 | tee /dev/fd/2", "> empty.txt", "echo x > ~/.cache/y",
	// Reading.
	"cat {HOST}/README.md /etc/passwd", "ls ~", "grep -rn '{HOST}' src", "find {HOST} -name '*.go' | wc -l",
	"find /usr/include -name x.h -exec grep -l y {} +", "sed -n 1,3p /etc/passwd", "diff {HOST}/a a",
	"[ -d {HOST} ] && echo yes",
	"source /etc/os-release", ". ~/.nvm/nvm.sh && make", "test -f ../x", "awk '/usr/ {print $1}' /etc/passwd",
	"cp {HOST}/.env .env", "cp -r {HOST}/testdata .", "cat < {HOST}/x", "command -v cco", "which docker",
	// Words that are data.
	"echo cd {HOST}", "git commit -am 'cd {HOST} is denied'", "git commit -m \"$(cat <<'EOF'⏎see {HOST}⏎EOF⏎)\"",
	"gh pr create --title x --body 'see {HOST}/a'", "curl -d '{\"path\":\"{HOST}\"}' http://localhost/api",
	"sed -i 's|{HOST}/a|b|g' x", "sed -i -e '/etc/d' -e 's:{HOST}:x:' x", "sed -E -i '/etc/d' x",
	"frobnicate --message '{HOST}'", "frobnicate http://localhost{HOST}", "frobnicate /api/v1/users",
	"git log --grep={HOST}",
	"cat > x <<'EOF'⏎cd {HOST} && rm -rf /⏎EOF", "tee x <<'EOF'⏎{HOST}/y⏎EOF", "rsync -a src/ host.example:/var/www/",
	"ssh build.example.com 'cd /etc && ls'", "export DOC={HOST}; make", "PATH=/usr/local/go/bin:$PATH go test ./...",
	"scp x me@example.com:/etc/x", "alias x='cd {HOST}'", "# cd {HOST}", "x='$(cd {HOST})'", "git diff main..topic",
	// Programs by a path.
	"/usr/bin/env node x.js", "{OUT}/bin/tool --help", "./scripts/build.sh", "/bin/ls", "./docker build", "scripts/at now",
	// Texts that are run.
	"bash -c 'go build ./...'", "env A=b make", "timeout 60 go test ./...", "xargs -0 -r wc -l", "eval \"$(go env)\"",
	"bash scripts/build.sh", "echo ls | sh", "find src -type f -name '*.tmp' -exec rm -f {} \\;", "bash -n x.sh",
	"find . -name '*.orig' -delete", "nohup make &", "env -i PATH=\"$PATH\" HOME=\"$HOME\" make", "trap 'rm -f x' EXIT",
	"python3 -c 'print(1)'", "python3 - <<'EOF'⏎open('x','w')⏎EOF", "f() { cd \"$1\"; }; f src",
	// Git, of which only paths are judged.
	"git status", "git -C src log", "git -C src add ../README.md", "git -C \"$PWD\" status", "git --work-tree=. status",
	"git rebase --exec 'go test ./...' main",
	"GIT_DIR={HOST}/.git/worktrees/{WTNAME} GIT_WORK_TREE={WT} git status", "git add .claude/settings.json",
	"git init {TMP}/r",
	"git clone https://example.com/o/r", "git clone git@example.com:o/r", "git branch -D main", "git config user.name x",
	"GIT_AUTHOR_NAME='A B' git commit -m x", "git checkout -b feature/x", "git sparse-checkout set '/*' '!/docs'",
	// Removing a link, or making one within.
	"rm link-out", "rm 'a b' '{WT}/c d'", "ln -s ../README.md src/README.md", "rm -rf build node_modules", "mv a b",
	"mkdir -p {src,docs}/fixtures", "frobnicate ${x}/y ${a[0]}/etc/y",
	// Others who only tell something.
	"docker ps", "docker --version", "crontab -l", "systemctl --user status x", "claude --version", "tmux ls",
}

func TestDenied(t *testing.T) {
	for name, nested := range layouts() {
		s := newSite(t, nested)
		for _, c := range denied {
			v := s.decide(c[0])
			if v.Allow {
				t.Errorf("%s: allowed: %s", name, c[0])
				continue
			}
			if string(v.Rule) != c[1] || !strings.Contains(v.Message(), s.fill(c[2])) {
				t.Errorf("%s: %s\n\t%s\n\twant %s: %s", name, c[0], v.Message(), c[1], s.fill(c[2]))
			}
			if v.Reason == "" || v.Instead == "" {
				t.Errorf("%s: a denial without words: %+v", c[0], v)
			}
		}
	}
}

func TestAllowed(t *testing.T) {
	for name, nested := range layouts() {
		s := newSite(t, nested)
		for _, command := range allowed {
			if v := s.decide(command); !v.Allow {
				t.Errorf("%s: %s\n\t%s", name, command, v.Message())
			}
		}
	}
}

// held is a file system in which the user may write in some places alone.
type held struct{ writable []string }

func (held) Lookup(string) (string, bool) { return "", true }

func (h held) Writable(path string) bool {
	for _, p := range h.writable {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// What the user can't write need not be kept from unknown programs; what is the user's own never counts as such, also
// below a directory of the system.
func TestWhatTheUserCantWrite(t *testing.T) {
	p := guard.Policy{Workspace: "/opt/me/task", Host: "/opt/me/repo", Home: "/opt/home/me"}
	fs := held{writable: []string{"/opt/me", "/opt/home/me", "/opt/shared"}}
	for command, allow := range map[string]bool{
		"gcc -I/usr/include/x -c a.c": true, "cmake -DX=/opt/qt .": true, "./run /etc/hostname": true,
		"gcc -I/opt/shared/x -c a.c": false, "./run /opt/me/repo/x": false, "./run /opt/home/me/x": false,
		"rm /etc/x": false, "echo x > /etc/x": false, "cd /usr && make": false, "git clone /usr/share/x": false,
	} {
		if v := guard.Decide(p, fs, guard.Command("/opt/me/task", command)); v.Allow != allow {
			t.Errorf("%s: allow %v: %s", command, v.Allow, v.Message())
		}
	}
}

// A strict policy has no directories for temporary files; the tools' caches and what holds nothing stay.
func TestStrict(t *testing.T) {
	p := guard.Policy{Workspace: "/w/task", Home: "/h", Caches: guard.CacheRoots("/h")}
	for command, allow := range map[string]bool{
		"echo x > /tmp/x": false, "cd /tmp": false, "touch /var/tmp/x": false, "go build -o /dev/shm/x": false,
		"echo x > /dev/null": true, "touch ~/.cache/x": true, "cat /tmp/x": true,
	} {
		if v := guard.Decide(p, nil, guard.Command("/w/task", command)); v.Allow != allow {
			t.Errorf("%s: allow %v: %s", command, v.Allow, v.Message())
		}
	}
	if text := guard.Prompt(p); strings.Contains(text, "emporary") {
		t.Errorf("the prompt promises them:\n%s", text)
	}
}

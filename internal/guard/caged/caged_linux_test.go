package caged

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
	"github.com/cco-dev/cco/internal/tree"
)

// place is a home with a worktree in it, and a cage around that.
type place struct {
	home, worktree, outside string
	cage                    *Cage
}

func newPlace(t *testing.T, program string) place {
	t.Helper()
	root := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	p := place{home: filepath.Join(root, "home"), outside: filepath.Join(root, "outside")}
	p.worktree = filepath.Join(p.home, "src", "work")
	data := filepath.Join(root, "data")
	bin := filepath.Join(root, "bin")
	for _, dir := range []string{p.worktree, p.outside, filepath.Join(data, "guard", "x"), bin} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	must.Do(t, programs.Build(t.Context(), bin, "cco-box"))
	p.cage = &Cage{Tool: filepath.Join(bin, "cco-box"), Data: data, Dir: filepath.Join(data, "guard", "x"),
		Worktree: p.worktree, Program: program,
		User: User{Home: p.home, Path: os.Getenv("PATH"), Env: []string{"HOME=" + p.home, "SECRET=x", "LANG=C.UTF-8"}}}
	t.Cleanup(func() { // an overlay leaves a directory that only root could remove as it is
		p.cage.Release()
		must.Do(t, tree.Remove(p.cage.Dir))
	})
	return p
}

// lay makes files.
func lay(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

// shell runs a script in the worktree. In it, commands after no have to fail.
func (p place) shell(t *testing.T, script string) string {
	t.Helper()
	var out, errs bytes.Buffer
	const no = "set -e\nno() { if \"$@\" 2>/dev/null; then echo \"GOT THROUGH: $*\"; exit 9; fi; }\n"
	e := box.Exec{Argv: []string{"bash", "-c", no + script}, Dir: p.worktree, Stdout: &out, Stderr: &errs}
	if err := p.cage.Run(t.Context(), e); err != nil {
		t.Errorf("%v\n%s%s", err, out.String(), errs.String())
	}
	return out.String()
}

// Guards against a cage that lets something of the machine change.
func TestOnlyTheWorktreeCanBeWritten(t *testing.T) {
	p := newPlace(t, "bash")
	lay(t, map[string]string{
		p.home + "/notes": "mine\n", p.home + "/.ssh/id": "secret\n", p.outside + "/file": "theirs\n",
		p.home + "/.cache/pip/x": "cached\n", p.worktree + "/code": "old\n", p.worktree + "/.claude/settings.json": "{}\n",
	})
	p.shell(t, `
		echo new > code; mkdir sub; mv code sub/code
		no cat ~/notes; no touch ~/notes; no touch ~/new; no chmod 600 ~/notes; no touch -d 2001-01-01 ~/notes
		no touch `+p.outside+`/new; no chmod 600 `+p.outside+`/file; no touch -d 2001-01-01 `+p.outside+`/file
		no touch `+p.outside+`/file; no rm `+p.outside+`/file; no mv ~/src ~/other
		no grep -s secret ~/.ssh/id; no ls `+p.cage.Data+`/guard
		touch /tmp/x /var/tmp/x /dev/shm/x
		grep -q cached ~/.cache/pip/x; echo changed > ~/.cache/pip/x; mkdir -p ~/.npm/_cacache
		no touch .claude/settings.json; no mv .claude .c; no rm -rf .claude; no mkdir .codex/x
		no touch .mcp.json/x; no rmdir .mcp.json
		[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 10 ]
		[ -z "$SECRET" ]; [ -d /run/cco/held ]; no touch /run/cco/held/x; no mount -t tmpfs x /run/cco`)
	for name, want := range map[string]string{
		p.home + "/.cache/pip/x": "cached\n", p.worktree + "/sub/code": "new\n", p.home + "/notes": "mine\n",
	} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(p.home + "/.npm"); err == nil {
		t.Error("a cache was made in the user's home")
	}
	p.shell(t, `grep -q changed ~/.cache/pip/x; [ -d ~/.npm/_cacache ]`)
	p.cage.Release()
	if all := must.Get(os.ReadDir(p.worktree))(t); len(all) != 2 {
		t.Errorf("left in the worktree: %v", all)
	}
}

// Guards against workflows that nobody can change, because an agent has a directory of hooks beside them.
func TestAPlaceAmongOthersIsHeldAlone(t *testing.T) {
	p := newPlace(t, "bash")
	hooks := "no touch .github/hooks/x; no rmdir .github/hooks; no mv .github .g\n"
	p.shell(t, hooks+"mkdir .github/workflows; echo one > .github/workflows/ci")
	p.cage.Release()
	p.shell(t, hooks+"echo two > .github/workflows/ci")
	p.cage.Release()
	p.cage.Way = Landlock
	must.Do(t, p.cage.Record())
	p.shell(t, "echo three >> .github/workflows/ci; mkdir .github/hooks")
	changed := must.Get(p.cage.PutBack())(t)
	got := string(must.Get(os.ReadFile(p.worktree + "/.github/workflows/ci"))(t))
	if _, err := os.Lstat(p.worktree + "/.github/hooks"); err == nil || got != "two\nthree\n" || len(changed) != 1 {
		t.Errorf("%q, %v, %v", got, changed, err)
	}
	must.Do(t, os.RemoveAll(p.worktree+"/.github"))
	p.cage.Way = Namespaces
	p.shell(t, "no touch .github/hooks/x")
	p.cage.Release()
	must.Do(t, os.Symlink(p.outside, p.worktree+"/.github"))
	if err := p.cage.Run(t.Context(), box.Exec{Argv: []string{"true"}, Dir: p.worktree}); err == nil {
		t.Error("a link leads out of it")
	}
	p.cage.Release()
	for _, dir := range []string{p.outside, p.worktree} {
		if all := must.Get(os.ReadDir(dir))(t); len(all) > 1 || dir == p.outside && len(all) > 0 {
			t.Errorf("%s holds %v", dir, all)
		}
	}
}

// Guards against settings that can be written because something below them is held, and so what is above it.
func TestASubmoduleAmongSettingsOpensNothing(t *testing.T) {
	for _, program := range []string{"bash", "claude"} {
		p := newPlace(t, program)
		sub := p.worktree + "/.claude/skills/one"
		lay(t, map[string]string{sub + "/.git": "gitdir: there\n", sub + "/SKILL.md": "mine\n"})
		p.cage.Kept, p.cage.Empty = []string{sub + "/.git"}, []string{p.worktree + "/.claude/skills/two"}
		p.shell(t, `no touch .claude/skills/two/x; no touch .claude/skills/one/.git; no rm .claude/skills/one/.git
			grep -q gitdir .claude/skills/one/.git
			touch .claude/settings.local.json .claude/skills/one/SKILL.md .claude/skills/new || true
			mv .claude/skills/one .claude/one || true`)
		p.cage.Release()
		if got := files(t, p.worktree); len(got) != 3 || !strings.HasSuffix(got[sub+"/SKILL.md"], "mine\n") {
			t.Errorf("%s left %v", program, got)
		}
	}
}

// Guards against a cage that does not start because somebody was at work in a directory that is shown in parts.
func TestWhatVanishesMeanwhileIsLeftOut(t *testing.T) {
	p := newPlace(t, "bash")
	at := func(name string) string { return filepath.Join(p.outside, name) }
	lay(t, map[string]string{at("stays/file"): "", at("now-a-file"): "", at("now-a-dir/file"): ""})
	var out, errs bytes.Buffer
	e := box.Exec{Argv: []string{"ls", p.outside}, Dir: p.worktree, Stdout: &out, Stderr: &errs}
	limits := cage.LimitsFor(&box.Box{}, e)
	plan := must.Get(p.cage.plan(e, limits))(t)
	for _, name := range []string{"stays", "gone", "now-a-file"} {
		plan.Mounts = append(plan.Mounts, Mount{Source: at(name), Target: at(name), Host: true, Found: true})
	}
	for _, name := range []string{"gone-too", "stays/gone", "now-a-dir"} {
		plan.Mounts = append(plan.Mounts, Mount{Source: at(name), Target: at(name), File: true, Found: true})
	}
	runs := cage.Registry{Dir: filepath.Join(p.cage.Dir, "runs")}
	must.Do(t, runs.Open())
	held := &cage.Cage{Tool: p.cage.Tool, Name: "guard", User: cage.Me(), Plan: plan, Limits: limits, Registry: runs}
	if err := held.Run(t.Context(), e); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if got := out.String(); !strings.Contains(got, "stays\n") || strings.Contains(got, "gone") {
		t.Errorf("it sees %q", got)
	}
}

// Guards against a program that the cage itself has put out of sight.
func TestAProgramInScratchIsThere(t *testing.T) {
	for _, way := range []Way{Namespaces, Landlock} {
		t.Run(string(way), func(t *testing.T) {
			p := newPlace(t, "")
			p.cage.Way, p.cage.Program = way, filepath.Join(p.outside, "agent")
			lay(t, map[string]string{p.cage.Program: "#!/bin/sh\necho here\n", p.outside + "/beside": "theirs\n"})
			must.Do(t, os.Chmod(p.cage.Program, 0o755))
			var out, errs bytes.Buffer
			e := box.Exec{Argv: []string{p.cage.Program}, Dir: p.worktree, Stdout: &out, Stderr: &errs}
			if err := p.cage.Run(t.Context(), e); err != nil || out.String() != "here\n" {
				t.Errorf("%v: %q\n%s", err, out.String(), errs.String())
			}
			p.shell(t, `no sh -c ': >> `+p.cage.Program+`'; no cat `+p.outside+`/beside; no rm `+p.cage.Program)
		})
	}
}

// Guards against one of cco's own steps that takes away what holds the place of settings in a cage that runs.
func TestAStepBesideARunLeavesItAlone(t *testing.T) {
	p := newPlace(t, "bash")
	done := make(chan string, 1)
	go func() {
		done <- p.shell(t, `touch begun; until [ -e go ]; do :; done; no mkdir .codex/x; no mkdir .codex`)
	}()
	for _, err := os.Lstat(p.worktree + "/begun"); err != nil; _, err = os.Lstat(p.worktree + "/begun") {
		if t.Context().Err() != nil {
			t.Fatal("it never began")
		}
	}
	alone := *p.cage
	alone.Alone = true
	must.Do(t, alone.Run(t.Context(), box.Exec{Argv: []string{"true"}, Dir: p.worktree}))
	lay(t, map[string]string{p.worktree + "/go": ""})
	<-done
	if filled := p.cage.Release(); len(filled) > 0 {
		t.Errorf("%q were made", filled)
	}
}

// Guards against an agent that loses its login or its transcripts, or changes the user's settings.
func TestAnAgentHasAHomeOfItsOwn(t *testing.T) {
	for way, held := range map[Way]string{
		Namespaces: "no touch settings.json; no rm settings.json; no mv settings.json was",
		Landlock:   "no sh -c ': >> settings.json'; no sh -c ': > $(realpath settings.json)'", // there it is a link
	} {
		t.Run(string(way), func(t *testing.T) { anAgentHasAHomeOfItsOwn(t, way, held) })
	}
}

func anAgentHasAHomeOfItsOwn(t *testing.T, way Way, held string) {
	p, began := newPlace(t, "/somewhere/claude"), time.Now()
	p.cage.Way = way
	mine := p.home + "/.claude/projects/" + strings.Map(func(r rune) rune {
		if strings.ContainsRune("/._", r) {
			return '-'
		}
		return r
	}, p.worktree)
	const login = `{"oauth":{"token":"old","expires":1}}`
	lay(t, map[string]string{
		p.home + "/.claude/settings.json": `{"model":"x"}`, p.home + "/.claude/.credentials.json": login,
		p.home + "/.claude.json": `{"projects":{}}`, mine + "/s.jsonl": "one\n",
		p.home + "/.claude/other": "secret\n", p.home + "/.claude/projects/another/s.jsonl": "secret\n",
	})
	p.shell(t, `cd "$CLAUDE_CONFIG_DIR"
		grep -q model settings.json; `+held+`
		cd projects; [ "$(ls)" = `+filepath.Base(mine)+` ]; cd ./*; grep -q one s.jsonl; echo two >> s.jsonl
		ln -s ~/.profile next.jsonl; cd ../..; no test -e other
		echo '{"changed":1}' > new; mv new .claude.json; mkdir shell-snapshots
		echo '{"oauth":{"token":"new","expires":2}}' > new; mv new .credentials.json
		no grep -r secret ~/.claude`)
	must.Get(p.cage.BringTokens(p.worktree, began))(t)
	if all := must.Get(os.ReadDir(mine))(t); len(all) != 1 {
		t.Errorf("%v lead out of what is the user's", all)
	}
	for name, want := range map[string]string{
		mine + "/s.jsonl": "one\ntwo\n", p.home + "/.claude.json": `{"projects":{}}`,
		p.home + "/.claude/.credentials.json": `{"oauth":{"token":"new","expires":2}}` + "\n",
	} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	p.shell(t, `cd "$CLAUDE_CONFIG_DIR"; grep -q changed .claude.json; echo '{"command":"rm"}' > .credentials.json
		rm -rf projects 2>/dev/null || true; ln -s /etc .claude.x; rm -rf shell-snapshots; ln -s / shell-snapshots`)
	must.Get(p.cage.BringTokens(p.worktree, began))(t)
	if got := must.Get(os.ReadFile(p.home + "/.claude/.credentials.json"))(t); !bytes.Contains(got, []byte("new")) {
		t.Errorf("the login became %q", got)
	}
	p.shell(t, `true`) // whatever the agent has put there
}

// Guards against a way out that boxes hold against and a cage does not.
func TestTheWaysOutAreShut(t *testing.T) {
	for _, way := range []Way{Namespaces, Landlock} {
		t.Run(string(way), func(t *testing.T) {
			p := newPlace(t, "bash")
			p.cage.Way = way
			lay(t, map[string]string{p.home + "/.ssh/id": "secret\n"})
			found := must.Get(p.cage.Try(t.Context(), p.outside))(t)
			if len(found) != len(p.cage.Probes()) {
				t.Errorf("%d of %d probes have said something", len(found), len(p.cage.Probes()))
			}
			for _, f := range found {
				if !f.Held {
					t.Errorf("%s: %s", f.Probe, f.Detail)
				}
			}
		})
	}
}

// Guards against a home in which something can be read that nobody has asked to show, and against programs of the
// user's that start outside and not in a cage.
func TestOfTheHomeOnlyToolchainsAreShown(t *testing.T) {
	for _, way := range []Way{Namespaces, Landlock} {
		t.Run(string(way), func(t *testing.T) {
			p := newPlace(t, "bash")
			h := boxtest.LayHome(t, p.home)
			p.cage.Way, p.cage.User.Path = way, h.Path
			p.cage.User.Shown = []box.Mount{{Path: p.home + "/shown"}}
			// Toolchains on another disk, below what is a cache of the cage's own:
			must.Do(t, os.Rename(p.home+"/.rustup", p.outside+"/rustup"))
			must.Do(t, os.Symlink(p.outside+"/rustup", p.home+"/.rustup"))
			lay(t, map[string]string{p.home + "/shown/x": "secret\n", p.home + "/shown/.env": "x\n",
				p.home + "/.aws/credentials": "secret\n", p.home + "/.npm/_cacache/x": "cached\n",
				p.worktree + "/hidden": strings.Join(append(h.Hidden, p.home+"/.aws/credentials"), "\n") + "\n"})
			p.shell(t, `while read -r f; do no grep -s secret "$f"; done < hidden; grep -q secret `+p.home+`/shown/x
				[ "$(grep -rls secret `+p.home+` | grep -v '^`+p.worktree+`/')" = `+p.home+`/shown/x ]`)
			for _, sh := range boxtest.Shells() {
				var script string
				for command, want := range h.Starts {
					script += "[ \"$(" + command + ")\" = " + want + " ] || echo " + command + " >&2\n"
				}
				var errs bytes.Buffer
				e := box.Exec{Argv: append(slices.Clone(sh), script), Dir: p.worktree, Stderr: &errs}
				if err := p.cage.Run(t.Context(), e); err != nil || errs.Len() > 0 {
					t.Errorf("%s: %v, %s", sh, err, errs.String())
				}
			}
		})
	}
}

// Guards against rules that let something of the machine change, or be seen, that mounts hold.
func TestRulesAloneHold(t *testing.T) {
	p := newPlace(t, "bash")
	p.cage.Way = Landlock
	lay(t, map[string]string{
		p.home + "/notes": "mine\n", p.home + "/.ssh/id": "secret\n", p.home + "/.config/gh/hosts.yml": "secret\n",
		p.home + "/.config/other": "mine\n", p.outside + "/file": "theirs\n", p.worktree + "/code": "old\n",
	})
	at := "H=" + p.home + "; no [ \"$H\" = \"$HOME\" ]\n"
	must.Do(t, os.Symlink(p.home+"/.ssh", p.home+"/keys"))
	p.shell(t, at+`
		echo new > code; mkdir sub; mv code sub/code; echo x > "$TMPDIR/x"; mkdir -p "$XDG_CACHE_HOME/x" "$GOPATH"
		no grep -q mine $H/notes; no grep -q mine $H/.config/other
		no grep -rs secret $H/.ssh $H/keys $H/.config/gh; no ls `+p.cage.Data+`/guard/x/runs/*.run/..
		no touch $H/new ~/new; no rm $H/notes; no mv $H/notes notes; no ln $H/notes hard; no truncate -s 0 $H/notes
		no sh -c 'echo >> $1/notes' sh $H; no mv $H/src $H/other
		no touch `+p.outside+`/x; no touch /tmp/x /dev/shm/x /var/tmp/x
		no cat /proc/$PPID/environ; no kill -0 $PPID; no kill -0 `+strconv.Itoa(os.Getpid())+`
		no sh -c 'echo 1 > /proc/sys/kernel/core_pattern'; no unshare -U true; no unshare -m true
		[ -z "$SECRET" ]
		python3 -c 'import socket,sys
try: socket.socket(socket.AF_UNIX); sys.exit(1)
except OSError: socket.socketpair(); socket.socket(socket.AF_INET)'
		(setsid sh -c 'while :; do sleep 1; done' >/dev/null 2>&1 &)
		(setsid setsid sleep 1000 >/dev/null 2>&1 &)`)
	if all := must.Get(os.ReadDir(p.worktree))(t); len(all) != 1 {
		t.Errorf("left in the worktree: %v", all)
	}
}

// Guards against processes that outlive a program without a pid namespace.
func TestNothingIsLeftRunning(t *testing.T) {
	p := newPlace(t, "bash")
	p.cage.Way = Landlock
	p.shell(t, `for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'trap "" TERM HUP; while :; do sleep 1000; done' left-`+
		filepath.Base(p.cage.Dir)+`-$i & ) ; done; echo $BASHPID > pid`)
	for _, dir := range must.Get(filepath.Glob("/proc/[0-9]*/cwd"))(t) {
		if at, _ := os.Readlink(dir); at == p.worktree {
			t.Errorf("%s is still there", dir)
		}
	}
}

// Guards against what an agent leaves for the user's git, or for the next agent, to start.
func TestWhatStartsSomethingLaterIsPutBack(t *testing.T) {
	p := newPlace(t, "bash")
	p.cage.Way = Landlock
	lay(t, map[string]string{p.worktree + "/.git": "gitdir: x\n", p.worktree + "/.claude/settings.json": "{}\n",
		p.worktree + "/a/sub/.git": "gitdir: y\n", p.worktree + "/CLAUDE.txt": "x\n"})
	must.Do(t, os.Chmod(p.worktree+"/.claude/settings.json", 0o600))
	p.cage.Kept = []string{p.worktree + "/.git", p.worktree + "/a/sub/.git"}
	p.cage.Empty = []string{p.worktree + "/b"}
	want := files(t, p.worktree)
	must.Do(t, p.cage.Record())
	p.shell(t, `rm .git; mkdir .git; echo evil > .git/config; echo evil >> .claude/settings.json; mkdir .codex
		mkfifo .mcp.json; mkdir b; git init -q b; mv a/sub a/s2; ln -s s2 a/sub; chmod 777 a`)
	changed := must.Get(p.cage.PutBack())(t)
	if len(changed) != 6 {
		t.Errorf("put back: %v", changed)
	}
	got := files(t, p.worktree)
	for name, was := range want {
		if got[name] != was {
			t.Errorf("%s is %q, and was %q", name, got[name], was)
		}
	}
	for _, name := range []string{"/.codex", "/.mcp.json", "/b"} {
		if _, err := os.Lstat(p.worktree + name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if again := must.Get(p.cage.PutBack())(t); len(again) != 0 {
		t.Errorf("put back again: %v", again)
	}
}

// files is what is in a directory: modes, and what files hold.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if d.Type().IsRegular() || d.Name() == ".claude" {
			st, _ := os.Lstat(name)
			data, _ := os.ReadFile(name)
			all[name] = st.Mode().String() + string(data)
		}
		return err
	}))
	return all
}

// Guards against an agent of keys that a cage shows unasked, or not if it is asked for.
func TestAnAgentOfKeysIsShownByName(t *testing.T) {
	p := newPlace(t, "bash")
	at := filepath.Join(p.outside, "agent")
	l := must.Get((&net.ListenConfig{}).Listen(t.Context(), "unix", at))(t)
	t.Cleanup(func() { _ = l.Close() })
	lay(t, map[string]string{p.home + "/.ssh/known_hosts": "host key\n", p.home + "/.ssh/id": "secret\n"})
	p.cage.User.Env = append(p.cage.User.Env, "SSH_AUTH_SOCK="+at)
	p.shell(t, `[ -z "$SSH_AUTH_SOCK" ]; no test -e ~/.ssh/known_hosts`)
	p.cage.User.Sockets = Sockets()
	p.shell(t, `python3 -c 'import os,socket; socket.socket(socket.AF_UNIX).connect(os.environ["SSH_AUTH_SOCK"])'
		grep -q key ~/.ssh/known_hosts; no cat ~/.ssh/id; no touch ~/.ssh/known_hosts`)
}

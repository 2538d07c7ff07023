package caged

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
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
	t.Cleanup(func() { p.cage.Release() })
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
		p.home + "/.cache/tool/x": "cached\n", p.worktree + "/code": "old\n", p.worktree + "/.claude/settings.json": "{}\n",
	})
	p.shell(t, `
		echo new > code; mkdir sub; mv code sub/code
		grep -q mine ~/notes; no touch ~/notes; no touch ~/new; no chmod 600 ~/notes; no touch -d 2001-01-01 ~/notes
		no touch `+p.outside+`/file; no rm `+p.outside+`/file; no mv ~/src ~/other
		no grep -s secret ~/.ssh/id; no ls `+p.cage.Data+`/guard
		touch /tmp/x /var/tmp/x /dev/shm/x
		grep -q cached ~/.cache/tool/x; echo changed > ~/.cache/tool/x; mkdir -p ~/.npm/_cacache
		no touch .claude/settings.json; no mv .claude .c; no rm -rf .claude; no mkdir .codex/x
		no touch .mcp.json/x; no rmdir .mcp.json
		[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 10 ]
		[ -z "$SECRET" ]; [ -d /run/cco/held ]; no touch /run/cco/held/x; no mount -t tmpfs x /run/cco`)
	for name, want := range map[string]string{
		p.home + "/.cache/tool/x": "cached\n", p.worktree + "/sub/code": "new\n", p.home + "/notes": "mine\n",
	} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(p.home + "/.npm"); err == nil {
		t.Error("a cache was made in the user's home")
	}
	p.shell(t, `grep -q changed ~/.cache/tool/x; [ -d ~/.npm/_cacache ]`)
	p.cage.Release()
	if all := must.Get(os.ReadDir(p.worktree))(t); len(all) != 2 {
		t.Errorf("left in the worktree: %v", all)
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
	p := newPlace(t, "/somewhere/claude")
	const login = `{"oauth":{"token":"old","expires":1}}`
	lay(t, map[string]string{
		p.home + "/.claude/settings.json": `{"model":"x"}`, p.home + "/.claude/.credentials.json": login,
		p.home + "/.claude.json": `{"projects":{}}`, p.home + "/.claude/projects/a/s.jsonl": "one\n",
		p.home + "/.claude/other": "secret\n",
	})
	p.shell(t, `cd "$CLAUDE_CONFIG_DIR"
		grep -q model settings.json; no touch settings.json; no rm settings.json; no mv settings.json was
		grep -q one projects/a/s.jsonl; echo two >> projects/a/s.jsonl; no test -e other
		echo '{"changed":1}' > new; mv new .claude.json; mkdir shell-snapshots
		echo '{"oauth":{"token":"new","expires":2}}' > new; mv new .credentials.json
		no grep -r secret ~/.claude`)
	must.Get(p.cage.BringTokens())(t)
	for name, want := range map[string]string{
		"/.claude/projects/a/s.jsonl": "one\ntwo\n", "/.claude.json": `{"projects":{}}`,
		"/.claude/.credentials.json": `{"oauth":{"token":"new","expires":2}}` + "\n",
	} {
		if got, err := os.ReadFile(p.home + name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	p.shell(t, `cd "$CLAUDE_CONFIG_DIR"; grep -q changed .claude.json; echo '{"command":"rm"}' > .credentials.json
		rm -rf projects 2>/dev/null || true; ln -s /etc .claude.x; rm -rf shell-snapshots; ln -s / shell-snapshots`)
	must.Get(p.cage.BringTokens())(t)
	if got := must.Get(os.ReadFile(p.home + "/.claude/.credentials.json"))(t); !bytes.Contains(got, []byte("new")) {
		t.Errorf("the login became %q", got)
	}
	p.shell(t, `true`) // whatever the agent has put there
}

// Guards against a way out that boxes hold against and a cage does not.
func TestTheWaysOutAreShut(t *testing.T) {
	p := newPlace(t, "bash")
	lay(t, map[string]string{p.home + "/.ssh/id": "secret\n"})
	found := must.Get(p.cage.Try(t.Context(), p.outside))(t)
	if len(found) != len(Probes()) {
		t.Errorf("%d of %d probes have said something", len(found), len(Probes()))
	}
	for _, f := range found {
		if !f.Held {
			t.Errorf("%s: %s", f.Probe, f.Detail)
		}
	}
}

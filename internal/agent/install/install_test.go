package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/must"
)

func adapter(t *testing.T, name string) agent.Adapter {
	t.Helper()
	a := must.Get(agent.Find(name))(t)
	return a
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(text), mode))
}

// fakeNPM stands in for a registry: it puts down a program for each package that it is asked for, for the platform that
// it is told, with $NPM_ELF for another than its own.
const fakeNPM = `#!/bin/sh
set -e
dir=$3 machine=MACHINE other=
for arg; do case $arg in
--os=*) machine=${arg#--os=}; other=yes;;
--cpu=*) machine=$machine-${arg#--cpu=};;
esac; done
echo "$@" "$(cat "$dir/package.json")" >> "$NPM_LOG"
program() {
	mkdir -p "$(dirname "$dir/node_modules/$1")"
	if test -n "$other"; then cp "$NPM_ELF" "$dir/node_modules/$1"
	else printf '#!/bin/sh\n%s\n' "$2" > "$dir/node_modules/$1"; fi
	chmod +x "$dir/node_modules/$1"
}
says='echo "v1.2.3 of $1"'
for name in @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai; do
	all="$all,\"node_modules/$name\":{\"version\":\"1.2.3\",\"integrity\":\"sha512-${NPM_SUM:-one}\"}"
done
echo "{\"packages\":{\"\":{}$all}}" > "$dir/package-lock.json"
case $(cat "$dir/package.json") in
*@anthropic-ai/claude-code*) program @anthropic-ai/claude-code-$machine/claude "$says";;
*@google/gemini-cli*) program @google/gemini-cli/bundle/gemini.js "$says"
	test -n "$NPM_NODELESS" || program "$(sed 's/.*"\(node-[^"]*\)".*/\1/' "$dir/package.json")/bin/node" "$says";;
*opencode-ai*) program opencode-$machine/bin/opencode 'exit 132'
	program opencode-$machine-baseline/bin/opencode "$says";;
esac
if test -n "$NPM_HANG"; then touch "$NPM_HANG"; sleep 1000; fi
if test -n "$NPM_FAIL"; then echo "npm error no such version" >&2; exit 1; fi
`

// stage makes a PATH with our npm and nothing that is installed.
func stage(t *testing.T) (data, bin, log string) {
	t.Helper()
	root := t.TempDir()
	data, bin, log = filepath.Join(root, "data"), filepath.Join(root, "bin"), filepath.Join(root, "npm.log")
	write(t, filepath.Join(bin, "npm"), strings.ReplaceAll(fakeNPM, "MACHINE", Host().machine()), 0o755)
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("NPM_LOG", log)
	return data, bin, log
}

func TestInstallPutsOneWholeVersionInPlace(t *testing.T) {
	data, _, log := stage(t)
	a := adapter(t, "claude")
	p := must.Get(Install(t.Context(), data, a, "", Host(), nil))(t)
	if p.Version != a.Package().Version || p.Dir != filepath.Join(data, "agents", "claude", runtime.GOOS+"-"+
		runtime.GOARCH, p.Version) || !strings.HasPrefix(p.Path, p.Dir) {
		t.Errorf("program %+v", p)
	}
	if found, err := Find(t.Context(), data, a); err != nil || found != p {
		t.Errorf("found %+v, %v", found, err)
	}
	must.Get(Install(t.Context(), data, a, "", Host(), nil))(t)
	text, err := os.ReadFile(log)
	if err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("npm was asked %q, %v", text, err)
	}
	for _, want := range []string{"--ignore-scripts", `"@anthropic-ai/claude-code":"2.1.325"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("npm was asked %q, without %s", text, want)
		}
	}
	if info, err := os.Stat(p.Dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("boxes may be somebody else: %v, %v", info.Mode(), err)
	}
	alone(t, data, "claude", p.Version)
}

// alone sees that nothing but versions is left.
func alone(t *testing.T, data, name string, want ...string) {
	t.Helper()
	entries, _ := os.ReadDir(Dir(data, name, Host()))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// Guards against an interrupted installation that is taken for a whole one, or left lying about.
func TestInterruptedInstallLeavesNothing(t *testing.T) {
	data, _, _ := stage(t)
	hangs := filepath.Join(t.TempDir(), "hangs")
	t.Setenv("NPM_HANG", hangs)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for tick := time.Tick(5 * time.Millisecond); ctx.Err() == nil; <-tick {
			if _, err := os.Stat(hangs); err == nil {
				cancel()
			}
		}
	}()
	a := adapter(t, "claude")
	if _, err := Install(ctx, data, a, "", Host(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	alone(t, data, "claude")
	if _, ok := Installed(data, a, Host()); ok {
		t.Error("it was found all the same")
	}
}

// Guards against a registry that gives other content for a version than before.
func TestAVersionThatChangesIsRefused(t *testing.T) {
	data, _, _ := stage(t)
	a := adapter(t, "claude")
	p := must.Get(Install(t.Context(), data, a, "", Host(), nil))(t)
	must.Do(t, Remove(p))
	must.Get(Install(t.Context(), data, a, "", Host(), nil))(t)
	must.Do(t, Remove(p))
	t.Setenv("NPM_SUM", "other")
	_, err := Install(t.Context(), data, a, "", Host(), nil)
	if err == nil || !strings.Contains(err.Error(), "@anthropic-ai/claude-code@1.2.3 is not what it was") ||
		!strings.Contains(err.Error(), "was sha512-one") {
		t.Errorf("err = %v", err)
	}
	alone(t, data, "claude")
}

func TestFailedInstallSaysWhy(t *testing.T) {
	data, _, _ := stage(t)
	t.Setenv("NPM_FAIL", "1")
	_, err := Install(t.Context(), data, adapter(t, "claude"), "2.9.9", Host(), nil)
	if err == nil || !strings.Contains(err.Error(), "install claude 2.9.9 for "+Host().String()+": ") ||
		!strings.Contains(err.Error(), "no such version") {
		t.Errorf("err = %v", err)
	}
	alone(t, data, "claude")
}

func TestInstallRefusesWhatItCantBe(t *testing.T) {
	data, _, _ := stage(t)
	for _, version := range []string{"latest", "^2.0.0", "file:/etc", "--global", "2.1.325 x"} {
		_, err := Install(t.Context(), data, adapter(t, "claude"), version, Host(), nil)
		if _, ok := errors.AsType[*UnknownVersionError](err); !ok {
			t.Errorf("%q: %v", version, err)
		}
	}
	_, err := Install(t.Context(), data, adapter(t, "claude"), "1.0.0", Host(), nil)
	if _, ok := errors.AsType[*OldError](err); !ok {
		t.Errorf("old: %v", err)
	}
	_, err = Install(t.Context(), data, adapter(t, "script"), "", Host(), nil)
	if _, ok := errors.AsType[*NothingError](err); !ok {
		t.Errorf("script: %v", err)
	}
}

func TestTheProgramThatRunsIsTaken(t *testing.T) {
	data, _, _ := stage(t)
	p, err := Install(t.Context(), data, adapter(t, "opencode"), "", Host(), nil)
	if err != nil || !strings.Contains(p.Path, "-baseline/") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNodeComesWithTheAgentWhateverTheHostHas(t *testing.T) {
	data, bin, log := stage(t)
	write(t, filepath.Join(bin, "node"), "#!/bin/sh\necho v30.0.0\n", 0o755) // not for boxes of containers
	p := must.Get(Install(t.Context(), data, adapter(t, "gemini"), "", Host(), nil))(t)
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), `"`+Host().node()+`":"`+
		nodeVersion+`"`) {
		t.Errorf("npm was asked %q, %v", text, err)
	}
	// The installation works where it is, and starts its own Node.
	text, err := os.ReadFile(p.Path)
	if err != nil || !strings.Contains(string(text), "/node_modules/"+Host().node()+"/bin/node") {
		t.Errorf("%s, %v", text, err)
	}
	if v := versionOf(t.Context(), p.Path); v != "1.2.3" {
		t.Errorf("version %q", v)
	}
}

func TestFindPrefersWhatCcoInstalled(t *testing.T) {
	data, bin, _ := stage(t)
	a := adapter(t, "claude")
	if _, err := Find(t.Context(), data, a); err == nil || !strings.Contains(err.Error(), "cco agent install claude") {
		t.Errorf("nothing there: %v", err)
	}
	own := filepath.Join(bin, "claude")
	write(t, own, "#!/bin/sh\necho '2.0.1 (Claude Code)'\n", 0o755)
	_, err := Find(t.Context(), data, a)
	if old, ok := errors.AsType[*OldError](err); !ok || old.Version != "2.0.1" ||
		!strings.Contains(err.Error(), "cco agent install claude") {
		t.Errorf("an old one: %v", err)
	}
	write(t, own, "#!/bin/sh\necho '9.0.1 (Claude Code)'\n", 0o755)
	if p, err := Find(t.Context(), data, a); err != nil || p != (Program{Path: own, Version: "9.0.1"}) {
		t.Errorf("a new one: %+v, %v", p, err)
	}
	write(t, own, "#!/bin/sh\nexit 1\n", 0o755)
	if p, err := Find(t.Context(), data, a); err != nil || p != (Program{Path: own}) {
		t.Errorf("one that doesn't say: %+v, %v", p, err)
	}
	for _, version := range []string{"2.1.400", "2.2.0"} {
		must.Get(Install(t.Context(), data, a, version, Host(), nil))(t)
	}
	if p, err := Find(t.Context(), data, a); err != nil || p.Version != "2.2.0" {
		t.Errorf("the newest: %+v, %v", p, err)
	}
	must.Get(Install(t.Context(), data, a, "", Host(), nil))(t)
	if p, err := Find(t.Context(), data, a); err != nil || p.Version != a.Package().Version {
		t.Errorf("the pinned one: %+v, %v", p, err)
	}
}

func TestBrokenInstallationsAreReplaced(t *testing.T) {
	data, _, _ := stage(t)
	a := adapter(t, "claude")
	dir := filepath.Join(Dir(data, "claude", Host()), a.Package().Version)
	write(t, filepath.Join(dir, recordFile), `{"version":"2.1.325","program":"../../../../../bin/sh"}`, 0o644)
	if _, ok := Installed(data, a, Host()); ok {
		t.Error("a program elsewhere was taken")
	}
	if p, err := Install(t.Context(), data, a, "", Host(), nil); err != nil || !strings.HasPrefix(p.Path, dir) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"1.2.3", "1.2.3", 0}, {"1.2.10", "1.2.9", 1}, {"0.160.0", "0.166.0", -1}, {"1.2.3-beta", "1.2.3", 0},
		{"2", "1.9.9", 1}, {"", "1.0.0", -1}} {
		if got := Compare(tt.a, tt.b); (got > 0) != (tt.want > 0) || (got < 0) != (tt.want < 0) {
			t.Errorf("Compare(%q, %q) = %d", tt.a, tt.b, got)
		}
	}
}

func TestLogin(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	a := adapter(t, "codex")
	keys := []string{"OPENAI_API_KEY"}
	if l := FindLogin(a, keys, get, home); l.Known {
		t.Errorf("nothing there: %+v", l)
	}
	write(t, filepath.Join(home, ".codex", "auth.json"), "{}", 0o600)
	if l := FindLogin(a, keys, get, home); l.How != filepath.Join(home, ".codex", "auth.json") {
		t.Errorf("a file: %+v", l)
	}
	env["CODEX_HOME"] = filepath.Join(home, "other")
	if l := FindLogin(a, keys, get, home); l.Known {
		t.Errorf("another home: %+v", l)
	}
	env["OPENAI_API_KEY"] = "secret"
	if l := FindLogin(a, keys, get, home); !l.Known || l.How != "OPENAI_API_KEY" {
		t.Errorf("a variable: %+v", l)
	}
}

package worktree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// created makes a box and a session in it.
func created(t *testing.T, o Options, b *box.Box) (box.Driver, box.Place) {
	t.Helper()
	d := New(o)
	must.Do(t, d.Create(t.Context(), b, t.Logf))
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	return d, must.Get(d.Prepare(t.Context(), b, one))(t)
}

const one = "0a1b2c3d"

// shell runs a script in the session, with arguments from $1 on. In it, commands after no have to fail.
func shell(t *testing.T, d box.Driver, b *box.Box, e box.Exec, script string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	script = "set -e\nno() { if \"$@\"; then echo \"GOT THROUGH: $*\"; exit 9; fi; }\n" + script
	e.Session, e.Stdout, e.Stderr = one, &out, &errs
	e.Argv = append([]string{"bash", "-c", script, "bash"}, args...)
	if err := d.Run(t.Context(), b, e); err != nil {
		t.Errorf("%v\n%s%s", err, out.String(), errs.String())
	}
	return out.String()
}

func TestConformanceBehindTheKernel(t *testing.T) {
	gittest.Home(t)
	boxtest.Run(t, boxtest.Setup{
		Driver: New(testOptions()), New: func(t *testing.T) *box.Box { return testBox(t) },
	})
}

// Guards against a broken promise: each is tried from inside, as `cco box verify` does.
func TestPromisesHold(t *testing.T) {
	gittest.Home(t)
	for name, accept := range map[string][]string{"behind the kernel": nil, "without it": {box.AcceptNoKernel}} {
		t.Run(name, func(t *testing.T) {
			b := testBox(t, accept...)
			d, _ := created(t, testOptions(), b)
			n, before := 0x7e570000, segments(t)
			results := must.Get(verify.Run(t.Context(), d, b,
				verify.Options{Tool: boxtest.Tool(), ID: func() string { n++; return fmt.Sprintf("%08x", n) }}))(t)
			promised := 0
			for _, r := range results {
				t.Logf("%-22s held %-5v promised %-5v %s", r.Probe, r.Held, r.Promised, r.Detail)
				if r.Promised {
					promised++
				}
				if r.Promised && !r.Held {
					t.Errorf("%s (%s): %s", r.Probe, r.What, r.Detail)
				}
			}
			if (promised > 0) != (accept == nil) {
				t.Errorf("%d promises", promised)
			}
			if left := segments(t) - before; left > 100 { // others on this machine make few
				t.Errorf("%d segments of System V memory are left on the host", left)
			}
		})
	}
}

// segments is how many segments of System V memory the host has.
func segments(t *testing.T) int {
	t.Helper()
	table := must.Get(os.ReadFile("/proc/sysvipc/shm"))(t)
	return strings.Count(string(table), "\n")
}

// lay makes files below a home.
func lay(t *testing.T, home string, files ...string) {
	t.Helper()
	for _, name := range files {
		name = filepath.Join(home, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte("secret\n"), 0o644)) // readable, so that only hiding helps
	}
}

// Guards against a home in which something can be read that nobody has asked to show, and against mounts that bring
// logins along.
func TestOfTheHomeOnlyToolchainsAreShown(t *testing.T) {
	h := boxtest.LayHome(t, open(t))
	lay(t, h.Dir, ".aws/key", ".config/gh/hosts.yml", ".config/tool/x", "keys/model", "shown/x")
	must.Do(t, os.Symlink(h.Dir+"/keys", h.Dir+"/linked"))
	b := testBox(t)
	b.Spec.Mounts = []box.Mount{{Path: h.Dir + "/.aws"}, {Path: h.Dir + "/shown"}}
	o := testOptions()
	o.Home, o.Path, o.Hidden = h.Dir, h.Path, []string{h.Dir + "/linked/model"}
	b.Spec.RequireKernel = true
	d, _ := created(t, o, b)
	if len(h.Hidden) < 246 {
		t.Errorf("only %d places", len(h.Hidden))
	}
	shell(t, d, b, box.Exec{}, `for f; do no grep -s secret "$f"; no test -e "$f"; done
		if grep -rls secret "$0"; then exit 8; fi`, append(h.Hidden, h.Dir+"/.config/gh/hosts.yml", h.Dir+"/keys/model")...)
	shell(t, d, b, box.Exec{}, `cd "$1"; grep -q secret .aws/key; grep -q secret shown/x
		[ "$(grep -rls secret . | sort | tr '\n' ' ')" = "./.aws/key ./shown/x " ]
		no touch x .aws/x .local/bin/x .cargo/bin/x bin/mine; no mv .nvm was; no mkdir .ssh
		[ "$HOME" != "$PWD" ]; touch "$HOME/x" "$HOME/.cache/x" /tmp/x /var/tmp/x /dev/shm/x
		no ls /run/user /run/docker.sock`, h.Dir)
}

// Guards against programs of the user's that start outside and not in a box: login shells set PATH anew, and shims look
// for their settings in the home.
func TestToolchainsStartFromEveryShell(t *testing.T) {
	h := boxtest.LayHome(t, open(t))
	o := testOptions()
	o.Home, o.Path, o.Env = h.Dir, h.Path, []string{"JAVA_HOME=/opt/java"}
	b := testBox(t)
	b.Spec.RequireKernel = true
	d, _ := created(t, o, b)
	for _, sh := range boxtest.Shells() {
		for command, want := range h.Starts {
			var out, errs bytes.Buffer
			err := d.Run(t.Context(), b, box.Exec{Session: one, Argv: append(slices.Clone(sh), command+"; echo $JAVA_HOME"),
				Stdout: &out, Stderr: &errs})
			if err != nil || out.String() != want+"\n/opt/java\n" {
				t.Errorf("%s %s: %v, %q, %s", sh, command, err, out.String(), errs.String())
			}
		}
	}
}

// Guards against a box that lacks a program without a word.
func TestWhatIsNotInTheBoxIsTold(t *testing.T) {
	home := open(t)
	for name, text := range map[string]string{".local/bin/a": "#!" + home + "/venvs/a/bin/python\n",
		"venvs/a/bin/python": "#!/bin/sh\n", "other/bin/b": "#!/bin/sh\n"} {
		must.Do(t, os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o755))
	}
	must.Do(t, os.Symlink(home+"/venvs/a/bin/python", home+"/venvs/a/bin/p"))
	o := testOptions()
	o.Home, o.Path = home, home+"/.local/bin:"+home+"/other/bin:"+o.Path
	var told []string
	b := testBox(t)
	d := New(o)
	report := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	must.Do(t, d.Create(t.Context(), b, report))
	want := "not in this box: a; this line in your settings shows them: box.mounts = [\"" + home + "/venvs/a\"]"
	if !slices.Contains(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	told, b.Spec.Mounts = nil, []box.Mount{{Path: home + "/venvs/a"}}
	must.Do(t, d.Create(t.Context(), b, report))
	if strings.Contains(strings.Join(told, " "), "not in this box") {
		t.Errorf("told %q", told)
	}
	must.Get(d.Prepare(t.Context(), b, one))(t)
	shell(t, d, b, box.Exec{}, "a; b")
	must.Do(t, d.Destroy(t.Context(), b))
}

// open is a home into which others may look, as root's boxes are others.
func open(t *testing.T) string {
	t.Helper()
	home := must.Get(filepath.EvalSymlinks(gittest.Home(t)))(t)
	must.Do(t, os.Chmod(home, 0o755))
	return home
}

// Guards against a data directory that is closed to others, within the home: no mount can be placed below a directory
// of an overlay that its maker may not look into.
func TestDataInAClosedDirectory(t *testing.T) {
	home := open(t)
	lay(t, home, "notes", ".ssh/id")
	b := testBox(t)
	b.Dir, b.Exchange = filepath.Join(home, "closed/data/boxes/box"), filepath.Join(home, "closed/data/exchange")
	must.Do(t, os.Mkdir(filepath.Join(home, "closed"), 0o700))
	o := testOptions()
	o.Home = home
	b.Spec.RequireKernel = true
	d, _ := created(t, o, b)
	shell(t, d, b, box.Exec{}, `no cat "$1/notes"; no cat "$1/.ssh/id"; no touch "$1/x" "$1/closed/x"
		[ "$(ls "$1/closed/data/boxes/box")" = "sessions
tool" ]; touch "$HOME/x" x`, home)
}

// Guards against an environment that is the user's less some variables.
func TestTheEnvironmentIsAList(t *testing.T) {
	gittest.Home(t)
	for name, accept := range map[string][]string{"behind the kernel": nil, "without it": {box.AcceptNoKernel}} {
		t.Run(name, func(t *testing.T) {
			b := testBox(t, accept...)
			b.Spec.Env = []string{"NAMED=by the settings"}
			o := testOptions()
			o.Env = []string{"AWS_SECRET_ACCESS_KEY=secret", "SSH_AUTH_SOCK=/run/x", "GIT_DIR=/nowhere", "ANYTHING=else",
				"JAVA_HOME=/opt/java", "LC_TIME=C", "TERM=odd"}
			d, place := created(t, o, b)
			out := shell(t, d, b, box.Exec{}, `env`)
			for _, bad := range []string{"secret", "SSH_AUTH_SOCK", "GIT_DIR", "ANYTHING", "odd"} {
				if strings.Contains(out, bad) {
					t.Errorf("it has %s:\n%s", bad, out)
				}
			}
			for _, want := range []string{"JAVA_HOME=/opt/java\n", "LC_TIME=C\n", "NAMED=by the settings\n",
				"HOME=" + place.Home + "\n"} {
				if !strings.Contains(out, want) {
					t.Errorf("it lacks %s:\n%s", want, out)
				}
			}
		})
	}
}

// Guards against caches of the user's that an agent can change: the box has copies of those that were named, made once.
func TestNamedCachesAreSeededOnce(t *testing.T) {
	home := gittest.Home(t)
	lay(t, home, ".cache/tool/x", "go/pkg/mod/m/f", ".npm/y")
	must.Do(t, os.Chmod(filepath.Join(home, "go/pkg/mod/m"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(home, "go/pkg/mod/m"), 0o755) })
	for name, accept := range map[string][]string{"behind the kernel": nil, "without it": {box.AcceptNoKernel}} {
		t.Run(name, func(t *testing.T) {
			b := testBox(t, accept...)
			b.Spec.Seeds = []string{"go/pkg/mod", ".cache/tool", "no/such"}
			o := testOptions()
			o.Home = home
			d, _ := created(t, o, b)
			shell(t, d, b, box.Exec{}, `cd; grep -q secret go/pkg/mod/m/f; grep -q secret .cache/tool/x; no ls .npm/y
				echo changed > .cache/tool/x`)
			must.Do(t, d.Create(t.Context(), b, t.Logf))
			shell(t, d, b, box.Exec{}, `grep -q changed ~/.cache/tool/x`)
			if text := must.Get(os.ReadFile(filepath.Join(home, ".cache/tool/x")))(t); string(text) != "secret\n" {
				t.Errorf("the user's cache holds %q", text)
			}
		})
	}
}

// Guards against our files replacing a whole directory of the host's /etc.
func TestEtcKeepsWhatTheHostHas(t *testing.T) {
	gittest.Home(t)
	b := testBox(t)
	d, _ := created(t, testOptions(), b)
	out := shell(t, d, b, box.Exec{Etc: []box.File{{Path: "ssl/cco/new", Data: []byte("ours\n"), Mode: 0o644}}},
		`cat /etc/ssl/cco/new; ls -A /etc/ssl /etc | wc -l; cmp /etc/passwd /.etc/passwd && ls /etc/ssl/certs > `+
			`/dev/null; touch /etc/ssl/x 2> /dev/null || echo kept`)
	count := func(dir string) int { all, _ := os.ReadDir(dir); return len(all) }
	if want := fmt.Sprintf("ours\n%d\nkept\n", count("/etc/ssl")+1+count("/etc")+3); out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// Guards against a box that demands the kernel and would run without it, and one that does not say what it lacks.
func TestWithoutTheKernelItSaysSo(t *testing.T) {
	gittest.Home(t)
	b := testBox(t, box.AcceptNoKernel)
	d, _ := created(t, testOptions(), b)
	layers, err := d.Layers(t.Context(), b)
	if err != nil || len(layers) != 1 || layers[0].Active || !strings.Contains(layers[0].Detail, "run as you") {
		t.Errorf("layers %+v, %v", layers, err)
	}
	b.Spec.RequireKernel = true
	for what, err := range map[string]error{
		"start": d.Start(t.Context(), b, t.Logf), "run": d.Run(t.Context(), b, box.Exec{Argv: []string{"true"}}),
	} {
		if err == nil || !strings.Contains(err.Error(), "no-kernel was accepted") {
			t.Errorf("%s of a box that must have the kernel: %v", what, err)
		}
	}
	if err := New(testOptions()).Create(t.Context(), testBox(t, "no-worries"), t.Logf); err == nil {
		t.Error("an unknown weaker mode was accepted")
	}
}

//go:build linux

package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/must"
)

func lay(t *testing.T, home string, files ...string) {
	t.Helper()
	for _, file := range files {
		name := filepath.Join(home, file)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte("#!/bin/sh\necho "+file+"\n"), 0o755))
	}
}

// Guards against a separate mount for each of rustup's programs, which are all one file, and against a name among them
// that leads to something else.
func TestProgramsThatAreLinks(t *testing.T) {
	home := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(home), 0o755))
	lay(t, home, ".cargo/bin/rustup", ".cargo/credentials.toml")
	for link, target := range map[string]string{
		"cargo": "rustup", "rustc": "./cargo", "rustfmt": "../credentials.toml", "rustdoc": "nothing",
	} {
		must.Do(t, os.Symlink(target, filepath.Join(home, ".cargo/bin", link)))
	}
	if s := host.Find(home, nil, nil); len(s.Mounts) != 1 || len(s.Links) != 2 {
		t.Errorf("mounts %+v, links %q", s.Mounts, s.Links)
	}
	d, b := madeBy(t, Options{Tool: boxtest.Tool(), Home: home, Path: "/usr/bin:/bin:" + home + "/.cargo/bin"}, testBox(t))
	out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c", "ls $0/.cargo $0/.cargo/bin; rustc", home}})
	want := home + "/.cargo:\nbin\n\n" + home + "/.cargo/bin:\ncargo\nrustc\nrustup\n.cargo/bin/rustup\n"
	if err != nil || out != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

// Guards against a box that does not see an agent's CLI where ~/bin and the like are not shown, however it was
// installed.
func TestProgramsByThemselves(t *testing.T) {
	for name, c := range map[string]struct{ file, link string }{
		"a file":           {"bin/agent", ""},
		"a versioned file": {".local/share/agent/versions/2.0", ".local/bin/agent"},
		"npm's prefix":     {".npm-global/lib/node_modules/@org/agent/cli.js", ".npm-global/bin/agent"},
		"npm's, unscoped":  {".npm-global/lib/node_modules/agent/bin/cli.js", ".local/bin/agent"},
		"nvm's": {".nvm/versions/node/v22/lib/node_modules/@org/agent/cli.js",
			".nvm/versions/node/v22/bin/agent"},
		"side by side":        {".bun/install/global/node_modules/@org/agent/cli.js", ".bun/bin/agent"},
		"another's directory": {"tools/agent", "somewhere/else/agent"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.Chmod(filepath.Dir(home), 0o755); err != nil { // as for the parent of a home
				t.Fatal(err)
			}
			bin := filepath.Join(home, filepath.Dir(c.file))
			beside := filepath.Join(filepath.Dir(c.file), "beside")
			lay(t, home, c.file, beside, "bin/token", ".local/bin/token", ".npm-global/etc/npmrc", "tools/token")
			if c.link != "" {
				bin = filepath.Join(home, filepath.Dir(c.link))
				link := filepath.Join(home, c.link)
				rel := must.Get(filepath.Rel(filepath.Dir(link), filepath.Join(home, c.file)))(t)
				must.Do(t, os.MkdirAll(bin, 0o755))
				must.Do(t, os.Symlink(rel, link))
			}
			path := "/usr/bin:/bin:" + bin
			d, b := madeBy(t, Options{Tool: boxtest.Tool(), Home: home, Path: path, Programs: []string{"agent"}}, testBox(t))
			script := `agent && d=$(dirname "$(readlink -f "$(command -v agent)")") && ls "$d"; find "$1" -name token -o ` +
				`-name npmrc`
			out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c", script, "sh", home}})
			first, rest, _ := strings.Cut(out, "\n")
			if err != nil || first != c.file || strings.Contains(rest, "token") || strings.Contains(rest, "npmrc") {
				t.Errorf("%v: %q", err, out)
			}
			if packaged := strings.Contains(c.file, "node_modules"); strings.Contains(rest, "beside") != packaged {
				t.Errorf("beside it: %q", rest)
			}
		})
	}
}

// Guards against a mount that brings logins along, which nobody has asked for by name.
func TestMountsBringNoLogins(t *testing.T) {
	home := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(home), 0o755))
	lay(t, home, ".config/gh/hosts.yml", ".config/git/credentials", ".config/tool/settings", ".aws/key")
	b := testBox(t)
	b.Spec.Mounts = []box.Mount{{Path: home + "/.config"}, {Path: home + "/.aws"}}
	d, _ := madeBy(t, Options{Tool: boxtest.Tool(), Home: home, Path: "/usr/bin:/bin"}, b)
	out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c",
		"cd $0 && ls .config/gh && cat .config/git/credentials && ls .config/tool .aws", home}})
	if want := ".aws:\nkey\n\n.config/tool:\nsettings\n"; err != nil || out != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

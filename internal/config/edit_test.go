package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

const settled = `# my settings
[agent]  # whose
default = "claude"   # for now
  model = 'opus # 1'

# boxes
[box]
mounts = [ "~/tools", # comment ]
  "~/data:rw",
]
limits = { memory = "8GiB", procs = 2000 }
setup = ["""
a
[x]
""", 'b']

[network]
`

// Guards against a settings file that loses a comment, the order of its lines, or another setting when one is changed.
func TestASettingIsChangedInPlace(t *testing.T) {
	for _, c := range []struct {
		name, in, key, value, want string
	}{
		{name: "replaced, with its comment", in: settled, key: "agent.default", value: `"codex"`,
			want: "default = \"codex\"   # for now\n"},
		{name: "with a sign of a comment in it", in: settled, key: "agent.model", value: `"x"`, want: "  model = \"x\"\n"},
		{name: "over several lines", in: settled, key: "box.mounts", value: `["/a"]`, want: "\nmounts = [\"/a\"]\nlimits"},
		{name: "in an inline table", in: settled, key: "box.limits.procs", value: "5",
			want: `limits = { memory = "8GiB", procs = 5 }`},
		{name: "new in an inline table", in: settled, key: "box.limits.time", value: `"1h"`,
			want: `limits = { memory = "8GiB", procs = 2000, time = "1h" }`},
		{name: "gone from an inline table", in: settled, key: "box.limits.procs", want: `limits = { memory = "8GiB" }`},
		{name: "the first gone from it", in: settled, key: "box.limits.memory", want: `limits = { procs = 2000 }`},
		{name: "gone", in: settled, key: "agent.default", want: "# whose\n  model"},
		{name: "gone that was never there", in: settled, key: "pull.timeout", want: settled},
		{name: "new in a table", in: settled, key: "box.name", value: `"b"`, want: "\"\"\", 'b']\nname = \"b\"\n\n[network]"},
		{name: "new in an empty table", in: settled, key: "network.mode", value: `"none"`,
			want: "[network]\nmode = \"none\"\n"},
		{name: "indented as its neighbours", in: settled, key: "agent.x", value: "1", want: "1'\n  x = 1\n\n# boxes"},
		{name: "new table", in: settled, key: "limits.run_cost", value: "2.5",
			want: "[network]\n\n[limits]\nrun_cost = 2.5\n"},
		{name: "new file", key: "limits.run_cost", value: "2.5", want: "[limits]\nrun_cost = 2.5\n"},
		{name: "no end of line", in: "[agent]\nmodel = 'x'", key: "agent.default", value: `"codex"`,
			want: "model = 'x'\ndefault = \"codex\"\n"},
		{name: "dotted keys at the top", in: "box.name = 'a'\n[agent]\n", key: "box.backend", value: `"native"`,
			want: "box.name = 'a'\nbox.backend = \"native\"\n[agent]\n"},
		{name: "a table below", in: "[box.provision]\npackages = []\n[box]\n", key: "box.provision.scripts", value: "[]",
			want: "packages = []\nscripts = []\n[box]"},
		{name: "quoted", in: "[\"box\"]\n'name' = 'a'\n", key: "box.name", value: `"b"`, want: "'name' = \"b\"\n"},
		{name: "ends of lines of another system", in: "[agent]\r\nmodel = 'x'\r\n", key: "agent.default", value: `"a"`,
			want: "model = 'x'\r\ndefault = \"a\"\r\n"},
		{name: "an empty inline table", in: "[box]\nlimits = {}\n", key: "box.limits.procs", value: "1",
			want: "limits = { procs = 1 }\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit(c.in, strings.Split(c.key, "."), c.value)
			if err != nil || !strings.Contains(got, c.want) {
				t.Fatalf("%v\n%s", err, got)
			}
			for line := range strings.Lines(c.in) {
				if strings.HasPrefix(line, "#") && !strings.Contains(got, line) {
					t.Errorf("lost %q", line)
				}
			}
		})
	}
}

func TestSetWritesOnlyWhatIsRight(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "dotfiles", "config.toml")
	link := filepath.Join(dir, "config.toml")
	must.Do(t, os.Mkdir(filepath.Dir(file), 0o700))
	must.Do(t, os.WriteFile(file, []byte("# mine\n[agent]\nmodel = \"m\" # kept\n"), 0o640))
	must.Do(t, os.Symlink(file, link))
	s := Sources{UserFile: link, Home: "/home/ada", Backends: backends()}
	for _, c := range []struct {
		name  string
		words []string
		want  string
	}{
		{"agent.default", []string{"codex"}, `"codex"`},
		{"limits.run_cost", []string{"2.50"}, "2.5"},
		{"limits.day_cost", []string{"none"}, `"none"`},
		{"push.timeout", []string{"90m"}, `"1h30m"`},
		{"push.headless", []string{"true"}, "true"},
		{"network.allow", []string{"a.example", "b.example"}, `["a.example", "b.example"]`},
		{"network.sets", []string{"npm"}, `["npm"]`},
		{"box.mounts", []string{`["~/tools:rw"]`}, `["/home/ada/tools:rw"]`},
		{"box.env", []string{`{ CI = "1" }`}, `{ CI = "1" }`},
		{"box.limits.procs", []string{"7"}, "7"},
		{"notify.on_done", []string{`say "done"`}, `"say \"done\""`},
		{"keys.openai", []string{`{ command = ["pass", "show", "o"] }`}, `{ command = ["pass", "show", "o"] }`},
		{"push.timeout", nil, ""},
	} {
		if err := Set(s, c.name, c.words); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		all, _, err := Settings(s)
		for _, got := range all {
			from := FromDefault
			if c.words != nil {
				from = link + ":"
			}
			if got.Name == c.name && (got.Text() != c.want || !strings.HasPrefix(got.From, from)) {
				t.Errorf("%s is %s from %s, %v", c.name, got.Text(), got.From, err)
			}
		}
	}
	before := must.Get(os.ReadFile(file))(t)
	if !strings.HasPrefix(string(before), "# mine\n[agent]\nmodel = \"m\" # kept\n") {
		t.Errorf("%s", before)
	}
	secret := "sk-" + "ant-api03-" + strings.Repeat("a1B2", 23) + "-AA"
	for name, words := range map[string][]string{
		"agent.default": {"nobody"}, "no.such": {"x"}, "limits.run_cost": {"-1"}, "push.timeout": {"soon"},
		"box.mounts": {"~"}, "keys.anthropic": {secret}, "box.env": {`{ TOKEN = "` + secret + `" }`}, "box.name": {""},
		"network.mode": {"wide"}, "box.limits.procs": {"many"},
	} {
		err := Set(s, name, words)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := must.Get(os.ReadFile(file))(t); string(now) != string(before) {
		t.Errorf("a refusal changed it:\n%s", now)
	}
	info := must.Get(os.Lstat(link))(t)
	real := must.Get(os.Stat(file))(t)
	if info.Mode()&os.ModeSymlink == 0 || real.Mode().Perm() != 0o640 {
		t.Errorf("the link is %v, the file %v", info.Mode(), real.Mode())
	}
	if left := must.Get(filepath.Glob(filepath.Join(dir, "*", ".config-*")))(t); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// Guards against a broken or unusual file that a change would make worse.
func TestSetRefusesWhatItCanNotChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	s := Sources{UserFile: file, Backends: backends()}
	for _, text := range []string{
		"[agent\n", "[agent]\ndefault = \n", "[[box.mounts]]\npath = \"/a\"\n", "nonsense = 1\n", "[agent]\ndefault = 5\n",
	} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		err := Set(s, "box.mounts", []string{"/b", "/c"})
		if named := (*Error)(nil); !errors.As(err, &named) {
			t.Errorf("%q: %v", text, err)
		}
		if now := must.Get(os.ReadFile(file))(t); string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
}

// Guards against a setting that can't be shown, or reads differently after it was written as it is shown.
func TestEverySettingIsShownAsItIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	must.Do(t, os.WriteFile(file, []byte(everything), 0o600))
	s := Sources{UserFile: file, Home: "/home/ada", Backends: backends()}
	all, _, err := Settings(s)
	must.Do(t, err)
	for _, v := range all {
		if v.About == "" || strings.HasSuffix(v.About, ": ") {
			t.Errorf("%s says not what it is for", v.Name)
		}
		if v.From == FromDefault || v.Value == nil {
			t.Errorf("%s is %v from %s", v.Name, v.Value, v.From)
			continue
		}
		if !strings.Contains(v.Name, ".") {
			continue // tables of the user's own names are edited by hand
		}
		fresh := filepath.Join(t.TempDir(), "config.toml")
		again := Sources{UserFile: fresh, Home: "/home/ada", Backends: backends()}
		must.Do(t, Set(again, v.Name, []string{v.Text()}))
		now, _, err := Settings(again)
		must.Do(t, err)
		for _, n := range now {
			if n.Name == v.Name && n.Text() != v.Text() {
				t.Errorf("%s: %s became %s", v.Name, v.Text(), n.Text())
			}
		}
	}
}

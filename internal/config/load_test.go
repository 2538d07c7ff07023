package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/container"
	"github.com/cco-dev/cco/internal/box/lima"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/must"
)

const home = "/home/u"

// sources writes the two files; "" writes none.
func sources(t *testing.T, user, repo string) Sources {
	t.Helper()
	dir := t.TempDir()
	s := Sources{UserFile: filepath.Join(dir, "config.toml"), RepoFile: filepath.Join(dir, RepoFile), Home: home,
		Backends: backends()}
	for name, text := range map[string]string{s.UserFile: user, s.RepoFile: repo} {
		if text == "" {
			continue
		}
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return s
}

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// backends are the real ones.
func backends() []box.Backend {
	return []box.Backend{native.Backend(), container.Backend(), lima.Backend(), worktree.Backend()}
}

func rules(texts ...string) []broker.Rule {
	list, err := broker.ParseRules(texts)
	if err != nil {
		panic(err)
	}
	return list
}

func mustLoad(t *testing.T, s Sources) (Config, []Warning) {
	t.Helper()
	c, w, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return c, w
}

const everything = `
[box]
backend = "native"
engine = "podman"
runtime = "runc"
image = "debian"
image_tar = "~/image.tar"
cpus = 3
memory = "2GiB"
disk = "30GiB"
template = "~/lima.yaml"
name = "work"
mounts = ["~/go", "~/cache:rw", "/opt/x:ro", {path = "~/odd:rw", write = true}]
caches = [".cache/go-build", "~/.npm/"]
seed = ["~/.npm"]
env = {GOFLAGS = "-mod=mod", A = ""}
setup = ["npm ci"]
accept = ["no-landlock"]
limits = {memory = "4GiB", procs = 500, time = "2h"}
[box.provision]
packages = ["jq"]
files = {"/etc/x" = "~/x"}
scripts = ["~/setup.sh"]
containers = true
[agent]
default = "script"
model = "opus"
[agents.parrot]
npm = ["parrot@1.2.3"]
acp = ["parrot", "--acp"]
provider = "openai"
mode = "yolo"
model = "gpt-5"
env = {PARROT_KEY = "{token}", PARROT_URL = "{door}/v1"}
files = {".parrot/x.json" = "{}"}
[editor]
servers = ["tickets"]
variables = ["TICKETS_TOKEN"]
[push]
timeout = "1h30m"
depth = 10
headless = true
idle_timeout = "45m"
max_wait = "1h"
[pull]
timeout = "10m"
interval = "500ms"
max_bundle = "1GB"
max_blob = "5MiB"
refuse = ["ci", "secrets"]
ask = ["build"]
tell = ["install"]
[notify]
on_done = ["notify-send", "it's done"]
on_waiting = "say waiting | cat"
bell = false
[graveyard]
days = 0
size = "1GiB"
[guard]
git_env = "plain"
show = ["GH_TOKEN", "~/.config/gh"]
sockets = ["ssh-agent"]
cage = "landlock"
[terminal]
clipboard = true
detach_key = "Ctrl-Q"
[cruise]
model = "small"
bots = ["lint"]
poll_min = "10s"
poll_max = "10m"

[engine]
temporal = "temporal.example:7233"
namespace = "cco"
api_key = {file = "~/keys/temporal"}
ca = "~/ca.pem"
cert = "~/cert.pem"
cert_key = "~/cert.key"
accept = ["plaintext"]
heartbeat = "1m"

[worker]
name = "tower"
slots = 4
labels = ["gpu", "big-disk"]

[view]
hosts = ["localhost:9000"]

[mcp]
cost = 3
tokens = "1M"

[limits]
run_cost = 2.5
run_tokens = "500k"
day_cost = 7
day_tokens = 900
[network]
mode = "open"
allow = ["mirror.example"]
sets = ["npm", "go"]
record_bodies = true
[keys]
anthropic = {command = ["pass", "anthropic"], bearer = true}
openai = {env = "WORK_KEY"}
gemini = {file = "~/keys/gemini"}
[gateways]
anthropic = "https://gateway.example"
openai = "https://gateway.example/v1"
gemini = "http://127.0.0.1:8080"
`

func TestUserFileSetsEverything(t *testing.T) {
	c, w := mustLoad(t, sources(t, everything, ""))
	want := Config{
		Box: Box{Backend: "native", Name: "work",
			Mounts: []Mount{{home + "/go", false}, {home + "/cache", true}, {"/opt/x", false}, {home + "/odd:rw", true}},
			Caches: []string{".cache/go-build", ".npm"}, Seed: []string{".npm"},
			Env: []string{"A=", "GOFLAGS=-mod=mod"}, Setup: []string{"npm ci"},
			Accept: []string{"no-landlock"}, Limits: Limits{Memory: 4 << 30, Procs: 500, Time: 2 * time.Hour},
			Own: box.Values{"engine": "podman", "runtime": "runc", "image": "debian", "image_tar": home + "/image.tar",
				"cpus": 3, "memory": int64(2 << 30), "disk": int64(30 << 30), "template": home + "/lima.yaml",
				"provision.packages": []string{"jq"}, "provision.files": []box.VMFile{{From: home + "/x", To: "/etc/x"}},
				"provision.scripts": []string{home + "/setup.sh"}, "provision.containers": true}},
		Terminal: Terminal{Clipboard: true, DetachKey: 'q'},

		Cruise: Cruise{Model: "small", Bots: []string{"lint"}, PollMin: 10 * time.Second, PollMax: 10 * time.Minute},
		Engine: Engine{Temporal: "temporal.example:7233", Namespace: "cco", APIKey: Key{File: home + "/keys/temporal"},
			CA: home + "/ca.pem", Cert: home + "/cert.pem", Own: home + "/cert.key", Accept: []string{Plaintext},
			Heartbeat: time.Minute},
		Worker: Worker{Name: "tower", Slots: 4, Labels: []string{"gpu", "big-disk"}},
		View:   View{Hosts: []string{"localhost:9000"}},
		Agent:  Agent{Default: "script", Model: "opus"},
		Agents: map[string]OwnAgent{"parrot": {NPM: []string{"parrot@1.2.3"}, ACP: []string{"parrot", "--acp"},
			Provider: "openai", Mode: "yolo", Model: "gpt-5", Env: map[string]string{"PARROT_KEY": "{token}",
				"PARROT_URL": "{door}/v1"}, Files: map[string]string{".parrot/x.json": "{}"}}},
		Push: Push{Timeout: 90 * time.Minute, Depth: 10, Headless: true, IdleTimeout: 45 * time.Minute, MaxWait: time.Hour},
		Pull: Pull{Timeout: 10 * time.Minute, Interval: 500 * time.Millisecond, MaxBundle: 1e9, MaxBlob: 5 << 20,
			Policy: gate.Policy{Refuse: []gate.Kind{"ci", "secrets"}, Ask: []gate.Kind{"build"}, Tell: []gate.Kind{"install"}}},
		Notify: Notify{OnDone: Command{Argv: []string{"notify-send", "it's done"}},
			OnWaiting: Command{Shell: "say waiting | cat"}},
		Graveyard: Graveyard{Size: 1 << 30},
		Guard: Guard{GitEnv: GitEnvPlain, Show: []string{"GH_TOKEN", "~/.config/gh"},
			Sockets: []string{"ssh-agent"}, Cage: "landlock"},
		Editor: Editor{Servers: []string{"tickets"}, Variables: []string{"TICKETS_TOKEN"}},
		MCP:    Shared{Cost: 3, Tokens: 1e6},
		Limits: Spending{RunCost: 2.5, RunTokens: 500_000, DayCost: 7, DayTokens: 900},

		Network: Network{Mode: "open", Allow: rules("mirror.example"), Sets: []string{"npm", "go"}, RecordBodies: true},
		Gateways: map[string]string{"anthropic": "https://gateway.example", "openai": "https://gateway.example/v1",
			"gemini": "http://127.0.0.1:8080"},
		Keys: map[string]Key{
			"anthropic": {Command: Command{Argv: []string{"pass", "anthropic"}}, Bearer: true}, "openai": {Env: "WORK_KEY"},
			"gemini": {File: home + "/keys/gemini"},
		},
	}
	if !reflect.DeepEqual(c, want) || w != nil {
		t.Errorf("got  %+v\nwant %+v\nwarnings %v", c, want, w)
	}
}

// A key that is added to the table has to be added to the text above too, so that it is tried.
func TestEveryKeyIsTried(t *testing.T) {
	entries := must.Get(parse("x", []byte(everything), keys(backends())))(t)
	seen := map[string]bool{}
	for _, e := range entries {
		seen[e.key.name] = true
	}
	for _, k := range keys(backends()) {
		if !seen[k.name] {
			t.Errorf("%s is not tried", k.name)
		}
	}
}

func TestOtherWaysToWriteTheSame(t *testing.T) {
	c, _ := mustLoad(t, sources(t, "box.env = [\"A=b=c\"]\n[[box.mounts]]\npath = \"/a/../b/\"\n[[box.mounts]]\npath = "+
		"\"/c\"\nwrite = true\n[box.limits]\nprocs = 3\n", ""))
	if want := []Mount{{"/b", false}, {"/c", true}}; !reflect.DeepEqual(c.Box.Mounts, want) {
		t.Errorf("mounts %v", c.Box.Mounts)
	}
	if !reflect.DeepEqual(c.Box.Env, []string{"A=b=c"}) || c.Box.Limits.Procs != 3 {
		t.Errorf("box %+v", c.Box)
	}
}

func TestNothingGivesTheDefaults(t *testing.T) {
	for _, s := range []Sources{{}, sources(t, "", ""), sources(t, "# empty\n", "\n")} {
		c, w := mustLoad(t, s)
		if !reflect.DeepEqual(c, defaults()) || w != nil {
			t.Errorf("config %+v, warnings %v", c, w)
		}
	}
}

func TestEnvironmentStandsAboveTheFiles(t *testing.T) {
	s := sources(t, "[box]\nname = \"a\"\nbackend = \"native\"\n[pull]\ntimeout = \"1h\"\n",
		"[box]\nbackend = \"lima\"\n[pull]\ntimeout = \"1m\"\n")
	s.Env = env(map[string]string{"CCO_BOX": "b", "CCO_BACKEND": "worktree", "CCO_AGENT": "script", "CCO_MODEL": "m",
		"CCO_PUSH_TIMEOUT": "5m", "CCO_PULL_TIMEOUT": "2h", "CCO_PULL_INTERVAL": "1s"})
	c, w := mustLoad(t, s)
	if c.Box.Name != "b" || c.Box.Backend != "worktree" || c.Agent != (Agent{"script", "m"}) ||
		c.Push.Timeout != 5*time.Minute || c.Pull.Timeout != 2*time.Hour || c.Pull.Interval != time.Second || w != nil {
		t.Errorf("config %+v, warnings %v", c, w)
	}
	s.Env = env(map[string]string{"CCO_PULL_TIMEOUT": "soon"})
	if _, _, err := Load(s); err == nil || !strings.HasPrefix(err.Error(), `CCO_PULL_TIMEOUT: "soon" is not a duration`) {
		t.Errorf("err = %v", err)
	}
}

type badSetting struct{ name, text, want string }

func badSettings() []badSetting {
	return []badSetting{
		{"syntax", "[box]\nname = \n", ":2: "},
		{"twice", "[box]\nname = \"a\"\nname = \"b\"\n", ":3: "},
		{"unknown key", "[box]\nname = \"a\"\nbackened = \"native\"\n",
			":3: box.backened: unknown key; there are backend, name, mounts"},
		{"unknown table", "\n[boxes]\nname = \"a\"\n",
			":2: boxes: unknown key; there are box, agent, agents, push, pull, graveyard"},
		{"unknown way for git", "[guard]\ngit_env = \"none\"\n",
			":2: guard.git_env: no way \"none\"; there are wrapper, plain"},
		{"unknown dotted key", "\nfoo.bar = 1\n", ":2: foo: unknown key"},
		{"unknown limit", "[box.limits]\nprocs = 1\ndisk = \"1GiB\"\n",
			":3: box.limits.disk: unknown key; there are memory, procs, time"},
		{"the first unknown key", "[pull]\na = 1\n[box]\nb = 1\n", ":2: pull.a: "},
		{"case counts", "[box]\nName = \"a\"\n", ":2: box.Name: unknown key"},
		{"table expected", "box = 3\n", ":1: box: is a table"},
		{"string expected", "[box]\n\nname = 3\n", ":3: box.name: want a string, not the number 3"},
		{"empty", "[agent]\nmodel = \"\"\n", ":2: agent.model: is empty"},
		{"no such backend", "[box]\nbackend = \"docker\"\n",
			":2: box.backend: no backend \"docker\"; there are native, container, lima, worktree"},
		{"relative mount", "[box]\nmounts = [\"/a\", \"b\"]\n", ":2: box.mounts: entry 2: \"b\" is not absolute"},
		{"another user's home", "[box]\nmounts = [\"~bob/x\"]\n", "is not absolute"},
		{"the whole home", "[box]\nmounts = [\"~\"]\n", "/home/u holds your whole home"},
		{"above home", "[box]\nmounts = [\"/home/u/..\"]\n", "/home holds your whole home"},
		{"the root", "[box]\nmounts = [\"/:rw\"]\n", "/ holds your whole home"},
		{"mount twice", "[box]\nmounts = [\"~/a\", \"/home/u/a:rw\"]\n", "entry 2: /home/u/a is named twice"},
		{"mount with odd key", "[box]\nmounts = [{path = \"/a\", mode = \"rw\"}]\n",
			"entry 1: unknown key \"mode\"; there are path and write"},
		{"mount without path", "[box]\nmounts = [{write = true}]\n", "entry 1: is empty"},
		{"mount of a number", "[box]\nmounts = [3]\n", "entry 1: want \"~/dir\""},
		{"mounts not a list", "[box]\nmounts = \"/a\"\n", "want an array, not the string \"/a\""},
		{"cache outside", "[box]\ncaches = [\"a/../../b\"]\n", "entry 1: \"a/../../b\" is not a directory below home"},
		{"cache absolute", "[box]\ncaches = [\"/a\"]\n", "is not a directory below home"},
		{"cache of all", "[box]\ncaches = [\"~/\"]\n", "is not a directory below home"},
		{"env name", "[box]\nenv = {\"A B\" = \"x\"}\n", "\"A B\" can't be the name of a variable"},
		{"env value", "[box.env]\nA = 1\n", "A: want a string, not the number 1"},
		{"env word", "[box]\nenv = [\"A\"]\n", "entry 1: want \"KEY=value\""},
		{"size without unit", "[box.limits]\nmemory = 4\n",
			":2: box.limits.memory: want a string, not the number 4; sizes are written like \"4GiB\""},
		{"size", "[pull]\nmax_blob = \"4 GiB\"\n", ":2: pull.max_blob: \"4 GiB\" is not a size"},
		{"count", "[box.limits]\nprocs = 0\n", ":2: box.limits.procs: want a number from 1 to"},
		{"duration", "[pull]\ntimeout = \"30\"\n", ":2: pull.timeout: \"30\" is not a duration"},
		{"negative", "[pull]\ntimeout = \"-3s\"\n", "too short"},
		{"flag", "[notify]\nbell = \"yes\"\n", ":2: notify.bell: want true or false, not the string \"yes\""},
		{"command", "[notify]\non_done = [\"a\", 1]\n", "entry 2: want a string, not the number 1"},
		{"nameless command", "[notify]\non_done = [\"\"]\n", "the program has no name"},
		{"date", "[agent]\nmodel = 2026-01-01\n", "want a string, not a date or time"},
		{"nul", "[agent]\nmodel = \"a\\u0000\"\n", "holds a NUL"},
		{"terminal tricks", "[box]\n\"\\u001b[2J\\u202e\" = 1\n", ":2: box."},
	}
}

func TestBadSettingsNameFileLineAndKey(t *testing.T) {
	for _, tt := range badSettings() {
		for _, which := range []string{"user", "repo"} {
			t.Run(which+" "+tt.name, func(t *testing.T) {
				s := sources(t, tt.text, "")
				file := s.UserFile
				if which == "repo" {
					s = sources(t, "", tt.text)
					file = s.RepoFile
				}
				_, _, err := Load(s)
				if e, ok := errors.AsType[*Error](err); !ok || e.File != file {
					t.Fatalf("err = %v", err)
				}
				if !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\n\x1b\u202e") {
					t.Errorf("err = %q, want %q", err, tt.want)
				}
			})
		}
	}
}

func TestFilesThatAreNoFiles(t *testing.T) {
	s := sources(t, "", "")
	target := filepath.Join(t.TempDir(), "real.toml")
	must.Do(t, os.WriteFile(target, []byte("[box]\nname = \"linked\"\n"), 0o600))
	for _, name := range []string{s.UserFile, s.RepoFile} {
		must.Do(t, os.Symlink(target, name))
	}
	if _, _, err := Load(s); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a repository's link was followed: %v", err)
	}
	s.RepoFile = ""
	if c, _ := mustLoad(t, s); c.Box.Name != "linked" {
		t.Error("the user's own link was not followed")
	}

	s = sources(t, "", strings.Repeat("#", maxFile+1))
	if _, _, err := Load(s); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("err = %v", err)
	}

	s = sources(t, "", "")
	must.Do(t, syscall.Mkfifo(s.RepoFile, 0o600))
	if _, _, err := Load(s); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("err = %v", err)
	}
}

func TestCommandArgs(t *testing.T) {
	if got := (Command{Shell: "a | b"}).Args(); !reflect.DeepEqual(got, []string{"sh", "-c", "a | b"}) {
		t.Errorf("args %q", got)
	}
	if got := (Command{Argv: []string{"a", "$b"}}).Args(); !reflect.DeepEqual(got, []string{"a", "$b"}) {
		t.Errorf("args %q", got)
	}
	if got := (Command{}).Args(); len(got) != 0 {
		t.Errorf("args %q", got)
	}
}

func TestPaths(t *testing.T) {
	tests := []struct {
		name string
		vars map[string]string
		want Dirs
	}{
		{"defaults", nil, Dirs{home + "/.local/share/cco", home + "/.config/cco"}},
		{"set", map[string]string{"XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c/"}, Dirs{"/d/cco", "/c/cco"}},
		{"relative values are ignored", map[string]string{"XDG_DATA_HOME": "d", "XDG_CONFIG_HOME": "./c"},
			Dirs{home + "/.local/share/cco", home + "/.config/cco"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Paths(env(tt.vars), home)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if d := (Dirs{Config: "/c/cco"}); d.File() != "/c/cco/config.toml" {
		t.Errorf("file %s", d.File())
	}
	if _, err := Paths(env(nil), ""); err == nil || !strings.Contains(err.Error(), "XDG_DATA_HOME") {
		t.Errorf("err = %v", err)
	}
	if _, err := Paths(env(map[string]string{"XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}), ""); err != nil {
		t.Errorf("no home is needed, but %v", err)
	}
}

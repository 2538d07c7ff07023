package cco_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

const module = "github.com/cco-dev/cco/"

// layers says which of our packages each package may import, without the "internal/" in front. Arrows point down; a new
// one is written down here.
var layers = map[string][]string{
	"cmd/cco":        {"cli"},
	"cmd/cco-box":    {"inside/tool"},
	"cmd/cco-cruise": {"cli", "cli/cruising"},
	"cmd/cco-guard":  {"guard/hook"},

	"app": {"agent", "agent/install", "agent/roster", "audit", "box", "box/container", "box/lima", "box/native",
		"box/verify", "box/worktree", "broker", "broker/sets", "config", "doctor", "door", "forge", "gate",
		"git", "git/aside", "git/quarantine", "guard", "guard/caged", "guard/discover", "guard/hook", "guard/settings",
		"guest", "proc",
		"provision", "session", "session/keeping", "store", "term", "tree", "whole"},
	"cli": {"agent", "agent/event", "agent/install", "agent/roster", "app", "audit", "box", "box/verify", "broker",
		"canary", "config", "doctor", "door", "forge", "gate", "git", "git/quarantine", "guard", "guard/hook",
		"guard/settings", "inside/gitwrap", "inside/tool", "proc", "session", "session/attention",
		"session/compare", "session/keep", "session/keeping", "store", "term", "vt"},
	"app/phases": {"agent", "agent/roster", "app", "box", "broker", "config", "cruise",
		"cruise/engine", "cruise/fleet", "cruise/reading", "cruise/serve", "cruise/steps", "forge", "forge/gitea",
		"forge/github", "forge/wire", "gate", "git", "git/quarantine", "proc", "session", "session/keeping",
		"session/turns", "store", "whole"},
	"cli/cruising": {"commands", "agent/roster", "app", "app/phases", "cli", "cli/live", "config", "cruise",
		"cruise/steps", "delegate", "editor", "forge", "git", "store", "term", "view"},
	"delegate": {"app", "git", "rpc", "session", "store"},
	"editor":   {"agent", "agent/event", "app", "config", "gate", "git", "rpc", "session", "store"},
	"rpc":      {"agent/event"},
	"cli/live": {"app", "cli", "proc", "session", "session/attention", "term"},
	"view":     {"app", "app/phases", "proc", "socket", "view/api", "view/entry", "view/pages", "whole"},
	"view/api": {"agent/event", "app", "app/phases", "audit", "box", "broker", "broker/sets", "config", "cruise",
		"cruise/serve", "cruise/steps", "door", "gate", "git", "git/quarantine", "session", "session/attention",
		"session/keeping", "store", "term", "view/entry", "view/patch", "vt", "whole"},
	"view/entry":    {},
	"view/pages":    {},
	"view/patch":    {"gate", "git"},
	"view/viewtest": {"must", "proc", "programs"},
	"bench": {"agent", "agent/agenttest", "agent/event", "broker", "cruise", "cruise/reading", "cruise/steps", "door",
		"forge", "forge/github", "forge/githubfake", "forge/wire", "gate/gitleaks",
		"git/gittest", "proc", "provision", "session", "socket", "store", "vt"},
	"doctor": {"agent", "agent/install", "box", "proc"},
	"session": {"agent", "agent/event", "audit", "box", "broker", "canary", "door", "gate",
		"git", "git/quarantine", "graveyard", "inside", "proc", "socket", "store", "tree", "whole"},
	"session/attention": {"session", "socket", "store", "whole"},
	"session/compare":   {"box", "gate", "git", "proc", "session", "store"},
	"session/keeping": {"agent/roster", "box", "git", "git/quarantine", "graveyard", "inside", "proc", "session", "store",
		"tree", "whole"},
	"session/turns": {"box", "git", "git/quarantine", "graveyard", "inside", "session", "session/keeping", "store",
		"whole"},
	"session/keep": {"agent", "agent/event", "agent/roster", "audit", "box", "broker", "canary", "door", "git", "guard",
		"guard/discover", "guard/settings", "inside", "inside/gitwrap", "proc", "session", "socket", "store", "term",
		"tree", "vt"},
	"graveyard":     {"tree", "whole"},
	"door":          {"box", "broker", "inside/relay", "socket", "tree"},
	"socket":        {"tree"},
	"provision":     {"agent", "box", "skill"},
	"skill":         {},
	"box/verify":    {"box", "box/host", "box/probe", "box/rooms", "broker", "door", "proc", "tree"},
	"box/boxtest":   {"box", "must", "proc", "programs", "socket"},
	"box/native":    {"box", "box/cage", "box/host", "box/native/jail", "box/probe", "box/rooms", "tree"},
	"box/host":      {"agent/roster", "box", "box/native/jail", "box/rooms"},
	"box/rooms":     {"box", "box/cage", "box/native/jail", "box/probe", "tree", "whole"},
	"box/container": {"box", "box/cage", "box/native/jail", "box/probe", "box/rooms", "proc", "tree", "whole"},
	"box/remote":    {"box", "box/probe", "proc", "socket", "whole"},
	"box/lima":      {"box", "box/remote", "proc", "socket"},
	"guest":         {"box/cage", "box/native", "box/remote", "proc"},
	"box/worktree":  {"box", "box/cage", "box/host", "box/native/jail", "box/probe", "box/rooms", "proc"},
	"box/cage":      {"box", "box/native/jail", "proc", "socket", "tree"},
	"inside/tool": {"box/native/jail", "box/probe", "guest", "inside", "inside/gitwrap", "inside/relay",
		"inside/script"},
	"inside":           {"git/aside/wire", "proc", "tree", "whole"},
	"inside/gitwrap":   {},
	"inside/relay":     {"proc", "socket"},
	"inside/script":    {"agent/event", "proc", "whole"},
	"canary":           {"git", "whole"},
	"forge":            {},
	"forge/actor":      {"forge", "forge/wire", "git"},
	"forge/github":     {"forge", "forge/actor", "forge/wire"},
	"forge/forgetest":  {"forge", "forge/wire", "git", "must", "proc"},
	"forge/gitea":      {"forge", "forge/actor", "forge/wire"},
	"forge/giteatest":  {"must", "proc"},
	"forge/githubfake": {"forge", "proc"},
	"forge/wire":       {"forge"},
	"gate":             {"agent/roster", "gate/gitleaks", "git", "proc"},
	"gate/gitleaks":    {},
	"git":              {"proc"},
	"git/aside":        {"git", "git/aside/wire", "git/quarantine", "paths", "proc", "tree", "whole"},
	"git/aside/wire":   {},
	"git/gittest":      {"must", "proc"},
	"git/quarantine":   {"git", "proc"},
	"guard/hook":       {"agent/roster", "guard", "guard/jsontext"},
	"guard/caged": {"agent/roster", "box", "box/cage", "box/host", "box/native/jail", "box/probe", "guard",
		"guard/hook", "inside/gitwrap", "proc", "tree", "whole"},
	"guard/discover":          {"guard", "guard/hook"},
	"guard/settings":          {"agent/roster", "guard", "guard/hook", "proc", "whole"},
	"audit":                   {},
	"broker":                  {"proc"},
	"broker/sets":             {"broker"},
	"box":                     {"tree", "whole"},
	"box/native/jail":         {},
	"box/probe":               {"socket"},
	"agent":                   {"agent/event", "agent/roster", "guard/settings", "skill", "whole"},
	"agent/agenttest":         {"agent", "proc"},
	"agent/real":              {},
	"agent/event":             {},
	"agent/install":           {"agent", "agent/roster", "proc", "whole"},
	"agent/roster":            {},
	"config":                  {"agent/roster", "box", "broker", "gate", "vt", "whole"},
	"cruise":                  {"cruise/reading", "forge"},
	"cruise/reading":          {},
	"cruise/cheating":         {},
	"cruise/crash":            {},
	"cruise/crash/cco-cruise": {"app", "app/phases", "cli", "cli/cruising", "cruise"},
	"cruise/cruisetest": {"cruise", "cruise/cheating", "cruise/serve", "cruise/steps", "forge/giteatest",
		"forge/githubfake", "git/gittest", "must", "proc", "programs", "store"},
	"cruise/engine":       {"cruise"},
	"cruise/fleet":        {"cruise", "cruise/reading", "forge"},
	"cruise/temporaltest": {"must", "proc"},
	"cruise/real":         {},
	"cruise/soak":         {},
	"cruise/serve":        {"cruise", "cruise/steps", "socket", "store"},
	"cruise/steps": {"cruise", "cruise/reading", "forge", "gate", "git", "git/quarantine", "session", "session/turns",
		"store", "whole"},
	"guard":          {"agent/roster", "guard/jsontext", "paths"},
	"guard/jsontext": {},
	"must":           {},
	"proc":           {},
	"programs":       {"proc"},
	"paths":          {},
	"whole":          {},
	"safetext":       {},
	"store":          {"forge"},
	"term":           {},
	"unit":           {},
	"vt":             {},
	"tree":           {},
}

// everywhere are packages that any other may import: they import nothing of ours, and only transform what they get.
var everywhere = []string{"paths", "safetext", "unit"}

type goPackage struct {
	ImportPath string
	Imports    []string
}

// Guards against a layer that leaks: one import in the wrong direction, and soon everything knows everything.
func TestImportsPointDown(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		t.Run(goos, func(t *testing.T) {
			seen := map[string]bool{}
			for _, p := range list(t, goos) {
				name, _ := own(p.ImportPath)
				seen[name] = true
				check(t, name, p.Imports)
			}
			for name := range layers {
				if !seen[name] {
					t.Errorf("the table names %s, which isn't there", name)
				}
			}
		})
	}
}

func own(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, module)
	return strings.TrimPrefix(name, "internal/"), ok
}

func check(t *testing.T, name string, imports []string) {
	t.Helper()
	allowed, known := layers[name]
	if !known {
		t.Errorf("%s is not in the table of layers", name)
		return
	}
	for _, path := range imports {
		if ours, ok := own(path); ok && !slices.Contains(allowed, ours) && !slices.Contains(everywhere, ours) {
			t.Errorf("%s imports %s, which its layer may not", name, ours)
		}
		if path == "os/exec" && name != "proc" {
			t.Errorf("%s imports os/exec: start programs with internal/proc", name)
		}
	}
}

func list(t *testing.T, goos string) (pkgs []goPackage) {
	t.Helper()
	out := must.Get(proc.Output(t.Context(), proc.Cmd{
		Argv: []string{"go", "list", "-json=ImportPath,Imports", "./cmd/...", "./internal/..."},
		Env:  append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0"),
	}))(t)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

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

// layers says which of our packages each package may import. Arrows point down; a new one is written down here.
var layers = map[string][]string{
	"cmd/cco":        {"internal/cli"},
	"cmd/cco-box":    {"internal/inside/tool"},
	"cmd/cco-cruise": {"internal/cli", "internal/cli/cruising"},
	"cmd/cco-guard":  {"internal/guard/hook"},

	"internal/app": {
		"internal/agent", "internal/agent/install", "internal/box", "internal/box/container", "internal/box/lima",
		"internal/box/native", "internal/box/worktree", "internal/broker", "internal/broker/sets", "internal/config",
		"internal/door", "internal/forge", "internal/git", "internal/guard", "internal/guard/discover", "internal/guard/hook",
		"internal/guard/settings", "internal/guest", "internal/proc",
		"internal/provision", "internal/session", "internal/store", "internal/term",
	},
	"internal/cli": {
		"internal/agent", "internal/agent/event", "internal/agent/install", "internal/app", "internal/box",
		"internal/box/lima", "internal/box/native", "internal/box/verify", "internal/broker", "internal/broker/sets",
		"internal/canary", "internal/config", "internal/doctor", "internal/door", "internal/forge", "internal/git",
		"internal/git/quarantine", "internal/guard", "internal/guard/audit", "internal/guard/hook",
		"internal/guard/program/table",
		"internal/guard/settings", "internal/inside/tool", "internal/proc", "internal/session", "internal/session/keep",
		"internal/store", "internal/term", "internal/vt",
	},
	"internal/app/phases": {
		"internal/agent", "internal/app", "internal/broker", "internal/cruise", "internal/cruise/durable",
		"internal/cruise/serve", "internal/cruise/steps", "internal/forge", "internal/forge/gitea", "internal/forge/github",
		"internal/forge/wire", "internal/git", "internal/git/quarantine", "internal/proc", "internal/session",
		"internal/store",
	},
	"internal/cli/cruising": {
		"commands", "internal/app", "internal/app/phases", "internal/cli", "internal/config", "internal/cruise",
		"internal/cruise/steps", "internal/forge", "internal/git", "internal/store", "internal/term",
	},
	"internal/bench": {"internal/agent", "internal/agent/agenttest", "internal/agent/event", "internal/broker",
		"internal/cruise", "internal/cruise/steps", "internal/door", "internal/forge", "internal/forge/github",
		"internal/forge/githubfake", "internal/forge/wire", "internal/git/gittest", "internal/proc", "internal/provision",
		"internal/socket", "internal/store"},
	"internal/doctor": {"internal/agent", "internal/agent/install", "internal/box", "internal/proc"},
	"internal/session": {
		"internal/agent", "internal/agent/event", "internal/box", "internal/broker", "internal/canary", "internal/door",
		"internal/git", "internal/git/quarantine", "internal/guard/audit", "internal/inside", "internal/proc",
		"internal/socket", "internal/store", "internal/tree",
	},
	"internal/session/keep": {
		"internal/agent", "internal/agent/event", "internal/box", "internal/broker", "internal/canary", "internal/door",
		"internal/git", "internal/guard", "internal/guard/audit", "internal/guard/discover", "internal/guard/settings",
		"internal/inside", "internal/proc", "internal/session", "internal/socket", "internal/store", "internal/term",
		"internal/tree",
	},
	"internal/door":      {"internal/box", "internal/broker", "internal/inside/relay", "internal/socket", "internal/tree"},
	"internal/socket":    {"internal/tree"},
	"internal/provision": {"internal/box", "internal/skill"},
	"internal/skill":     {},
	"internal/box/verify": {"internal/box", "internal/box/probe", "internal/broker", "internal/door",
		"internal/proc", "internal/tree"},
	"internal/box/boxtest": {"internal/box", "internal/must", "internal/proc", "internal/socket"},
	"internal/box/native": {"internal/box", "internal/box/cage", "internal/box/native/jail", "internal/box/probe",
		"internal/box/rooms", "internal/tree"},
	"internal/box/rooms": {"internal/box", "internal/box/cage", "internal/box/native/jail", "internal/tree"},
	"internal/box/container": {"internal/box", "internal/box/cage", "internal/box/native/jail", "internal/box/probe",
		"internal/box/rooms", "internal/proc", "internal/tree"},
	"internal/box/remote": {"internal/box", "internal/box/probe", "internal/proc", "internal/socket"},
	"internal/box/lima":   {"internal/box", "internal/box/remote", "internal/proc", "internal/socket"},
	"internal/guest":      {"internal/box/cage", "internal/box/native", "internal/box/remote", "internal/proc"},
	"internal/box/worktree": {"internal/box", "internal/box/cage", "internal/box/native/jail", "internal/box/probe",
		"internal/git", "internal/git/quarantine", "internal/proc", "internal/tree"},
	"internal/box/cage": {"internal/box", "internal/box/native/jail", "internal/proc", "internal/socket", "internal/tree"},
	"internal/inside/tool": {"internal/box/native/jail", "internal/box/probe", "internal/guest", "internal/inside",
		"internal/inside/gitwrap", "internal/inside/relay", "internal/inside/script"},
	"internal/inside":         {"internal/proc", "internal/tree"},
	"internal/inside/gitwrap": {},
	"internal/inside/relay":   {"internal/proc", "internal/socket"},
	"internal/inside/script":  {"internal/agent/event", "internal/proc"},
	"internal/canary":         {"internal/git", "internal/git/quarantine"},
	"internal/forge":          {},
	"internal/forge/github":   {"internal/forge", "internal/forge/wire", "internal/git"},
	"internal/forge/forgetest": {"internal/forge", "internal/forge/wire", "internal/git", "internal/must",
		"internal/proc"},
	"internal/forge/gitea":      {"internal/forge", "internal/forge/wire", "internal/git"},
	"internal/forge/giteatest":  {"internal/must", "internal/proc"},
	"internal/forge/githubfake": {"internal/forge", "internal/proc"},
	"internal/forge/wire":       {"internal/forge"},
	"internal/git":              {"internal/proc"},
	"internal/git/gittest":      {"internal/must", "internal/proc"},
	"internal/git/quarantine":   {"internal/git", "internal/proc"},
	"internal/guard/hook": {"internal/guard", "internal/guard/jsontext", "internal/guard/land",
		"internal/guard/verdict"},
	"internal/guard/discover": {"internal/guard"},
	"internal/guard/settings": {"internal/guard", "internal/guard/discover", "internal/guard/land",
		"internal/proc"},
	"internal/guard/audit":     {},
	"internal/guard/guardeval": {"internal/guard", "internal/guard/discover", "internal/guard/hook", "internal/proc"},
	"internal/broker":          {"internal/proc"},
	"internal/broker/sets":     {"internal/broker", "internal/proc"},
	"internal/box":             {"internal/tree"},
	"internal/box/native/jail": {},
	"internal/box/probe":       {"internal/socket"},
	"internal/agent":           {"internal/agent/event", "internal/skill"},
	"internal/agent/agenttest": {"internal/agent", "internal/proc"},
	"internal/agent/real":      {},
	"internal/agent/event":     {},
	"internal/agent/install":   {"internal/agent", "internal/proc"},
	"internal/config":          {"internal/vt"},
	"internal/cruise":          {},
	"internal/cruise/crash":    {},
	"internal/cruise/crash/engine": {"internal/app", "internal/app/phases", "internal/cli", "internal/cli/cruising",
		"internal/cruise"},
	"internal/cruise/cruisetest": {"internal/cruise/serve", "internal/forge/githubfake", "internal/git/gittest",
		"internal/must",
		"internal/proc", "internal/programs"},
	"internal/cruise/durable": {"internal/cruise"},
	"internal/cruise/real":    {},
	"internal/cruise/serve":   {"internal/cruise", "internal/cruise/steps", "internal/socket", "internal/store"},
	"internal/cruise/steps": {"internal/cruise", "internal/forge", "internal/git", "internal/git/quarantine",
		"internal/session", "internal/store"},
	"internal/guard": {"internal/guard/jsontext", "internal/guard/land", "internal/guard/program", "internal/guard/script",
		"internal/guard/verdict", "internal/guard/word"},
	"internal/guard/program": {"internal/guard/bash", "internal/guard/land", "internal/guard/program/git",
		"internal/guard/program/table", "internal/guard/script", "internal/guard/verdict", "internal/guard/word",
		"internal/paths"},
	"internal/guard/program/git": {"internal/guard/bash", "internal/guard/land", "internal/guard/verdict",
		"internal/guard/word", "internal/paths"},
	"internal/guard/program/table": {"internal/guard/word"},
	"internal/guard/script":        {"internal/guard/land", "internal/guard/verdict", "internal/guard/word"},
	"internal/guard/bash/fish":     {},
	"internal/guard/bash": {"internal/guard/bash/fish", "internal/guard/land", "internal/guard/verdict",
		"internal/guard/word", "internal/paths"},
	"internal/guard/land":     {"internal/guard/jsontext", "internal/paths"},
	"internal/guard/verdict":  {},
	"internal/guard/word":     {},
	"internal/guard/jsontext": {},
	"internal/must":           {},
	"internal/proc":           {},
	"internal/programs":       {"internal/proc"},
	"internal/paths":          {},
	"internal/safetext":       {},
	"internal/store":          {"internal/forge"},
	"internal/term":           {},
	"internal/vt":             {},
	"internal/tree":           {},
}

// everywhere are packages that any other may import: they import nothing of ours, and only transform what they get.
var everywhere = []string{"internal/paths", "internal/safetext"}

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
				name := strings.TrimPrefix(p.ImportPath, module)
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

func check(t *testing.T, name string, imports []string) {
	t.Helper()
	allowed, known := layers[name]
	if !known {
		t.Errorf("%s is not in the table of layers", name)
		return
	}
	for _, path := range imports {
		if own, ok := strings.CutPrefix(path, module); ok && !slices.Contains(allowed, own) &&
			!slices.Contains(everywhere, own) {
			t.Errorf("%s imports %s, which its layer may not", name, own)
		}
		if path == "os/exec" && name != "internal/proc" {
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

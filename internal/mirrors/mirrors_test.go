package mirrors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/proc"
)

// machine is one with files and tools of the test's own.
func machine(t *testing.T, files, tools map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Machine{
		Home: filepath.Join(root, "home"), Root: root, Getenv: func(name string) string { return tools["$"+name] },
		Run: func(_ context.Context, argv ...string) (string, error) {
			for command, out := range tools {
				if strings.HasPrefix(strings.Join(argv, " "), command) {
					return out, nil
				}
			}
			return "", fmt.Errorf("%s: %w", argv[0], proc.ErrNotFound)
		},
		Fetch: func(_ context.Context, page string) (string, error) {
			if text, ok := tools[page]; ok {
				return text, nil
			}
			return "", errors.New("no such page " + page)
		},
	}
}

func TestHostsAreThoseOfTheUsersSettings(t *testing.T) {
	for _, tt := range []struct {
		set          string
		files, tools map[string]string
		want         []string
	}{
		{set: "go", tools: map[string]string{"go env": "https://proxy.example,https://second.example:8443/go|direct\nsum.example\n"},
			want: []string{"proxy.example", "second.example:8443", "sum.example"}},
		{set: "go", tools: map[string]string{"go env": "https://user:secret@PROXY.example/x,off\noff\n"}, want: []string{"proxy.example"}},
		{set: "go", tools: map[string]string{"go env": "https://proxy.example\nsum.example+abc+key https://sums.example\n"}, want: []string{"proxy.example", "sums.example"}},
		{set: "go", tools: map[string]string{"$GOPROXY": "http://10.0.0.1:3000"}, want: []string{"10.0.0.1:3000"}},
		{set: "npm", tools: map[string]string{"npm config": "https://npm.example/\n"},
			files: map[string]string{"home/.npmrc": "@mine:registry=https://mine.example/npm/\n//mine.example/:_authToken=secret\n; @x:registry=https://x.example\n"},
			want:  []string{"mine.example", "npm.example"}},
		{set: "debian", files: map[string]string{
			"etc/apt/sources.list":                 "# deb http://old.example x\ndeb [arch=amd64] http://deb.example/debian stable main\ndeb cdrom:[x] y\n",
			"etc/apt/sources.list.d/a.sources":     "Types: deb\nURIs: https://a.example/x https://b.example\nSuites: y\n",
			"etc/apt/sources.list.d/b.list":        "deb-src http://src.example:8080/ x main\n",
			"etc/apt/sources.list.d/c.list.backup": "deb http://gone.example x\n",
		}, want: []string{"a.example", "b.example", "deb.example", "src.example:8080"}},
		{set: "pip", tools: map[string]string{
			"python3 -m pip config list":       "global.index-url='https://pip.example/simple'\nglobal.extra-index-url='https://more.example/simple'\n",
			"https://pip.example/simple/pip/":  `<a href="https://files.example/packages/pip-1.0.whl#sha256=x">pip</a><a href="https://docs.example/">docs</a>`,
			"https://more.example/simple/pip/": ``,
		}, want: []string{"files.example", "more.example", "pip.example"}},
		{set: "pip", tools: map[string]string{
			"python3 -m pip config list": "", "python3 -c": "https://own.example/simple\n", "https://own.example/simple/pip/": `<a href="../../pip-1.whl">`,
		}, want: []string{"own.example"}},
		{set: "cargo", files: map[string]string{
			"home/.cargo/config.toml":                                  "[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = \"sparse+https://cargo.example/index/\"\n",
			"home/.cargo/registry/index/cargo.example-abc/config.json": `{"dl": "https://dl.example/crates", "api": "https://api.example"}`,
			"home/.cargo/registry/index/usual.example-def/config.json": `{"dl": "https://static.example"}`,
		}, want: []string{"cargo.example", "dl.example"}},
		{set: "cargo", files: map[string]string{
			"home/.cargo/registry/index/usual.example-def/config.json": `{"dl": "https://static.example/{crate}"}`,
		}, want: []string{"static.example", "usual.example"}},
	} {
		s, ok := Find(tt.set)
		if !ok {
			t.Fatal(tt.set)
		}
		got, err := s.Hosts(t.Context(), machine(t, tt.files, tt.tools))
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v; want %v", tt.set, got, err, tt.want)
		}
	}
}

// Guards against a set that allows nothing and seems to work, or something that nobody named.
func TestSettingsThatNameNothingAreAnError(t *testing.T) {
	for _, s := range All() {
		if hosts, err := s.Hosts(t.Context(), machine(t, nil, nil)); err == nil {
			t.Errorf("%s: %v", s.Name, hosts)
		}
	}
	if _, ok := Find("maven"); ok {
		t.Error("there is a set that nobody made")
	}
}

func TestSetsSayHowDataCouldLeave(t *testing.T) {
	for name, wants := range map[string]bool{"npm": true, "pip": true, "cargo": true, "go": true, "debian": false} {
		if s, ok := Find(name); !ok || (s.Caution != "") != wants {
			t.Errorf("%s: %q", name, s.Caution)
		}
	}
}

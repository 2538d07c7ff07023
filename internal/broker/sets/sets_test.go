package sets

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// machine is a host of the test: files below a directory, variables, and programs by name.
type machine struct {
	files, env, programs map[string]string
}

func (m machine) system(t *testing.T) System {
	t.Helper()
	dir := t.TempDir()
	for name, text := range m.files {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "@DIR@", dir)), 0o600))
	}
	return System{
		Home: filepath.Join(dir, "home"), Etc: filepath.Join(dir, "etc"),
		Written: []string{filepath.Join(dir, "home", ".cache")},
		Getenv:  func(name string) string { return strings.ReplaceAll(m.env[name], "@DIR@", dir) },
		Run: func(_ context.Context, argv ...string) (string, error) {
			out, ok := m.programs[strings.Join(argv, " ")]
			if !ok {
				return "", fmt.Errorf("start %s: %w", argv[0], proc.ErrNotFound)
			}
			if out == "fail" {
				return "", &proc.ExitError{Argv: argv, Code: 1}
			}
			return out, nil
		},
	}
}

func TestSetsAreReadFromTheUsersConfiguration(t *testing.T) {
	for _, c := range []struct {
		name, set string
		machine
		want string // "" is an error
	}{
		{"go env", "go", machine{programs: map[string]string{
			"go env -json GOPROXY GOSUMDB": `{"GOPROXY":"https://mirror.example:8443/go,https://second.example|direct",` +
				`"GOSUMDB":"sum.example"}`}}, "second.example sum.example"},
		{"go env, sums elsewhere", "go", machine{
			programs: map[string]string{"go env -json GOPROXY GOSUMDB": `{"GOPROXY":"https://mirror.example",` +
				`"GOSUMDB":"sum.example+abc https://mirror.example/sum"}`}}, "mirror.example"},
		{"go env, no sums", "go", machine{programs: map[string]string{
			"go env -json GOPROXY GOSUMDB": `{"GOPROXY":"https://mirror.example","GOSUMDB":"off"}`}}, "mirror.example"},
		{"go env, everything off", "go", machine{
			programs: map[string]string{"go env -json GOPROXY GOSUMDB": `{"GOPROXY":"off","GOSUMDB":"off"}`}}, ""},
		{"go env fails", "go", machine{programs: map[string]string{"go env -json GOPROXY GOSUMDB": "fail"}}, ""},
		{"no go, a variable", "go", machine{env: map[string]string{"GOPROXY": "https://mirror.example"}}, "mirror.example"},
		{"no go, its file", "go", machine{files: map[string]string{
			"home/.config/go/env": "GOPROXY=https://mirror.example\nGOSUMDB=off\n"}}, "mirror.example"},
		{"no go, its file elsewhere", "go", machine{env: map[string]string{"GOENV": "@DIR@/x"},
			files: map[string]string{"x": "GOPROXY=file:///mirror,https://mirror.example\n"}}, "mirror.example"},
		{"no go", "go", machine{}, ""},
		{"npm", "npm", machine{programs: map[string]string{"npm config get registry": "https://npm.example/\n"}},
			"npm.example"},
		{"npm, a variable", "npm", machine{env: map[string]string{"npm_config_registry": "https://npm.example:443"}},
			"npm.example"},
		{"npm, another port", "npm", machine{env: map[string]string{"npm_config_registry": "http://npm.example:4873"}}, ""},
		{"npm, an address", "npm", machine{env: map[string]string{"npm_config_registry": "http://10.0.0.7/"}}, ""},
		{"npm, an address in disguise", "npm", machine{env: map[string]string{"npm_config_registry": "http://0x7f.1/"}}, ""},
		{"npm, an address of six", "npm", machine{env: map[string]string{"npm_config_registry": "http://[fd00::1]/"}}, ""},
		{"npm, all names", "npm", machine{env: map[string]string{"npm_config_registry": "http://*.example/"}}, ""},
		{"npm, a file that agents write", "npm",
			machine{env: map[string]string{"NPM_CONFIG_USERCONFIG": "@DIR@/home/.cache/rc"},
				programs: map[string]string{"npm config get registry": "https://npm.example/"},
				files:    map[string]string{"home/.cache/rc": "registry=https://npm.example\n"}}, ""},
		{"npm, scopes", "npm", machine{
			env:      map[string]string{"NPMHOST": "work.example"},
			programs: map[string]string{"npm config get registry": "https://npm.example/"},
			files: map[string]string{"home/.npmrc": "; words\n@work:registry=https://${" +
				"NPMHOST}/npm/\n//work.example/:_authToken=secret\nregistry = \"https://other.example\"\n"}},
			"work.example npm.example"},
		{"no npm, its file", "npm", machine{files: map[string]string{"home/.npmrc": "registry=https://npm.example\n"}},
			"npm.example"},
		{"no npm, its file elsewhere", "npm", machine{env: map[string]string{"NPM_CONFIG_USERCONFIG": "@DIR@/rc"},
			files: map[string]string{"rc": "registry=https://npm.example\n"}}, "npm.example"},
		{"no npm", "npm", machine{}, ""},
		{"npm fails", "npm", machine{programs: map[string]string{"npm config get registry": "fail"}}, ""},
		{"debian", "debian", machine{files: map[string]string{
			"etc/apt/sources.list": "# deb http://no.example x\ndeb [arch=amd64 signed-by=/x] " +
				"http://deb.example/debian stable main # words\ndeb-src https://src.example:8443/debian stable main\ndeb " +
				"cdrom:[x]/ x main\n\n",
			"etc/apt/sources.list.d/b.list": "deb http://deb.example/debian stable-updates main\n",
			"etc/apt/sources.list.d/c.sources": "Types: deb\nURIs: https://one.example/debian\n  " +
				"https://two.example/debian\nSuites: stable\n\nTypes: deb\n# words\nEnabled: no\nURIs: " +
				"https://off.example\n\nURIs: mirror+file:@DIR@/mirrors\n",
			"etc/apt/sources.list.d/d.sources.ignore": "URIs: https://ignored.example\n",
			"mirrors": "# words\nhttps://three.example/debian priority:1\n",
		}}, "deb.example one.example two.example three.example"},
		{"no debian", "debian", machine{}, ""},
		{"pip", "pip", machine{
			programs: map[string]string{"pip3 config list": "global.index-url='https://pip.example/simple'\n" +
				"global.timeout='5'\ninstall.extra-index-url='\\nhttps://a.example/simple\\nhttps://b.example/simple'\n"}},
			"pip.example a.example b.example"},
		{"pip, a variable", "pip", machine{env: map[string]string{"PIP_INDEX_URL": "https://pip.example/simple/"}},
			"pip.example"},
		{"pip's own index", "pip", machine{programs: map[string]string{"pip config list": "",
			"pip install --help": "  -i, --index-url <url>  Base URL of the Python Package Index (default\n     " +
				"https://pip.example/simple). This\n"}}, "pip.example"},
		{"pip that says nothing", "pip", machine{programs: map[string]string{"pip config list": "",
			"pip install --help": "help"}}, ""},
		{"no pip", "pip", machine{}, ""},
		{"cargo", "cargo", machine{
			files: map[string]string{"home/.cargo/config.toml": "[source.crates-io]\nreplace-with='m'\n" +
				"[source.m]\nregistry='sparse+https://index.example/'\n[build]\njobs=2\n"}}, "index.example"},
		{"cargo, a registry", "cargo", machine{
			files: map[string]string{"home/.cargo/config.toml": "[registries.work]\nindex='sparse+https://index.example/'\n"}},
			"index.example"},
		{"cargo, used before", "cargo", machine{files: map[string]string{
			"home/.cargo/registry/index/index.example-1949cf8c6b5b557f/config.json": "",
			"home/.cargo/registry/index/10.0.0.7:8080-1949cf8c6b5b557f/config.json": ""}}, ""},
		{"cargo, among what agents write", "cargo", machine{env: map[string]string{"CARGO_HOME": "@DIR@/home/.cache/cargo"},
			files: map[string]string{"home/.cache/cargo/config.toml": "[registries.work]\n" +
				"index='sparse+https://index.example/'\n"}}, ""},
		{"cargo, broken", "cargo", machine{files: map[string]string{"home/.cargo/config.toml": "[["}}, ""},
		{"no cargo", "cargo", machine{}, ""},
		{"no such set", "gem", machine{}, ""},
		{"an odd host", "npm", machine{env: map[string]string{"npm_config_registry": "https://exa mple.org"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := c.system(t).Load(t.Context(), c.set)
			if c.want == "" {
				if err == nil {
					t.Fatalf("it is %v", set.Rules)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range set.Rules {
				got = append(got, r.String())
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("it is %v, want %s", got, c.want)
			}
			if len(set.From) == 0 {
				t.Error("it does not say where that stands")
			}
		})
	}
}

// Guards against a set that lets strangers' accounts be written to, and doesn't say so.
func TestSetsThatCanBeWrittenToSaySo(t *testing.T) {
	m := machine{
		env: map[string]string{"npm_config_registry": "https://a.example", "PIP_INDEX_URL": "https://a.example",
			"GOPROXY": "https://a.example", "CARGO_REGISTRIES_CRATES_IO_INDEX": "sparse+https://a.example/"},
		files: map[string]string{"etc/apt/sources.list": "deb http://a.example x main\n"},
	}
	for _, name := range Names() {
		set := must.Get(m.system(t).Load(t.Context(), name))(t)
		if (set.Caution == "") != (name == "debian") {
			t.Errorf("%s says %q", name, set.Caution)
		}
	}
}

func TestErrorsHaveNoPasswordsInThem(t *testing.T) {
	m := machine{env: map[string]string{"npm_config_registry": "https://user:hunter2@a.example:port/",
		"PIP_INDEX_URL": "https://user:hunter2@a.example/simple"}}
	for _, name := range []string{"npm", "pip"} {
		set, err := m.system(t).Load(t.Context(), name)
		if text := fmt.Sprint(set, err); strings.Contains(text, "hunter2") {
			t.Errorf("%s says %s", name, text)
		}
	}
}

// The Go that runs this test is a real tool with a real configuration.
func TestGoItselfIsAsked(t *testing.T) {
	t.Setenv("GOPROXY", "https://mirror.example")
	t.Setenv("GOSUMDB", "sum.example")
	s := must.Get(Host())(t)
	set := must.Get(s.Load(t.Context(), "go"))(t)
	var got []string
	for _, r := range set.Rules {
		got = append(got, r.String())
	}
	if !slices.Equal(got, []string{"mirror.example", "sum.example"}) || set.From[0] != "go env" {
		t.Errorf("it is %v from %v", got, set.From)
	}
}

// Guards against a tool that asks a registry while it is asked for its settings: npm looks for a newer npm.
func TestNoRequestIsMade(t *testing.T) {
	asked := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer s.Close()
	home := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry="+s.URL+"\n"), 0o600))
	for name, value := range map[string]string{
		"HOME": home, "CARGO_HOME": "", "GOENV": "", "PIP_INDEX_URL": s.URL + "/simple", "GOPROXY": s.URL, "GOSUMDB": "off",
		"XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "",
		"NPM_CONFIG_USERCONFIG": "", "CARGO_REGISTRIES_CRATES_IO_INDEX": "sparse+" + s.URL + "/", "CI": "",
		"npm_config_registry": "", "NPM_CONFIG_REGISTRY": "",
	} {
		t.Setenv(name, value)
	}
	host := must.Get(Host())(t)
	for _, name := range []string{"go", "npm", "pip", "cargo"} {
		set, err := host.Load(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), "names only") {
			t.Errorf("%s is %v, %v", name, set.Rules, err)
		}
	}
	select {
	case path := <-asked:
		t.Errorf("a registry was asked for %s", path)
	default:
	}
}

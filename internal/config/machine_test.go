package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
)

func loadBox(t *testing.T, text string) (Box, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	c, _, err := Load(Sources{UserFile: file, Env: func(string) string { return "" }, Home: "/home/ada",
		Backends: backends()})
	return c.Box, err
}

func TestMachines(t *testing.T) {
	got := must.Get(loadBox(t, `
[box]
engine = "podman"
runtime = "runc"
image_tar = "~/root.tar"
cpus = 3
memory = "6GiB"
disk = "50GiB"
template = "/etc/base.yaml"
[box.provision]
packages = ["git", "g++", "libc6:i386"]
files = { "/opt/b" = "~/b", "/opt/a" = "/a" }
scripts = ["~/x.sh"]
containers = true
`))(t)
	want := box.Values{"engine": "podman", "runtime": "runc", "image_tar": "/home/ada/root.tar", "cpus": 3,
		"memory": int64(6 << 30), "disk": int64(50 << 30), "template": "/etc/base.yaml",
		"provision.packages": []string{"git", "g++", "libc6:i386"}, "provision.scripts": []string{"/home/ada/x.sh"},
		"provision.files":      []box.VMFile{{From: "/a", To: "/opt/a"}, {From: "/home/ada/b", To: "/opt/b"}},
		"provision.containers": true}
	if !reflect.DeepEqual(got.Own, want) {
		t.Errorf("%+v", got.Own)
	}
	for text, says := range map[string]string{
		`engine = "lxc"`:                             "podman and docker",
		`image_tar = "root.tar"`:                     "not absolute",
		`cpus = 0`:                                   "from 1",
		`provision.packages = ["git; rm -rf /"]`:     "can't name a package",
		`provision.packages = ["--force"]`:           "can't name a package",
		`provision.files = { "relative" = "/a" }`:    "clean absolute path",
		`provision.files = { "/a/../etc/x" = "/a" }`: "clean absolute path",
		`provision.files = ["/a"]`:                   "want a table",
		`provision.scripts = ["x.sh"]`:               "not absolute",
	} {
		if _, err := loadBox(t, "[box]\n"+text+"\n"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Guards against backends that mean different things by one setting.
func TestBackendsAgreeOnWhatTheyShare(t *testing.T) {
	seen := map[string]box.Setting{}
	systems := map[string]string{}
	for _, b := range backends() {
		if other, ok := systems[b.System]; ok && b.System != "" {
			t.Errorf("%s and %s are both the default on %s", other, b.Name, b.System)
		}
		systems[b.System] = b.Name
		for _, s := range b.Settings {
			if was, ok := seen[s.Name]; ok && (was.Kind != s.Kind || was.Flag != s.Flag || was.Env != s.Env) {
				t.Errorf("%s: box.%s is %+v, and elsewhere %+v", b.Name, s.Name, s, was)
			}
			seen[s.Name] = s
		}
		for _, s := range b.Settings {
			if s.Instead != "" && !b.Has(s.Instead) {
				t.Errorf("%s: box.%s takes back %s, which it lacks", b.Name, s.Name, s.Instead)
			}
		}
	}
}

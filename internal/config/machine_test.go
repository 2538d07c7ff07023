package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func loadBox(t *testing.T, text string) (Box, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	c, _, err := Load(Sources{UserFile: file, Env: func(string) string { return "" }, Home: "/home/ada"})
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
	want := Provision{
		Packages: []string{"git", "g++", "libc6:i386"}, Scripts: []string{"/home/ada/x.sh"}, Containers: true,
		Files: []ProvisionFile{{From: "/a", To: "/opt/a"}, {From: "/home/ada/b", To: "/opt/b"}},
	}
	if got.Engine != "podman" || got.Runtime != "runc" || got.ImageTar != "/home/ada/root.tar" || got.CPUs != 3 ||
		got.Memory != 6<<30 ||
		got.Disk != 50<<30 || got.Template != "/etc/base.yaml" || !reflect.DeepEqual(got.Provision, want) {
		t.Errorf("%+v", got)
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

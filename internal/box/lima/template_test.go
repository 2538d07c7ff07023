package lima

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
)

func TestTemplateOfItsOwn(t *testing.T) {
	t.Parallel()
	text := must.Get(Template(&box.Box{Name: "b", Exchange: `/data/it's "odd"/exchange`}))(t)
	for _, want := range []string{
		"cpus: 4\n", `memory: "4096MiB"`, `disk: "102400MiB"`, `- location: "/data/it's \"odd\"/exchange"`,
		"mountPoint: /exchange\n  writable: true",
		"build-essential", "ripgrep", "arch: \"x86_64\"\n  digest: \"sha256:", "arch: \"aarch64\"\n  digest: \"sha256:",
		guestSocket, `"{{.Dir}}/sock/cco.sock"`, "forwardAgent: false",
		"message: |\n  Claude Code sandbox VM is ready.", "cco box shell {{.Name}} ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "base:") {
		t.Error("it has a base")
	}
}

func TestTemplateWithContainers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vm   box.VM
		want string
	}{
		{box.VM{Containers: true}, "unzip wget podman crun catatonit; do"},
		{box.VM{Containers: true, Packages: []string{"git", "vim"}}, "unzip wget podman crun catatonit vim; do"},
		{box.VM{Containers: true, Packages: []string{}},
			"for package in ca-certificates git nftables podman crun catatonit; do"},
	} {
		text, err := Template(&box.Box{Exchange: "/e", Spec: box.Spec{VM: c.vm}})
		if err != nil || !strings.Contains(text, c.want) || !strings.Contains(text, "apparmor_restrict_unprivileged_userns") {
			t.Errorf("%v: no %q in\n%s", err, c.want, text)
		}
	}
	text, err := Template(&box.Box{Exchange: "/e"})
	if err != nil || strings.Contains(text, "podman") || strings.Contains(text, "apparmor") {
		t.Errorf("without them: %v\n%s", err, text)
	}
}

func TestTemplateOfTheUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, file := filepath.Join(dir, "setup.sh"), filepath.Join(dir, "file")
	for name, text := range map[string]string{script: "#!/bin/sh\n\techo: - odd yaml\n\n'''\n", file: "\x00binary"} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	b := &box.Box{Exchange: "/e", Spec: box.Spec{
		Mounts: []box.Mount{{Path: "/srv/data"}},
		VM: box.VM{CPUs: 2, Memory: 2 << 30, Disk: 8 << 30, Template: "/home/ada/base.yaml", Packages: []string{"git", "vim"},
			Files: []box.VMFile{{From: file, To: "/etc/it's"}}, Scripts: []string{script}},
	}}
	text, err := Template(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`base: "/home/ada/base.yaml"`, "cpus: 2\n", "unzip wget vim; do", `- location: "/srv/data"`, "writable: false",
		"    \techo: - odd yaml\n", "base64 -d >'/etc/it'\\''s' <<'END'\n    AGJpbmFyeQ==",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "images:") {
		t.Error("the base's images are covered")
	}
	b.Spec.VM.Image = "/disk.img"
	if text, err = Template(b); err != nil || !strings.Contains(text, "images:\n- location: \"/disk.img\"") {
		t.Errorf("%v\n%s", err, text)
	}
	b.Spec.VM.Scripts = []string{"/no/such/script"}
	if _, err := Template(b); err == nil {
		t.Error("a script that isn't there was run")
	}
}

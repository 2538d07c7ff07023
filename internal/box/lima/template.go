package lima

import (
	"bytes"
	_ "embed" // the template and its scripts
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/cco-dev/cco/internal/box"
)

//go:embed template.yaml
var templateText string

//go:embed packages.sh
var packagesScript string

//go:embed containers.sh
var containersScript string

//go:embed install.sh
var installScript string

// These are the defaults of a machine.
const (
	defaultCPUs   = 4
	defaultMemory = 4 << 30
	defaultDisk   = 100 << 30
)

// needed are the packages that cco itself uses in a machine.
func needed() []string { return []string{"ca-certificates", "git", "nftables"} }

// tools are the packages that agents expect. They are installed unless the user's list of packages is empty.
func tools() []string {
	return []string{"build-essential", "curl", "jq", "nodejs", "npm", "ripgrep", "unzip", "wget"}
}

// containerPackages are the packages with which sessions run containers.
func containerPackages() []string { return []string{"podman", "crun", "catatonit"} }

// diskImage is a disk from which a machine can be made.
type diskImage struct{ Location, Arch, Digest string }

// images are Ubuntu's current LTS. A digest identifies each exactly.
func images() []diskImage {
	const base = "https://cloud-images.ubuntu.com/releases/noble/release-20250704/ubuntu-24.04-server-cloudimg-"
	return []diskImage{
		{base + "amd64.img", "x86_64", "sha256:f1652d29d497fb7c623433705c9fca6525d1311b11294a0f495eed55c7639d1f"},
		{base + "arm64.img", "aarch64", "sha256:bbecbb88100ee65497927ed0da247ba15af576a8855004182cf3c87265e25d35"},
	}
}

type filling struct {
	Base      string
	Images    []diskImage
	CPUs      int
	Memory    string
	Disk      string
	MountType string
	Exchange  string
	Mounts    []box.Mount
	Socket    string
	Scripts   []string
}

// Template fills in the template for a box.
func Template(b *box.Box) (string, error) {
	v := b.Spec.VM
	f := filling{
		Base: v.Template, CPUs: orElse(v.CPUs, defaultCPUs), Memory: mebibytes(orElse(v.Memory, defaultMemory)),
		Disk:      mebibytes(orElse(v.Disk, defaultDisk)),
		MountType: mountType(), Exchange: b.Exchange, Mounts: b.Spec.Mounts, Socket: guestSocket,
	}
	switch {
	case v.Image != "":
		f.Images = []diskImage{{Location: v.Image}}
	case v.Template == "":
		f.Images = images()
	}
	var err error
	if f.Scripts, err = scripts(v); err != nil {
		return "", err
	}
	t, err := template.New("lima").Funcs(template.FuncMap{"json": asJSON, "indent": indent}).Parse(templateText)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, f); err != nil {
		return "", err
	}
	return out.String(), nil
}

// scripts run in the machine as root: for packages, the user's files, the user's scripts.
func scripts(v box.VM) ([]string, error) {
	want := needed()
	if v.Packages == nil || len(v.Packages) > 0 {
		want = slices.Concat(want, tools())
	}
	if v.Containers {
		want = append(want, containerPackages()...)
	}
	for _, name := range v.Packages {
		if !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	list := []string{strings.ReplaceAll(packagesScript, "@PACKAGES@", strings.Join(want, " "))}
	if v.Containers {
		list = append(list, containersScript)
	}
	for _, f := range v.Files {
		data, err := os.ReadFile(f.From)
		if err != nil {
			return nil, fmt.Errorf("file for the machine: %w", err)
		}
		if len(data) > 1<<20 {
			return nil, fmt.Errorf("file for the machine: %s is larger than 1 MiB", f.From)
		}
		list = append(list, fmt.Sprintf("#!/bin/sh\n# %s\nset -eu\nmkdir -p %s\nbase64 -d >%s <<'END'\n%s\nEND\n",
			asJSON(f.To), quote(path.Dir(f.To)), quote(f.To), base64.StdEncoding.EncodeToString(data)))
	}
	for _, name := range v.Scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("script for the machine: %w", err)
		}
		list = append(list, string(data))
	}
	return list, nil
}

// asJSON writes any value as JSON, which YAML reads too.
func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return `""`
	}
	return string(data)
}

func indent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("    "+l, " \t\r")
	}
	return strings.Join(lines, "\n")
}

// quote makes a text one word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func mebibytes(n int64) string { return fmt.Sprintf("%dMiB", n>>20) }

func orElse[T int | int64](n, otherwise T) T {
	if n == 0 {
		return otherwise
	}
	return n
}

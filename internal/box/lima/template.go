package lima

import (
	"cmp"
	_ "embed" // the template and its scripts
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
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

// Template fills in the template for a box. It does so by hand: where text/template is in a program, the linker keeps
// every exported method of it, and the keeper of each session would be a megabyte larger.
func Template(b *box.Box) (string, error) {
	v := b.Spec.VM
	run, err := scripts(v)
	if err != nil {
		return "", err
	}
	return strings.NewReplacer(
		"@BASE@", field("base", v.Template),
		"@IMAGES@", disks(v),
		"@CPUS@", asJSON(cmp.Or(v.CPUs, defaultCPUs)),
		"@MEMORY@", mebibytes(cmp.Or(v.Memory, defaultMemory)),
		"@DISK@", mebibytes(cmp.Or(v.Disk, defaultDisk)),
		"@MOUNT_TYPE@", asJSON(mountType),
		"@MOUNT_OPTIONS@", mountOptions,
		"@EXCHANGE@", asJSON(b.Exchange),
		"@MOUNTS@", each(b.Spec.Mounts, func(m box.Mount) string {
			return fmt.Sprintf("- location: %s\n  mountPoint: %[1]s\n  writable: %t\n", asJSON(m.Path), m.Write)
		}),
		"@SOCKET@", asJSON(guestSocket),
		"@SCRIPTS@", each(run, func(script string) string {
			return "- mode: system\n  script: |\n" + indent(script) + "\n"
		}),
	).Replace(templateText), nil
}

// disks lists what the machine's disk can be made from. A template of the user's brings its own.
func disks(v box.VM) string {
	list := images()
	switch {
	case v.Image != "":
		list = []diskImage{{Location: v.Image}}
	case v.Template != "":
		return ""
	}
	return "images:\n" + each(list, func(i diskImage) string {
		return "- " + field("location", i.Location) + field("  arch", i.Arch) + field("  digest", i.Digest)
	})
}

// field is a line of YAML, or nothing without a value.
func field(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + asJSON(value) + "\n"
}

func each[T any](list []T, lines func(T) string) string {
	var out strings.Builder
	for _, v := range list {
		out.WriteString(lines(v))
	}
	return out.String()
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
			asJSON(f.To), proc.ShellWord(path.Dir(f.To)), proc.ShellWord(f.To), base64.StdEncoding.EncodeToString(data)))
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

func mebibytes(n int64) string { return fmt.Sprintf(`"%dMiB"`, n>>20) }

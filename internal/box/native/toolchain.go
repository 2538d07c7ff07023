package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/rooms"
)

// toolchain is a place below home where a version manager keeps programs, and the variable that says so where the
// programs would look in the box's own home instead.
type toolchain struct{ dir, variable string }

// toolchains are the places that are shown when they are there. Each holds programs only: where a tool keeps
// credentials beside them, as cargo does, only the part with the programs is named.
func toolchains() []toolchain {
	return []toolchain{
		{".nvm", "NVM_DIR"}, {".fnm", ""}, {".local/share/fnm", ""}, {".volta", "VOLTA_HOME"}, {".nodenv", "NODENV_ROOT"}, {"n/bin", ""}, {"n/lib", ""},
		{".asdf", "ASDF_DATA_DIR"}, {".local/share/mise", "MISE_DATA_DIR"}, {".sdkman/candidates", ""},
		{".pyenv", "PYENV_ROOT"}, {".local/share/uv/python", ""}, {".local/share/uv/tools", ""}, {".local/share/pipx/venvs", ""}, {".local/pipx/venvs", ""},
		{".rustup", "RUSTUP_HOME"}, {".cargo/bin", ""}, {".rbenv", "RBENV_ROOT"}, {".goenv", ""}, {"go/bin", ""}, {"sdk", ""},
		{".bun/bin", ""}, {".deno/bin", ""}, {".dotnet", "DOTNET_ROOT"}, {".ghcup", ""}, {".jenv", ""}, {".local/bin", ""}, {"bin", ""},
	}
}

// private are places below home from which nothing is ever shown unless the user asks for it.
func private() []string {
	return []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config", ".claude", ".codex", ".gemini", ".password-store", ".netrc", ".npmrc"}
}

// Toolchains finds what the user has installed below home: the places of common version managers, the directories
// of programs on path, and what the links in those lead to. All of it is read-only in a box.
func Toolchains(home string, path ...string) []box.Mount {
	f := &finder{home: filepath.Clean(home)}
	for _, t := range toolchains() {
		f.add(filepath.Join(f.home, t.dir))
	}
	for _, dir := range path {
		dir = filepath.Clean(dir)
		if base := filepath.Base(dir); rooms.Within(dir, f.home) && (base == "bin" || base == "shims") {
			f.add(dir)
		}
	}
	for _, dir := range slices.Clone(f.found) {
		if base := filepath.Base(dir); base == "bin" || base == "shims" {
			f.follow(dir)
		}
	}
	mounts := make([]box.Mount, len(f.found))
	for i, dir := range f.found {
		mounts[i].Path = dir
	}
	return mounts
}

// toolchainEnv tells tools where they are when their place is not below the box's own home.
func toolchainEnv(home string, mounts []box.Mount) []string {
	var env []string
	for _, t := range toolchains() {
		dir := filepath.Join(home, t.dir)
		if t.variable != "" && slices.ContainsFunc(mounts, func(m box.Mount) bool { return m.Path == dir }) {
			env = append(env, t.variable+"="+dir)
		}
	}
	return env
}

type finder struct {
	home  string
	found []string
}

// add takes a place that is there and not yet part of another.
func (f *finder) add(name string) {
	if _, err := os.Stat(name); err != nil || !f.allowed(name) {
		return
	}
	if real, err := filepath.EvalSymlinks(name); err != nil || !f.allowed(real) {
		return
	}
	for _, have := range f.found {
		if rooms.Within(name, have) {
			return
		}
	}
	f.found = append(f.found, name)
}

func (f *finder) allowed(name string) bool {
	if name == "/" || rooms.Within(f.home, name) {
		return false
	}
	for _, dir := range private() {
		if rooms.Within(name, filepath.Join(f.home, dir)) {
			return false
		}
	}
	return true
}

// follow adds what a directory's links lead to, as far as it is below home: elsewhere is the system's or somebody's data.
func (f *finder) follow(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if to, err := os.Readlink(name); err != nil || !strings.Contains(to, "/") {
			continue // another name for a program beside it
		}
		target, err := filepath.EvalSymlinks(name)
		if err == nil && rooms.Within(target, f.home) {
			f.add(installation(target))
		}
	}
}

// installation is what a program needs beside itself: the environment or the packages that it is part of.
func installation(program string) string {
	if prefix, _, ok := strings.Cut(program, "/lib/node_modules/"); ok {
		return prefix + "/lib/node_modules"
	}
	for dir := filepath.Dir(program); dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "pyvenv.cfg")); err == nil {
			return dir
		}
	}
	return program
}

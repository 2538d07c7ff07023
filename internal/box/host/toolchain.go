package host

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// toolchain is a place below home where a version manager or an installer keeps programs, the parts of it that they
// need in order to run, and the variable that tells programs to look there and not in the box's own home.
type toolchain struct {
	dir, variable string
	parts         []string // patterns
}

// toolchains is the one table of what boxes and cages show of a home by themselves. Each part holds only published
// files: beside it are npmrc, pip.conf, settings.xml, registries' tokens, keys.
func toolchains() []toolchain {
	unix := []string{"bin", "include", "lib"}
	python := append(slices.Clone(unix), "openssl", "pyvenv.cfg", "share/terminfo")
	shims := []string{"bin", "libexec", "shims", "version"}
	installs := slices.Concat(each("installs/*/*", append(slices.Clone(python), "erts-*", "libexec", "releases", "share")),
		each("installs/java", []string{"*"}), []string{"shims"})
	goRoot := []string{"VERSION", "bin", "go.env", "lib", "pkg", "src"}
	node := append(each("versions/node/*", unix), "alias", "nvm-exec", "nvm.sh")
	conda := slices.Concat(python, []string{"condabin", "conda-meta", "libexec", "share", "x86_64-conda-linux-gnu"})
	list := []toolchain{
		{".nvm", "NVM_DIR", node},
		{".config/nvm", "NVM_DIR", node},
		{".fnm", "", each("node-versions/*/installation", unix)},
		{".local/share/fnm", "", each("node-versions/*/installation", unix)},
		{".volta", "VOLTA_HOME", slices.Concat([]string{"bin", "layout.v4", "tools/user"}, each("tools/image/node/*", unix),
			each("tools/image/npm/*", unix), each("tools/image/pnpm/*", []string{"bin", "dist"}),
			each("tools/image/yarn/*", unix),
			each("tools/image/packages/*", unix), each("tools/image/packages/@*/*", unix))},
		{".nodenv", "NODENV_ROOT", slices.Concat(shims, each("versions/*", unix))},
		{"n", "", append(each("n/versions/node/*", unix), "bin/node", "bin/npm", "bin/npx", "lib/node_modules/npm")},
		{".bun", "", []string{"bin/bun", "bin/bunx", "install/global/node_modules"}},
		{".deno", "", []string{"bin/deno"}},
		{".local/share/pnpm", "", append(each("nodejs/*", unix), "pnpm", "pnpx", "global/*/node_modules", "global/*/.pnpm")},
		{".asdf", "ASDF_DATA_DIR", slices.Concat(installs, each("installs/golang/*/go", goRoot),
			[]string{"asdf.sh", "bin", "lib", "plugins/*/bin", "plugins/*/lib"})},
		{".tool-versions", "", []string{"."}},
		{".local/share/mise", "MISE_DATA_DIR", slices.Concat(installs, each("installs/go/*", goRoot))},
		{".local/bin", "", []string{"mise", "uv", "uvx"}},
		{".sdkman/candidates", "", slices.Concat([]string{"java/*"}, each("gradle/*", unix), each("kotlin/*", unix),
			each("maven/*", []string{"bin", "boot", "lib"}))},
		{".pyenv", "PYENV_ROOT", slices.Concat(shims, each("versions/*", python), []string{"pyenv.d"})},
		{".local/share/uv", "", slices.Concat(each("python/*", python), each("tools/*", python))},
		{".local/share/pipx", "", each("venvs/*", python)},
		{".local/pipx", "", each("venvs/*", python)},
		// rustup makes the last one where it is missing, and ends where it can't.
		{".rustup", "RUSTUP_HOME", []string{"settings.toml", "toolchains", "update-hashes"}},
		{".cargo/bin", "", []string{"cargo", "cargo-clippy", "cargo-fmt", "cargo-miri", "clippy-driver", "rust-analyzer",
			"rust-gdb", "rust-lldb",
			"rustc", "rustdoc", "rustfmt", "rustup"}},
		{".rbenv", "RBENV_ROOT", slices.Concat(shims, each("versions/*", unix))},
		{".goenv", "GOENV_ROOT", slices.Concat(shims, each("versions/*", goRoot))},
		{"sdk", "", each("go[0-9]*", goRoot)},
		{".local/go", "", goRoot},
		{".dotnet", "DOTNET_ROOT", []string{"dotnet", "host", "packs", "sdk", "sdk-manifests", "shared", "templates"}},
		{".ghcup", "", append(each("ghc/*", unix), "bin")},
		{".opam", "", each("*", []string{"bin", "lib", "share", "stublibs"})},
		{".nix-profile", "", []string{"."}},
		{".local/state/nix", "", []string{"profiles/profile"}},
	}
	for _, dir := range []string{"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda"} {
		list = append(list, toolchain{dir, "", append(each("envs/*", conda), conda...)})
	}
	return list
}

func each(dir string, parts []string) []string {
	list := make([]string, len(parts))
	for i, part := range parts {
		list[i] = dir + "/" + part
	}
	return list
}

// Shown is what a box sees of the user's own files beside the mounts.
type Shown struct {
	Mounts []box.Mount
	Links  map[string]string // names of programs, and their targets
	Files  []box.File        // below the home: which versions of programs the user wants
	Env    []string          // tells tools their place if it is not below the box's own home

	home   string   // without links
	logins []string // in it
	paths  rooms.Resolver
	lists  map[string][]string // what is in directories
}

// Find finds what the user has installed below home: the parts of toolchains, and the named programs, each one
// separately, as a shell finds them in dirs. All of it is read-only in a box.
func Find(home string, dirs, programs []string) *Shown {
	s := newShown()
	s.home, _ = filepath.EvalSymlinks(home)
	s.find(filepath.Clean(home), dirs, programs)
	return s
}

// Open finds more than Find: the directories of PATH below home as well, and ~/.local/bin, with the files that links in
// them lead to. It never shows the home itself, a place of logins or what holds one.
func Open(home string, dirs, programs []string) *Shown {
	s := newShown()
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		return s
	}
	s.home, s.logins = home, Logins(home, nil)
	s.find(home, dirs, programs)
	s.Files = versions(home)
	for _, dir := range append(slices.Clone(dirs), filepath.Join(home, ".local/bin")) {
		if filepath.IsAbs(dir) {
			s.directory(filepath.Clean(dir))
		}
	}
	all := slices.Clone(s.Mounts)
	s.Mounts = slices.DeleteFunc(s.Mounts, func(m box.Mount) bool {
		return slices.ContainsFunc(all, func(o box.Mount) bool { return o.Path != m.Path && paths.Within(m.Path, o.Path) })
	})
	return s
}

func newShown() *Shown {
	return &Shown{Links: map[string]string{}, paths: rooms.Resolver{}, lists: map[string][]string{}}
}

// directory shows a directory of programs.
func (s *Shown) directory(dir string) {
	real, st, err := s.paths.Real(dir)
	if err != nil || !st.IsDir() || !s.ofHome(real) {
		return
	}
	if dir != real {
		s.Links[dir] = real
	}
	if s.sees(real) {
		return // with what its links lead to
	}
	s.show(real)
	entries, _ := os.ReadDir(real) // what can't be read shows nothing
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		file, st, err := s.paths.Real(filepath.Join(real, e.Name()))
		if err == nil && st.Mode().IsRegular() && s.ofHome(file) {
			s.show(file)
		}
	}
}

// ofHome says whether something is in the home and may be shown because a name leads to it.
func (s *Shown) ofHome(real string) bool {
	return real != s.home && paths.Within(real, s.home) && !slices.ContainsFunc(s.logins, func(login string) bool {
		return paths.Within(real, login) || paths.Within(login, real)
	})
}

func (s *Shown) find(home string, dirs, programs []string) {
	if real, _, err := s.paths.Real(home); err == nil {
		for _, t := range toolchains() {
			s.toolchain(home, real, t)
		}
	}
	for _, name := range programs {
		if filepath.IsAbs(name) {
			s.program(name)
			continue
		}
		for _, dir := range dirs {
			program := filepath.Join(dir, name)
			if st, err := os.Stat(program); filepath.IsAbs(dir) && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
				s.program(program)
				break
			}
		}
	}
}

func (s *Shown) toolchain(home, realHome string, t toolchain) {
	root := filepath.Join(home, t.dir)
	realRoot, _, err := s.paths.Real(root)
	if err != nil {
		return
	}
	found := false
	for _, part := range t.parts {
		for _, name := range s.match(root, part) {
			found = s.add(realHome, realRoot, name) || found
		}
	}
	if found && t.variable != "" && !slices.ContainsFunc(s.Env,
		func(kv string) bool { return strings.HasPrefix(kv, t.variable+"=") }) {
		s.Env = append(s.Env, t.variable+"="+root)
	}
}

// match returns the names below a directory that a pattern stands for, whether they exist or not. fs.Glob reads every
// directory on the way for every pattern.
func (s *Shown) match(dir, pattern string) []string {
	first, rest, more := strings.Cut(pattern, "/")
	names := []string{first}
	if strings.ContainsAny(first, "*[") {
		names = slices.DeleteFunc(s.list(dir), func(name string) bool {
			ok, err := path.Match(first, name)
			return err != nil || !ok
		})
	}
	var found []string
	for _, name := range names {
		name = filepath.Join(dir, name)
		if more {
			found = append(found, s.match(name, rest)...)
		} else {
			found = append(found, name)
		}
	}
	return found
}

func (s *Shown) list(dir string) []string {
	names, known := s.lists[dir]
	if !known {
		entries, _ := os.ReadDir(dir) // a missing directory is empty
		for _, e := range entries {
			names = append(names, e.Name())
		}
		s.lists[dir] = names
	}
	return slices.Clone(names)
}

// add shows a place that is not yet part of another. It does not follow a link to elsewhere in the home, or to all of
// it: the user can mount that.
func (s *Shown) add(realHome, realRoot, name string) bool {
	real, st, err := s.paths.Real(name)
	if err != nil || real == "/" || paths.Within(realHome, real) {
		return false
	}
	own := paths.Within(real, realRoot) && !paths.Within(realHome, realRoot)
	if !own && paths.Within(real, realHome) {
		return false
	}
	if !s.sees(name) && (st.IsDir() || !s.link(name, real)) {
		s.Mounts = append(s.Mounts, box.Mount{Path: name})
	}
	return true
}

// link keeps a name that is a link, as most of rustup's programs are, and shows its target.
func (s *Shown) link(name, real string) bool {
	if _, err := os.Readlink(name); err != nil {
		return false
	}
	s.Links[name] = real
	s.show(real)
	return true
}

func (s *Shown) show(name string) {
	if !s.sees(name) && !s.ofSystem(name) {
		s.Mounts = append(s.Mounts, box.Mount{Path: name})
	}
}

func (s *Shown) sees(name string) bool {
	return slices.ContainsFunc(s.Mounts, func(m box.Mount) bool { return paths.Within(name, m.Path) })
}

// program shows a single program, with the package that it is part of. A link stays a link: programs look beside its
// target.
func (s *Shown) program(name string) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return
	}
	s.show(packageOf(real))
	if real != name && !s.sees(name) && !s.ofSystem(name) {
		s.Links[name] = real
	}
}

// SystemDirs are the parts of the host's system that every box with the host's programs sees, read-only. Links, as /bin
// is on most systems, stay links.
func SystemDirs() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
		"/nix/store", "/gnu/store", "/run/current-system",
	}
}

// ofSystem says whether every box sees a path. The home may be there.
func (s *Shown) ofSystem(name string) bool {
	return OfSystem(name) && (s.home == "" || !paths.Within(name, s.home))
}

// OfSystem says whether a path is in one of the system's directories.
func OfSystem(name string) bool {
	return slices.ContainsFunc(SystemDirs(), func(dir string) bool { return paths.Within(name, dir) })
}

// packageOf is what a program needs beside itself: its npm package, with that package's own dependencies. If the
// dependencies of several packages lie side by side, it is all of them.
func packageOf(program string) string {
	before, after, ok := strings.Cut(program, "/node_modules/")
	if !ok {
		return program
	}
	dir := before + "/node_modules"
	if path.Base(before) != "lib" {
		return dir
	}
	name, rest, _ := strings.Cut(after, "/")
	if strings.HasPrefix(name, "@") {
		scoped, _, _ := strings.Cut(rest, "/")
		name = path.Join(name, scoped)
	}
	return path.Join(dir, name)
}

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/proc"
)

// nodeVersion is the Node that is put beside an agent which needs one. The host's own is of no use: a container or
// another machine has none, or another one. The package node itself would fetch one of these by a script.
const nodeVersion = "22.23.2"

// UnknownVersionError is a version that can't be one.
type UnknownVersionError struct{ Version string }

func (e *UnknownVersionError) Error() string {
	return fmt.Sprintf("%q is not a version such as 1.2.3", e.Version)
}

// NothingError says that an agent is part of cco.
type NothingError struct{ Agent string }

func (e *NothingError) Error() string {
	return "agent " + e.Agent + " is part of cco: there is nothing to install"
}

// Install installs a version of an agent for a platform, "" being the pinned one, and gives its program. An existing
// one is left as it is. An installation in progress has another name, which nobody sees, and is removed if it fails.
func Install(ctx context.Context, data string, a agent.Adapter, version string, at Platform, watch Watch) (p Program,
	err error) {
	pkg := a.Package()
	switch {
	case pkg.Name == "":
		return Program{}, &NothingError{a.Name()}
	case version == "":
		version = pkg.Version
	case semver.Canonical("v"+version) != "v"+version:
		return Program{}, &UnknownVersionError{version}
	}
	if Compare(version, pkg.Oldest) < 0 {
		return Program{}, &OldError{Agent: a.Name(), Path: pkg.Name, Version: version, Oldest: pkg.Oldest,
			Mend: agent.Install(a)}
	}
	if err := at.check(); err != nil {
		return Program{}, err
	}
	if data, err = filepath.Abs(data); err != nil { // npm runs elsewhere
		return Program{}, err
	}
	home := Dir(data, a.Name(), at)
	dir := filepath.Join(home, version)
	if p, err := read(dir); err == nil {
		return p, nil
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return Program{}, err
	}
	sweep(home)
	half, err := os.MkdirTemp(home, halfPrefix)
	if err != nil {
		return Program{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(half)) }()
	defer watch.over(half)()
	if err := build(ctx, half, filepath.Join(data, "agents", a.Name(), sumsFile), a, version, at); err != nil {
		return Program{}, fmt.Errorf("install %s %s for %s: %w", a.Name(), version, at, err)
	}
	if err := rename(half, dir); err != nil {
		return Program{}, err
	}
	return read(dir)
}

// rename gives an installation its final name. Another process may have done the same at the same time, or left
// something broken there.
func rename(half, dir string) error {
	err := os.Rename(half, dir)
	if err == nil {
		return nil
	}
	if _, there := read(dir); there == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(half, dir)
}

const halfPrefix = ".half-"

// sweep removes unfinished installations that are too old to be in progress.
func sweep(home string) {
	old, _ := filepath.Glob(filepath.Join(home, halfPrefix+"*"))
	for _, dir := range old {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir) // the next time will try again
		}
	}
}

// build makes an installation in a directory of its own.
func build(ctx context.Context, dir, sums string, a agent.Adapter, version string, at Platform) error {
	pkg := a.Package()
	// Boxes may run as somebody else.
	if err := os.Chmod(dir, 0o755); err != nil { // what npm publishes is no secret
		return err
	}
	if err := npm(ctx, dir, pkg, version, at); err != nil {
		return err
	}
	if err := checkSums(dir, sums, pkg); err != nil { // before anything of it runs
		return err
	}
	program, err := choose(ctx, dir, a.Name(), pkg, at)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(record{Package: pkg.Name, Version: version, Program: program}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, recordFile), append(data, '\n'), 0o644) // as above
}

// npm installs an agent's package, and Node if it needs one. No package needs a script of its own: the published
// programs are complete.
func npm(ctx context.Context, dir string, pkg roster.Package, version string, at Platform) error {
	packages := map[string]string{pkg.Name: version}
	for _, p := range pkg.With {
		packages[p.Name] = p.Version
	}
	want := map[string]any{"private": true, "dependencies": packages}
	if pkg.Node > 0 {
		// Only what is optional may be for another platform than npm's own.
		want["optionalDependencies"] = map[string]string{at.node(): nodeVersion}
	}
	data, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), data, 0o644); err != nil { // no secret
		return err
	}
	if _, err := proc.LookPath("npm"); err != nil {
		return errors.New("npm is not on PATH: install Node.js, which brings it")
	}
	argv := []string{"npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund",
		"--no-update-notifier",
		"--omit=dev", "--global=false", "--loglevel=error", "--progress=false",
		// A certificate that is refused is refused at every retry: by default that takes more than a minute.
		"--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"}
	if at != Host() { // npm itself knows the host best, including its C library
		argv = append(argv, "--os="+at.OS, "--cpu="+at.cpu(), "--libc=glibc")
	}
	if err := proc.Run(ctx, proc.Cmd{Argv: argv, Dir: dir, Grace: 2 * time.Second}); err != nil {
		return explain(err)
	}
	if _, err := os.Stat(nodeProgram(dir, at)); err != nil && pkg.Node > 0 {
		return fmt.Errorf("npm has no %s@%s", at.node(), nodeVersion)
	}
	return nil
}

func nodeProgram(dir string, at Platform) string {
	return filepath.Join(dir, "node_modules", at.node(), "bin", "node")
}

// choose takes the first program that works: packages bring several, and not all of them work everywhere.
func choose(ctx context.Context, dir, name string, pkg roster.Package, at Platform) (string, error) {
	var tried []string
	for _, pattern := range pkg.Programs {
		pattern = strings.ReplaceAll(pattern, "{machine}", at.machine())
		found, err := filepath.Glob(filepath.Join(dir, "node_modules", filepath.FromSlash(pattern)))
		if err != nil {
			return "", err
		}
		for _, path := range found {
			program, err := filepath.Rel(dir, path)
			native := path
			if err == nil && pkg.Node > 0 {
				native = nodeProgram(dir, at)
				program, err = launchers(dir, name, program, pkg, at)
			}
			if err != nil {
				return "", err
			}
			works := at.built(native)
			// What npm links is the package's program, and need not know a word for its version.
			if at == Host() && !strings.HasPrefix(pattern, roster.Linked) {
				works = versionOf(ctx, filepath.Join(dir, program)) != ""
			}
			if works {
				return program, nil
			}
			tried = append(tried, program)
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if tried == nil {
		return "", fmt.Errorf("%s has no program for %s", pkg.Name, at)
	}
	return "", fmt.Errorf("nothing of %s runs on %s: tried %s", pkg.Name, at, strings.Join(tried, ", "))
}

// launchers write the programs that start an agent, and the programs of the packages that it needs, which it finds on
// its PATH.
func launchers(dir, name, script string, pkg roster.Package, at Platform) (program string, err error) {
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil { // no secret
		return "", err
	}
	links, err := filepath.Glob(filepath.Join(dir, "node_modules", roster.Linked, "*"))
	if err != nil {
		return "", err
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if filepath.Base(link) == filepath.Base(script) {
			name = filepath.Base(link) // as the others are called, one of which may have the agent's name
		}
		if err == nil && slices.ContainsFunc(pkg.With, func(p roster.Pin) bool {
			return strings.HasPrefix(filepath.ToSlash(target), "../"+p.Name+"/")
		}) {
			_, err = launcher(dir, filepath.Base(link), filepath.Join("node_modules", roster.Linked, filepath.Base(link)), at)
		}
		if err != nil {
			return "", err
		}
	}
	return launcher(dir, name, script, at)
}

// launcher writes a program that starts a script with the Node beside it, or a native program as it is.
func launcher(dir, name, script string, at Platform) (string, error) {
	node := `"$dir/node_modules/` + at.node() + `/bin/node" `
	if at.built(filepath.Join(dir, script)) {
		node = ""
	}
	program := filepath.Join("bin", name)
	text := "#!/bin/sh\n# The directory may have been moved since it was made.\ndir=$(dirname \"$(dirname \"$0\")\")\n" +
		`PATH="$dir/bin:$PATH" exec ` + node + `"$dir/` + filepath.ToSlash(script) + `" "$@"` + "\n"
	return program, os.WriteFile(filepath.Join(dir, program), []byte(text), 0o755) // a program
}

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/proc"
)

// nodeVersion is the Node that is put beside an agent which needs one. The host's own is no use: a box of containers or
// another machine has none, or another. The package node itself would fetch one of these by a script.
const nodeVersion = "22.23.3"

func nodePackage() string { return "node-" + machine() }

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

var exactVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?$`) })

// Install installs a version of an agent, "" being the pinned one, and gives its program. One that is there already is left
// as it is. What is begun under another name is seen by nobody, and removed if it doesn't come to an end.
func Install(ctx context.Context, data string, a agent.Adapter, version string) (p Program, err error) {
	pkg := a.Package()
	switch {
	case pkg.Name == "":
		return Program{}, &NothingError{a.Name()}
	case version == "":
		version = pkg.Version
	case !exactVersion().MatchString(version):
		return Program{}, &UnknownVersionError{version}
	}
	if Compare(version, pkg.Oldest) < 0 {
		return Program{}, &OldError{Agent: a.Name(), Path: pkg.Name, Version: version, Oldest: pkg.Oldest, Mend: agent.Install(a)}
	}
	if data, err = filepath.Abs(data); err != nil { // npm runs elsewhere
		return Program{}, err
	}
	home := Dir(data, a.Name())
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
	if err := build(ctx, half, a, version); err != nil {
		return Program{}, fmt.Errorf("install %s %s: %w", a.Name(), version, err)
	}
	if err := put(half, dir); err != nil {
		return Program{}, err
	}
	return read(dir)
}

// put gives an installation its name. Somebody else may have done the same at the same time, or left something broken there.
func put(half, dir string) error {
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

// sweep removes what was begun so long ago that nobody works on it any more.
func sweep(home string) {
	old, _ := filepath.Glob(filepath.Join(home, halfPrefix+"*"))
	for _, dir := range old {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir) // the next time will try again
		}
	}
}

// build makes an installation in a directory of its own.
func build(ctx context.Context, dir string, a agent.Adapter, version string) error {
	pkg := a.Package()
	// Boxes may run as somebody else.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // what npm publishes is no secret
		return err
	}
	packages := []string{pkg.Name + "@" + version}
	if pkg.Node > 0 {
		packages = append(packages, nodePackage()+"@"+nodeVersion)
	}
	if err := npm(ctx, dir, packages...); err != nil {
		return err
	}
	program, err := choose(ctx, dir, a.Name(), pkg)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(record{Package: pkg.Name, Version: version, Program: program}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, recordFile), append(data, '\n'), 0o644) //nolint:gosec // as above
}

// npm installs packages. None of them needs a script of its own: the programs are whole as they are published.
func npm(ctx context.Context, dir string, packages ...string) error {
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"private\": true}\n"), 0o644); err != nil { //nolint:gosec // no secret
		return err
	}
	if _, err := proc.LookPath("npm"); err != nil {
		return errors.New("npm is not on PATH: install Node.js, which brings it")
	}
	argv := append([]string{"npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
		"--omit=dev", "--global=false", "--loglevel=error", "--progress=false"}, packages...)
	if err := proc.Run(ctx, proc.Cmd{Argv: argv, Dir: dir, Grace: 2 * time.Second}); err != nil {
		return err
	}
	return nil
}

// machine is this machine in the names of npm packages.
func machine() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return runtime.GOOS + "-" + arch
}

// choose takes the first program that runs: packages bring several, not all of which do everywhere.
func choose(ctx context.Context, dir, name string, pkg agent.Package) (string, error) {
	var tried []string
	for _, pattern := range pkg.Programs {
		pattern = strings.ReplaceAll(pattern, "{machine}", machine())
		found, err := filepath.Glob(filepath.Join(dir, "node_modules", filepath.FromSlash(pattern)))
		if err != nil {
			return "", err
		}
		for _, path := range found {
			program, err := filepath.Rel(dir, path)
			if err == nil && pkg.Node > 0 {
				program, err = launcher(dir, name, program)
			}
			if err != nil {
				return "", err
			}
			if versionOf(ctx, filepath.Join(dir, program)) != "" {
				return program, nil
			}
			tried = append(tried, program)
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if tried == nil {
		return "", fmt.Errorf("%s has no program for %s", pkg.Name, machine())
	}
	return "", fmt.Errorf("nothing of %s runs here: tried %s", pkg.Name, strings.Join(tried, ", "))
}

// launcher writes a program that starts a script with the Node beside it.
func launcher(dir, name, script string) (string, error) {
	program := filepath.Join("bin", name)
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil { //nolint:gosec // no secret
		return "", err
	}
	text := "#!/bin/sh\n# The directory may have been moved since it was made.\ndir=$(dirname \"$(dirname \"$0\")\")\n" +
		`exec "$dir/node_modules/` + nodePackage() + `/bin/node" "$dir/` + filepath.ToSlash(script) + `" "$@"` + "\n"
	return program, os.WriteFile(filepath.Join(dir, program), []byte(text), 0o755) //nolint:gosec // a program
}

package app

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/container"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/provision"
)

// backend is what cco knows about a backend besides its driver.
type backend struct {
	name, help string
	ownGuard   bool   // its guard program does not come from beside cco
	nests      bool   // sessions can run containers of their own
	hasMemory  bool   // --memory sets its own memory, not a limit inside it
	flags      string // the flags of create that it uses and others may not
	weaker     string // flags for a weaker box on machines that lack what this one needs
	driver     func(a *App, p parts) box.Driver
	// spec adds this backend's own settings; nil if there are none.
	spec func(ctx context.Context, a *App, c config.Box, s *box.Spec) error
}

// parts are what drivers need.
type parts struct {
	tool, guard string
	user        config.Config
}

// backends is the one list of backends.
func backends() []backend {
	return []backend{
		{name: "native", help: "Linux kernel isolation built into cco: no daemon, no root (default on Linux)",
			weaker: "--backend worktree --accept no-kernel", driver: nativeDriver},
		{name: "container", help: "podman or docker, hardened as far as the engine can",
			flags: "engine runtime image image-tar cpus", driver: containerDriver, spec: containerSpec},
		{name: "lima", help: "a virtual machine of Lima's (default on macOS)",
			ownGuard: true, nests: true, hasMemory: true, flags: "image cpus disk template",
			driver: limaDriver, spec: limaSpec},
		{name: "worktree", help: "git worktrees of one repository, which share its .git; on Linux the\n" +
			"kernel keeps everything else of the machine read-only", driver: worktreeDriver, spec: worktreeSpec},
	}
}

// find gives the backend of that name, or an empty one.
func find(name string) backend {
	list := backends()
	i := slices.IndexFunc(list, func(b backend) bool { return b.name == name })
	if i < 0 {
		return backend{name: name}
	}
	return list[i]
}

// BackendNames lists the backends for a sentence.
func BackendNames() string {
	var names []string
	for _, b := range backends() {
		names = append(names, b.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// BackendHelp says what each backend is, a line or two for each.
func BackendHelp() string {
	var text strings.Builder
	for _, b := range backends() {
		fmt.Fprintf(&text, "  %-10s %s\n", b.name, strings.ReplaceAll(b.help, "\n", "\n"+strings.Repeat(" ", 13)))
	}
	return text.String()
}

// CheckFlags refuses a flag that is given and that only other backends use.
func CheckFlags(name string, given func(flag string) bool) error {
	users := map[string][]string{}
	for _, b := range backends() {
		for _, flag := range strings.Fields(b.flags) {
			users[flag] = append(users[flag], b.name)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(users)) {
		if given(flag) && !slices.Contains(users[flag], name) {
			return Usagef("--%s has no meaning for a %s box, only for backend %s", flag, name,
				strings.Join(users[flag], " and "))
		}
	}
	return nil
}

// Memory is the setting that --memory overrides.
func Memory(name string, b *config.Box) *int64 {
	if find(name).hasMemory {
		return &b.Memory
	}
	return &b.Limits.Memory
}

// DefaultBackend is the backend that suits this machine.
func DefaultBackend() string {
	if runtime.GOOS == "linux" {
		return "native"
	}
	return "lima"
}

// Boxes gives all boxes.
func (a *App) Boxes() (*box.Boxes, error) {
	var p parts
	var err error
	if p.tool, err = Tool(); err != nil {
		return nil, err
	}
	if p.guard, _, err = Beside("cco-guard"); err != nil {
		return nil, err
	}
	if p.user, err = a.ConfigIn(""); err != nil {
		return nil, err
	}
	drivers := map[string]box.Driver{}
	for _, b := range backends() {
		drivers[b.name] = b.driver(a, p)
	}
	return &box.Boxes{
		Data:  a.Dirs.Data,
		Now:   time.Now,
		Files: provision.Files,
		Way: func(ctx context.Context, b *box.Box) (*box.Way, func(), error) {
			out, err := a.OpenDoor(ctx, b, "setup")
			return out.Way(), out.Close, err
		},
		Drivers: drivers,
	}, nil
}

func nativeDriver(a *App, p parts) box.Driver {
	return native.New(native.Options{Tool: p.tool, Guard: p.guard, Home: a.Home, Path: a.Env("PATH"),
		Programs: agent.Programs()})
}

func containerDriver(_ *App, p parts) box.Driver {
	return container.New(container.Options{Tool: p.tool, Guard: p.guard})
}

func worktreeDriver(a *App, p parts) box.Driver {
	return worktree.New(worktree.Options{
		Tool: p.tool, Guard: p.guard, Home: a.Home, Path: a.Env("PATH"), Caches: guard.CacheRoots(a.Home),
		Keys: keyVariables(p.user), KeyFiles: keyFiles(p.user),
	})
}

// Spec is what a box of a backend is made of, as the settings say.
func (a *App) Spec(ctx context.Context, name string, c config.Box) (box.Spec, error) {
	s := box.Spec{
		Accept: c.Accept, Caches: c.Caches, Env: c.Env, Setup: c.Setup,
		Limits: box.Limits{Memory: c.Limits.Memory, Procs: c.Limits.Procs, Time: c.Limits.Time},
	}
	for _, m := range c.Mounts {
		s.Mounts = append(s.Mounts, box.Mount{Path: m.Path, Write: m.Write})
	}
	b := find(name)
	if c.Provision.Containers && !b.nests {
		return s, Usagef("sessions of a %s box can't run containers: that is for lima boxes alone, where a "+
			"kernel of its own stands before the host (--containers, or box.provision.containers in the settings)", name)
	}
	if b.spec == nil {
		return s, nil
	}
	err := b.spec(ctx, a, c, &s)
	return s, err
}

func containerSpec(_ context.Context, a *App, c config.Box, s *box.Spec) error {
	s.Container = box.Container{Engine: c.Engine, Runtime: c.Runtime, Image: c.Image, ImageTar: a.abs(c.ImageTar),
		CPUs: float64(c.CPUs)}
	return nil
}

func limaSpec(_ context.Context, a *App, c config.Box, s *box.Spec) error {
	s.VM = box.VM{
		CPUs: c.CPUs, Memory: c.Memory, Disk: c.Disk, Image: c.Image, Template: a.abs(c.Template),
		Packages: c.Provision.Packages, Scripts: c.Provision.Scripts, Containers: c.Provision.Containers,
	}
	for _, f := range c.Provision.Files {
		s.VM.Files = append(s.VM.Files, box.VMFile{From: f.From, To: f.To})
	}
	return nil
}

func worktreeSpec(ctx context.Context, a *App, _ config.Box, s *box.Spec) error {
	repo, err := git.Open(ctx, a.Dir)
	if err != nil {
		return fmt.Errorf("a worktree box belongs to a repository: %w", err)
	}
	s.Repo = repo.Top
	return nil
}

// abs resolves a path of the settings from the command's directory.
func (a *App) abs(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

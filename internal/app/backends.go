package app

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/container"
	"github.com/cco-dev/cco/internal/box/lima"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/provision"
)

// backend is a backend with how it is wired.
type backend struct {
	box.Backend
	driver func(a *App, p parts) box.Driver
	// profile is an AppArmor profile for a program that makes such boxes, where one is needed.
	profile func(program string) string
	checked bool // the doctor tries it
}

// parts are what drivers need.
type parts struct {
	tool, guard string
	user        config.Config
}

// backends is the one list of backends.
func backends() []backend {
	return []backend{
		{Backend: native.Backend(), driver: nativeDriver, profile: native.AppArmorProfile, checked: true},
		{Backend: container.Backend(), driver: containerDriver},
		{Backend: lima.Backend(), driver: limaDriver},
		{Backend: worktree.Backend(), driver: worktreeDriver, checked: true},
	}
}

// rows is what settings and flags must know of backends.
func rows() (list []box.Backend) {
	for _, b := range backends() {
		list = append(list, b.Backend)
	}
	return list
}

// find gives the backend of that name, or an empty one.
func find(name string) backend {
	for _, b := range backends() {
		if b.Name == name {
			return b
		}
	}
	return backend{Backend: box.Backend{Name: name}}
}

// BackendNames lists the backends for a sentence.
func BackendNames() string {
	var names []string
	for _, b := range backends() {
		names = append(names, b.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// BackendHelp says what each backend is, a line or two for each.
func BackendHelp() string {
	var text strings.Builder
	for _, b := range backends() {
		fmt.Fprintf(&text, "  %-10s %s\n", b.Name, strings.ReplaceAll(b.Help, "\n", "\n"+strings.Repeat(" ", 13)))
	}
	return text.String()
}

// BackendFlag is a flag of create for a setting of one or more backends.
type BackendFlag struct {
	box.Setting
	Help string
	of   []string // the backends
}

// BackendFlags are the flags of create that belong to backends.
func BackendFlags() (list []BackendFlag) {
	for _, b := range backends() {
		for _, s := range b.Settings {
			if s.Flag == "" {
				continue
			}
			help := "of " + b.Name + ": " + s.Help
			i := slices.IndexFunc(list, func(f BackendFlag) bool { return f.Flag == s.Flag })
			if i < 0 {
				list = append(list, BackendFlag{Setting: s, Help: help, of: []string{b.Name}})
				continue
			}
			list[i].Help += "; " + help
			list[i].of = append(list[i].of, b.Name)
		}
	}
	return list
}

// SetFlags lets flags override a box's settings: given holds what was said of each. A flag that only other backends use
// is refused, unless the box itself will be.
func (a *App) SetFlags(c *config.Box, name string, given map[string]string) error {
	for _, f := range BackendFlags() {
		text, ok := given[f.Flag]
		if !ok {
			continue
		}
		if !slices.Contains(f.of, name) && f.Refusal == "" {
			return Usagef("--%s has no meaning for a %s box, only for backend %s", f.Flag, name, strings.Join(f.of, " and "))
		}
		if err := c.Flag(f.Setting, text, a.Dir); err != nil {
			return Usagef("--%s: %w", f.Flag, err)
		}
		instead := slices.IndexFunc(find(name).Settings, func(s box.Setting) bool { return s.Name == f.Instead })
		if instead >= 0 {
			if _, too := given[find(name).Settings[instead].Flag]; !too {
				c.Unset(f.Instead)
			}
		}
	}
	return nil
}

// SetMemory sets the memory of a box that has its own, or else the limit of what runs in it.
func SetMemory(c *config.Box, name, text string) error {
	for _, s := range find(name).Settings {
		if s.Name == "memory" {
			return c.Flag(s, text, "")
		}
	}
	n, err := config.ParseSize(text)
	c.Limits.Memory = n
	return err
}

// DefaultBackend is the backend that suits this machine.
func DefaultBackend() string {
	for _, b := range backends() {
		if b.System == runtime.GOOS {
			return b.Name
		}
	}
	return "" // no backend knows the system, which says so when a box is made
}

// records gives the records of all boxes, without what runs them.
func (a *App) records() *box.Boxes { return &box.Boxes{Data: a.Dirs.Data, Usual: a.usual} }

// usual is the box that commands mean if none is named.
func (a *App) usual() string {
	cfg, _ := a.ConfigIn(RepoTop(a.Dir))
	return cfg.Box.Name
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
		drivers[b.Name] = b.driver(a, p)
	}
	return &box.Boxes{
		Data:  a.Dirs.Data,
		Usual: a.usual,
		Now:   time.Now,
		Files: provision.Files,
		Way: func(ctx context.Context, b *box.Box) (*box.Way, func(), error) {
			out, err := a.openDoor(ctx, b, "setup")
			return out.Way(), out.Close, err
		},
		Drivers: drivers,
	}, nil
}

func nativeDriver(a *App, p parts) box.Driver {
	return native.New(native.Options{Tool: p.tool, Guard: p.guard, Home: a.Home, Path: a.Env("PATH"),
		Programs: agent.Programs(), Hidden: keyFiles(p.user)})
}

func containerDriver(_ *App, p parts) box.Driver {
	return container.New(container.Options{Tool: p.tool, Guard: p.guard})
}

func worktreeDriver(a *App, p parts) box.Driver {
	return worktree.New(worktree.Options{
		Tool: p.tool, Guard: p.guard, Home: a.Home, Path: a.Env("PATH"), Programs: agent.Programs(),
		Hidden: keyFiles(p.user), Env: os.Environ(),
	})
}

// Spec is what a box of a backend is made of, as the settings say.
func (*App) Spec(name string, c config.Box) (box.Spec, error) {
	s := box.Spec{
		Accept: c.Accept, Caches: c.Caches, Seeds: c.Seed, Env: c.Env, Setup: c.Setup,
		Limits: box.Limits{Memory: c.Limits.Memory, Procs: c.Limits.Procs, Time: c.Limits.Time},
	}
	for _, m := range c.Mounts {
		s.Mounts = append(s.Mounts, box.Mount{Path: m.Path, Write: m.Write})
	}
	b := find(name)
	for _, other := range backends() {
		for _, o := range other.Settings {
			if set, _ := c.Own[o.Name].(bool); set && o.Refusal != "" && !b.Has(o.Name) {
				return s, Usagef(o.Refusal+" (--%s, or box.%s in the settings)", name, o.Flag, o.Name)
			}
		}
	}
	if b.Fill != nil {
		b.Fill(c.Own, &s)
	}
	return s, nil
}

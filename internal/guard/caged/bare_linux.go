package caged

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// Likely is the way that a cage takes nearly always, "" where the system's switches or the user's wish say otherwise.
func Likely(want string) Way {
	if (want == Auto || want == string(Namespaces)) && cage.Allowed() {
		return Namespaces
	}
	return ""
}

// Choose finds what can hold a program here: what the user wants, or the first that the kernel has. It says what that
// lacks beside the best, and gives Nothing with an error that says why.
func Choose(ctx context.Context, tool, want string) (way Way, lacking string, err error) {
	me := cage.Me()
	for _, w := range []struct {
		way  Way
		plan *jail.Plan
	}{{Namespaces, &jail.Plan{Shared: true, Network: true, Landlock: jail.IfPossible}},
		{Landlock, &jail.Plan{Bare: true}}} {
		if want != Auto && want != string(w.way) {
			continue
		}
		w.plan.UID, w.plan.GID = me.UID, me.GID
		host.Devices(w.plan)
		_, refused := cage.Cage{Tool: tool, Name: "guard", User: me, Plan: w.plan,
			Limits: cage.LimitsFor(&box.Box{}, box.Exec{})}.Rehearse(ctx)
		if refused == nil {
			return w.way, lacking, nil
		}
		if _, missing := errors.AsType[*box.Unavailable](refused); !missing {
			return Nothing, "", refused
		}
		lacking, err = refused.Error(), cmp.Or(err, refused)
	}
	return Nothing, lacking, cmp.Or(err, unavailable())
}

// barePlan turns a view into rules: what it shows can be read, and what of that is writable can be written.
func (c *Cage) barePlan(p *jail.Plan, v *host.View, e box.Exec) (*jail.Plan, error) {
	extra := e.Env
	var keys []Mount
	if !c.Alone {
		env, err := c.bareHome(e.Dir, v.Add)
		if err != nil {
			return nil, err
		}
		var reached []string
		keys, reached = c.shownSockets()
		extra = slices.Concat(env, reached, extra)
	}
	v.Add(jail.Mount{Source: c.Worktree, Target: c.Worktree, Write: !c.Alone})
	v.Add(slices.Concat(c.Repo, keys)...)
	v.Finish(p)
	bare := &jail.Plan{Bare: true, Network: !c.Alone, UID: p.UID, GID: p.GID, Read: append(readable(p.Mounts), "/proc")}
	for _, m := range keys {
		bare.Reach = append(bare.Reach, m.Target)
	}
	for _, m := range p.Mounts {
		if m.Write && !m.Device && m.Source != "" {
			bare.Write = append(bare.Write, m.Target)
			bare.Reach = append(bare.Reach, m.Target)
		}
	}
	return c.program(bare, e, extra), nil
}

// readable are the places that a view shows. Rules can only allow: a directory in which something is hidden is named in
// parts.
func readable(mounts []jail.Mount) (list []string) {
	at := map[string]bool{}
	var hidden []string
	for _, m := range mounts {
		at[m.Target] = true
		if m.Empty || m.Device {
			hidden = append(hidden, m.Target)
		}
	}
	var parts func(dir string)
	parts = func(dir string) {
		if !slices.ContainsFunc(hidden, func(name string) bool { return name != dir && paths.Within(name, dir) }) {
			list = append(list, dir)
			return
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			// A link gives nothing by itself: what it leads to is decided where that is.
			if name := filepath.Join(dir, e.Name()); !at[name] && e.Type()&os.ModeSymlink == 0 {
				parts(name)
			}
		}
	}
	for _, m := range mounts {
		if !m.Empty && !m.Device {
			parts(m.Target)
		}
	}
	return list
}

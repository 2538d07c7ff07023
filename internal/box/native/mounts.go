//go:build linux

package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// extraMounts are the toolchains and programs found on the host and the user's mounts, each at the same path as on the
// host.
func (d *starter) extraMounts(b *box.Box) ([]jail.Mount, error) {
	var mounts []jail.Mount
	found, check := d.shown().Mounts, rooms.NewChecker(b)
	known := map[string]bool{} // what was found; the user's mounts are put over it
	for i, m := range slices.Concat(found, b.Spec.Mounts) {
		real, st, err := check.Check(m.Path)
		if err != nil && i < len(found) {
			continue // nobody has asked for it
		}
		if err != nil {
			return nil, err
		}
		mount := jail.Mount{Source: real, Target: filepath.Clean(m.Path), File: !st.IsDir(), Write: m.Write, Host: true}
		mount.Soft = paths.Within(mount.Target, jail.Home)
		mounts = append(mounts, mount)
		if real != mount.Target && (i >= len(found) || !known[real]) {
			mount.Target = real
			mounts = append(mounts, mount)
		}
		known[real] = true
	}
	return append(mounts, d.hidden(b, mounts)...), nil
}

// hidden covers the logins and stores of keys in what is shown.
func (d *starter) hidden(b *box.Box, mounts []jail.Mount) (covers []jail.Mount) {
	if len(b.Spec.Mounts) == 0 || d.opts.Home == "" {
		return nil // toolchains have none
	}
	for _, login := range host.Logins(d.opts.Home, b.Spec.Mounts, d.opts.Hidden...) {
		st, err := os.Stat(login)
		for _, m := range mounts {
			if rel, below := strings.CutPrefix(login, strings.TrimSuffix(m.Source, "/")+"/"); err == nil && below {
				covers = append(covers, host.Cover(filepath.Join(m.Target, rel), st))
			}
		}
	}
	return covers
}

// programLinks are the names of programs that are links. They stay links unless the box's own home is in the way.
func (d *starter) programLinks(p *jail.Plan) {
	for name, real := range d.shown().Links {
		if paths.Within(name, jail.Home) {
			if _, err := os.Stat(real); err == nil {
				p.Mounts = append(p.Mounts, jail.Mount{Source: real, Target: name, File: true, Host: true, Soft: true})
			}
			continue
		}
		p.Links = append(p.Links, jail.Link{Path: name, Target: real})
	}
}

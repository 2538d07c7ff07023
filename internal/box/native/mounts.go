//go:build linux

package native

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// extraMounts are the toolchains and programs found on the host and the user's mounts, each at the same path as on the
// host.
func (d *starter) extraMounts(b *box.Box) ([]jail.Mount, error) {
	var mounts []jail.Mount
	found, check := d.shown().mounts, rooms.NewChecker(b)
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
	return mounts, nil
}

// programLinks are the names of programs that are links. They stay links unless the box's own home is in the way.
func (d *starter) programLinks(p *jail.Plan) {
	for name, real := range d.shown().links {
		if paths.Within(name, jail.Home) {
			if _, err := os.Stat(real); err == nil {
				p.Mounts = append(p.Mounts, jail.Mount{Source: real, Target: name, File: true, Host: true, Soft: true})
			}
			continue
		}
		p.Links = append(p.Links, jail.Link{Path: name, Target: real})
	}
}

//go:build linux

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
)

// extraMounts are the toolchains and programs found on the host and what the user asked for, each at the path that it
// has there.
func (d *Driver) extraMounts(b *box.Box) ([]jail.Mount, error) {
	var mounts []jail.Mount
	found, check := d.shown().mounts, rooms.NewChecker(b)
	known := map[string]bool{} // of what was found: what the user has asked for is put over it
	for i, m := range slices.Concat(found, b.Spec.Mounts) {
		real, st, err := check.Check(m.Path)
		if err != nil && i < len(found) {
			continue // nobody has asked for it
		}
		if err != nil {
			return nil, err
		}
		mount := jail.Mount{Source: real, Target: filepath.Clean(m.Path), File: !st.IsDir(), Write: m.Write, Host: true}
		mount.Soft = rooms.Within(mount.Target, jail.Home)
		mounts = append(mounts, mount)
		if real != mount.Target && (i >= len(found) || !known[real]) {
			mount.Target = real
			mounts = append(mounts, mount)
		}
		known[real] = true
	}
	return mounts, nil
}

// programLinks are the names of programs that are links. They stay links, where the box's own home is not in the way.
func (d *Driver) programLinks(p *jail.Plan) {
	for name, real := range d.shown().links {
		if rooms.Within(name, jail.Home) {
			if _, err := os.Stat(real); err == nil {
				p.Mounts = append(p.Mounts, jail.Mount{Source: real, Target: name, File: true, Host: true, Soft: true})
			}
			continue
		}
		p.Links = append(p.Links, jail.Link{Path: name, Target: real})
	}
}

func checkSpec(b *box.Box) error {
	for _, m := range b.Spec.Mounts {
		if err := rooms.CheckMount(b, m.Path); err != nil {
			return err
		}
		if _, err := os.Stat(m.Path); err != nil {
			return fmt.Errorf("mount %s: %w", m.Path, err)
		}
	}
	for _, name := range b.Spec.Accept {
		if name != cage.AcceptNoLandlock && name != cage.AcceptNoSeccomp && name != box.AcceptNoGuard {
			return fmt.Errorf("unknown weaker mode %q: there are %s, %s and %s", name, cage.AcceptNoLandlock,
				cage.AcceptNoSeccomp, box.AcceptNoGuard)
		}
	}
	return nil
}

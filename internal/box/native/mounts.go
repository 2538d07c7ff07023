//go:build linux

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// extraMounts are the toolchains found on the host and what the user asked for, each at the path that it has there.
func (d *Driver) extraMounts(b *box.Box) ([]jail.Mount, error) {
	var mounts []jail.Mount
	for _, m := range b.Spec.Mounts {
		if err := checkMount(b, m.Path); err != nil {
			return nil, err
		}
	}
	for _, m := range append(d.toolchains(), b.Spec.Mounts...) {
		if checkMount(b, m.Path) != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(m.Path)
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Path, err)
		}
		st, err := os.Stat(real)
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Path, err)
		}
		mount := jail.Mount{Source: real, Target: filepath.Clean(m.Path), File: !st.IsDir(), Write: m.Write}
		mount.Soft = within(mount.Target, jail.Home)
		mounts = append(mounts, mount)
		if real != mount.Target {
			mount.Target = real
			mounts = append(mounts, mount)
		}
	}
	return mounts, nil
}

func checkSpec(b *box.Box) error {
	for _, m := range b.Spec.Mounts {
		if err := checkMount(b, m.Path); err != nil {
			return err
		}
		if _, err := os.Stat(m.Path); err != nil {
			return fmt.Errorf("mount %s: %w", m.Path, err)
		}
	}
	for _, name := range b.Spec.Accept {
		if name != cage.AcceptNoLandlock && name != cage.AcceptNoSeccomp {
			return fmt.Errorf("unknown weaker mode %q: there are %s and %s", name, cage.AcceptNoLandlock, cage.AcceptNoSeccomp)
		}
	}
	return nil
}

// closed are the places of the host that no box ever sees.
func closed() []string {
	return []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/etc"}
}

// checkMount refuses what would open the host: its root, its kernel's interfaces, the sockets of its daemons, and
// whatever cco itself keeps.
func checkMount(b *box.Box, name string) error {
	if !filepath.IsAbs(name) {
		return fmt.Errorf("mount %q: not an absolute path", name)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return fmt.Errorf("mount %s: %w", name, err)
	}
	for _, path := range []string{filepath.Clean(name), real} {
		if path == "/" {
			return fmt.Errorf("mount %s: that is the whole host", name)
		}
		for _, dir := range closed() {
			if within(path, dir) {
				return fmt.Errorf("mount %s: nothing of %s is shown in a box", name, dir)
			}
		}
		for _, dir := range []string{"/workspace", "/exchange", jail.Home} {
			if path == dir || within(dir, path) {
				return fmt.Errorf("mount %s: the box has its own", name)
			}
		}
		if strings.HasSuffix(path, ".sock") {
			return fmt.Errorf("mount %s: no sockets of the host", name)
		}
	}
	if st, err := os.Stat(real); err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		return fmt.Errorf("mount %s: neither a file nor a directory", name)
	}
	for _, dir := range []string{b.Dir, b.Exchange} {
		if dir == "" {
			continue
		}
		// The data directory is the parent of both: boxes/<name> and exchange.
		data, err := filepath.EvalSymlinks(filepath.Dir(dir))
		if err != nil {
			continue
		}
		if within(real, data) || within(data, real) {
			return fmt.Errorf("mount %s: cco keeps its own state there", name)
		}
	}
	return nil
}

//go:build linux

package native

import (
	"errors"
	"fmt"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// binds are the directories that cco itself shows to one program, read-only.
func binds(b *box.Box, e box.Exec) ([]jail.Mount, error) {
	var mounts []jail.Mount
	for _, m := range e.Binds {
		real, err := m.Check(b)
		if err != nil {
			return nil, err
		}
		for _, own := range []string{jail.Home, "/run/cco", jail.Store, "/etc"} {
			if paths.Within(own, m.Path) || own != jail.Home && paths.Within(m.Path, own) {
				return nil, fmt.Errorf("show %s: %w", m.Path, errors.New("the box has its own"))
			}
		}
		// Show it by the path that the host uses, and by the one that links in it may lead to.
		mounts = append(mounts, jail.Mount{Source: real, Target: m.Path, Host: !m.Door})
		if real != m.Path {
			mounts = append(mounts, jail.Mount{Source: real, Target: real, Host: !m.Door})
		}
	}
	return mounts, nil
}

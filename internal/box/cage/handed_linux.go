package cage

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// handed are the trees that root clones for a program that runs as another user: in them root's files belong to the
// program's user, and files that this user makes belong to root.
type handed []*os.File

// plain names the trees that keep their owners.
const plain = "plain:"

// cloneTrees clones the trees of all Handed mounts.
func (h *handed) cloneTrees(p *jail.Plan) error {
	kept := p.Mounts[:0:0]
	for _, m := range p.Mounts {
		if !m.Handed {
			kept = append(kept, m)
			continue
		}
		fd, err := jail.OpenTree(m)
		if err != nil {
			return fmt.Errorf("open %s: %w", m.Source, err)
		}
		name := m.Source
		if m.Plain {
			name = plain + name
		}
		*h = append(*h, os.NewFile(uintptr(fd), name))
		kept = append(kept, m)
		// On a system with shared mounts, a mount made in the cage would otherwise appear on the host.
		private := unix.MountAttr{Propagation: unix.MS_PRIVATE}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &private); err != nil {
			return fmt.Errorf("open %s: %w", m.Source, err)
		}
	}
	p.Mounts = kept
	return nil
}

// mapTo maps the trees to the user of an init that has started.
func (h handed) mapTo(pid int) error {
	if len(h) == 0 {
		return nil
	}
	space, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/user")
	if err != nil {
		return err
	}
	defer func() { _ = space.Close() }()
	for _, tree := range h {
		if strings.HasPrefix(tree.Name(), plain) {
			continue
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(space.Fd())}
		if err := unix.MountSetattr(int(tree.Fd()), "", unix.AT_EMPTY_PATH, &attr); err != nil {
			return &box.Unavailable{
				What: "support for idmapped mounts", Why: fmt.Sprintf("%s: %v", tree.Name(), err),
				Mend: "run cco as an ordinary user",
			}
		}
	}
	return nil
}

func (h handed) close() {
	for _, tree := range h {
		_ = tree.Close()
	}
}

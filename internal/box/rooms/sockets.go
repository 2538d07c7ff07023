package rooms

import (
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/probe"
)

// SocketsLayer says where a program could reach sockets of the host.
func SocketsLayer(b *box.Box, res jail.Result) box.Layer {
	const after = "what is bound there after a program's start can be reached"
	l := box.Layer{Name: "sockets", Active: true, Detail: "none of the host's can be reached in what is shown"}
	if res.LandlockABI >= jail.UnixABI {
		return l // this holds wherever they are
	}
	if len(res.Bare) > 0 {
		l.Active, l.Lost = false, []string{probe.LaterSocket}
		l.Detail = fmt.Sprintf("no overlay over %s (%s): %s", strings.Join(res.Bare, ", "), res.BareWhy, after)
		l.Mend = "have nothing mounted below, on Linux 5.11 or newer, or a kernel whose Landlock has version 9"
	}
	for _, m := range b.Spec.Mounts {
		if m.Write {
			l.Detail += fmt.Sprintf("; %s is mounted for writing: %s", m.Path, after)
		}
	}
	return l
}

package caged

import (
	"fmt"
	"strings"
)

// profile writes a policy in the language of sandbox-exec, in which the last rule that fits counts. Everything can be
// read but what is empty, and nothing written but what says so. Other programs can be neither signalled nor asked
// to act: not by sockets, not by events, not by opening a document.
func profile(mounts []Mount, network bool) string {
	var b strings.Builder
	b.WriteString(`(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath "/dev/fd"))
(deny signal)
(allow signal (target same-sandbox))
(deny appleevent-send)
(deny lsopen)
(deny network-outbound (remote unix-socket))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
`)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, m := range mounts {
		at := `(subpath "` + quote.Replace(m.Target) + `")`
		switch {
		case m.Empty:
			fmt.Fprintf(&b, "(deny file-read-data file-write* %s)\n", at)
		case m.Write:
			fmt.Fprintf(&b, "(allow file-read* file-write* network-outbound %s)\n", at)
		case m.File:
			fmt.Fprintf(&b, "(allow file-read* network-outbound %s)\n", at)
		default:
			fmt.Fprintf(&b, "(allow file-read* %s)\n", at)
		}
	}
	if !network {
		b.WriteString("(deny network*)\n")
	}
	return b.String()
}

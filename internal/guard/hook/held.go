package hook

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

// mountTable is where the kernel tells what a process has mounted. Systems without it hold nothing in this way.
const mountTable = "/proc/self/mountinfo"

// IsHeld says whether a table of mounts, the kernel's own if none is named, shows that the kernel holds the agent: a
// read-only mount exactly at paths.Held. An agent may be able to make a directory there, and a repository's settings
// can set variables, so neither counts. In namespaces of its own an agent can fool the hooks of its children, not its
// own.
func IsHeld(table string) (held bool) {
	data, _ := ReadFile(cmp.Or(table, mountTable)) // nothing is held if it can't be read
	for line := range strings.Lines(string(data)) {
		// Number, parent, device, root, mount point, options of this mount: see proc_pid_mountinfo(5).
		if f := strings.Fields(line); len(f) > 5 && f[4] == paths.Held {
			held = slices.Contains(strings.Split(f[5], ","), "ro") // the last one lies above those before it
		}
	}
	return held
}

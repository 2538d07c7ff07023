package worktree

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/rooms"
)

// environment starts from nothing, as in every box, and takes what is on the list from the user's.
func (d *starter) environment(b *box.Box, r rooms.Room, e box.Exec) []string {
	if e.Own {
		return e.OwnEnv()
	}
	after := slices.Clone(d.shown().Env) // the home is another one, and tools look there by default
	for _, kv := range d.opts.Env {
		name, _, ok := strings.Cut(kv, "=")
		if ok && slices.Contains(host.Variables(), name) && (name != "TERM" || e.TTY != nil) {
			after = append(after, kv)
		}
	}
	env := r.Environment(b, e, nil, append(after, "PATH="+d.path(b, r)))
	if b.Spec.NoKernel() { // it is no sandbox
		env = slices.DeleteFunc(env, func(kv string) bool { return kv == "IS_SANDBOX=1" })
	}
	return env
}

// path is the user's PATH, after the home's own directories and before the system's. Without the kernel the first git
// on it is cco-box, which keeps git in the session's repository.
func (d *starter) path(b *box.Box, r rooms.Room) string {
	var dirs []string
	if b.Spec.NoKernel() {
		dirs = append(dirs, rooms.Layout{Dir: b.Dir}.ToolDir())
	}
	for _, name := range []string{".local/bin", "go/bin", ".cargo/bin"} {
		dirs = append(dirs, filepath.Join(r.Place.Home, name))
	}
	for _, dir := range slices.Concat(filepath.SplitList(d.opts.Path),
		[]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

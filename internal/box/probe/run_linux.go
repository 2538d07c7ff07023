package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

// Main is `cco-box probe NAME…`: it reads the bait and runs each probe. It returns the exit code.
func Main(args []string, in io.Reader, out io.Writer) int {
	open := descriptors() // before we open anything ourselves
	if len(args) > 0 {
		switch args[0] {
		case "noop":
			return 0
		case "chroot":
			return tryChroot()
		case "pty":
			return usePty(out)
		case "rooted":
			return rooted(args[1:])
		case "dial":
			return dial(args[1:])
		case "linger":
			return linger(args[1:])
		case "eat":
			return eat(args[1:])
		case "spawn":
			return spawn(number(args[1:]))
		case "wait":
			_, _ = io.Copy(io.Discard, in)
			return 0
		}
	}
	var bait Bait
	if err := json.NewDecoder(in).Decode(&bait); err != nil {
		fmt.Fprintln(os.Stderr, "cco-box: read bait:", err)
		return 2
	}
	lines := json.NewEncoder(out)
	for _, w := range ways(open) {
		if len(args) > 0 && !slices.Contains(args, w.name) {
			continue
		}
		escape := w.try(&bait)
		f := Finding{Probe: w.name, Held: escape == ""}
		if !f.Held {
			f.Detail = escape
		}
		if err := lines.Encode(f); err != nil {
			return 1
		}
	}
	return 0
}

func number(args []string) int {
	if len(args) == 0 {
		return 0
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 0
	}
	return n
}

// way is a probe with its function, which returns how it got out, or "".
type way struct {
	name string
	try  func(*Bait) (escape string)
}

func ways(open []string) []way {
	return []way{
		{"host-home", func(b *Bait) string { return readable(b.Home) }},
		{"host-repository-read", func(b *Bait) string { return readable(b.Repo + "/tracked") }},
		{"logins", logins},
		{"host-caches", func(b *Bait) (escape string) {
			for _, dir := range b.Caches {
				escape = cmp.Or(escape, writable("", dir))
			}
			return escape
		}},
		{"host-repository-write", func(b *Bait) string { return writable(b.Repo+"/tracked", b.Repo) }},
		{"other-home", func(b *Bait) string { return readable(b.Homes...) }},
		{"other-workspace", func(b *Bait) string { return readable(b.Works...) }},
		{"other-exchange", func(b *Bait) string { return readable(b.Exchange...) }},
		{"store", func(b *Bait) string { return writable("", b.Store) }},
		{"tool", changeTool},
		{"system", func(*Bait) string { return cmp.Or(writable("", "/etc"), writable("", "/usr"), writable("", "/")) }},
		{"environment", environment},
		{"descriptors", func(*Bait) string { return foreignDescriptors(open) }},
		{"outside-pids", seeOutside},
		{"outside-kill", killOutside},
		{"outside-ptrace", func(b *Bait) string { return traceOutside(b) }},
		{"init-ptrace", func(b *Bait) string { return cmp.Or(seize(b.Init), openable(procFile(b.Init, "mem"), os.O_RDWR)) }},
		{"init-root", initRoot},
		{OutsideIPC, sharedMemory},
		{"path-socket", pathSocket},
		{ShownSocket, shownSocket},
		{LaterSocket, laterSocket},
		{"abstract-socket", abstractSocket},
		{"host-loopback", hostLoopback},
		{"network", network},
		{"direct-tcp", directTCP},
		{"direct-udp", directUDP},
		{"netlink", netlink},
		{"odd-sockets", oddSockets},
		{Control, doorControl},
		{"door-names", doorNames},
		{"door-notation", doorNotation},
		{"door-rebinding", doorRebinding},
		{"door-sni", doorSNI},
		{"door-host", doorHost},
		{"door-token", doorToken},
		{"door-other", doorOther},
		{DoorRelay, doorRelay},
		{Capabilities, capabilities},
		{"setuid", setuid},
		{UserNamespace, userNamespace},
		{"mount", mount},
		{"remount", remount},
		{"chroot", chroot},
		{"file-handle", fileHandle},
		{"proc-sys", procSys},
		{"host-settings", hostSettings},
		{"cgroup", cgroup},
		{"devices", devices},
		{"terminal", terminal},
		{"keyring", keyring},
		{"kernel-surface", kernelSurface},
		{UserLimits, userLimits},
		{"foreign-calls", foreignCalls},
		{Survivor, leaveSurvivor},
	}
}

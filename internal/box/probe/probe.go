// Package probe tries to get out of a box, from inside. Each probe tries one way, and reports its finding as a line of
// JSON. No probe does harm if it succeeds: it opens and looks, and undoes its changes.
package probe

import "slices"

// Probe is one way out.
type Probe struct {
	Name string
	What string // what must not be possible
}

// The host takes part in these probes, or treats them in a special way.
const (
	Capabilities  = "capabilities"
	UserNamespace = "user-namespace"
	Survivor      = "survivor"
	Memory        = "memory"
	Processes     = "processes"
	OutsideIPC    = "outside-ipc"
	ShownSocket   = "shown-socket"
	LaterSocket   = "later-socket"
	UserLimits    = "user-limits"
)

// All are the probes, in the order in which they are shown.
func All() []Probe {
	return []Probe{
		{"host-home", "read a file in the host's home"},
		{"host-repository-read", "read a repository of the host"},
		{"host-repository-write", "write to a repository of the host"},
		{"logins", "read a login or a store of keys of the user's"},
		{"host-caches", "write to a cache of the user's"},
		{"other-home", "reach another session's home"},
		{"other-workspace", "reach another session's workspace"},
		{"other-exchange", "reach another session's exchange directory"},
		{"store", "write to the store of objects"},
		{"tool", "change cco-box"},
		{"system", "write to /etc, /usr or /"},
		{"environment", "find the host's environment, here or in another process"},
		{"descriptors", "find an open file of the host"},
		{"outside-pids", "see a process outside"},
		{"outside-kill", "signal a process outside"},
		{"outside-ptrace", "trace a process outside"},
		{"init-ptrace", "trace the box's first process, or read its memory"},
		{"init-root", "leave through /proc/1/root, cwd or fd"},
		{OutsideIPC, "find shared memory of the host"},
		{"path-socket", "connect to a socket outside, by its path"},
		{ShownSocket, "connect to a socket outside, in a directory that is shown"},
		{LaterSocket, "connect to one that was made there after the program's start"},
		{"abstract-socket", "connect to an abstract socket outside"},
		{"host-loopback", "connect to the host's loopback"},
		{"network", "find a way to the network"},
		{"direct-tcp", "connect to an address outside, by TCP over IPv4 or IPv6"},
		{"direct-udp", "send a datagram, or ask a name server"},
		{"netlink", "change interfaces, addresses or routes"},
		{"odd-sockets", "open a raw, packet or vsock socket, or one of netlink's but for routes"},
		{"door-names", "get a name through the door that was not allowed, or another port"},
		{"door-notation", "get an address through the door, however it is written"},
		{"door-rebinding", "get to the host or its network by a name that leads there"},
		{"door-sni", "say another name inside a connection that was let through"},
		{"door-host", "ask an allowed host for another one's pages"},
		{"door-token", "use the door without its token, or with another session's"},
		{"door-other", "use another session's door"},
		{DoorRelay, "lead somebody on the host to the door through the relay's port"},
		{DoorOutside, "let another user of the machine reach a session's door"},
		{Capabilities, "hold a capability"},
		{"setuid", "gain privileges from a setuid program"},
		{UserNamespace, "make a user namespace"},
		{"mount", "mount a filesystem"},
		{"remount", "make a read-only directory writable"},
		{"chroot", "change the root"},
		{"file-handle", "open a file by its handle"},
		{"proc-sys", "open core_pattern or another switch of the kernel for writing"},
		{"host-settings", "set the host's name or clock"},
		{"cgroup", "change a cgroup"},
		{"devices", "make or open a device of the host"},
		{"terminal", "type with TIOCSTI into a terminal, of which one must work"},
		{"keyring", "use the kernel's keyrings"},
		{"kernel-surface", "reach bpf, io_uring, perf, userfaultfd or the machine's AIO"},
		{"foreign-calls", "make system calls of another architecture"},
		{UserLimits, "take what the whole user has of inotify, queued signals and timers"},
		{Survivor, "leave a process behind"},
		{Memory, "use more memory than allowed"},
		{Processes, "start more processes than allowed"},
	}
}

// Meals are the kinds of memory with which a probe tries to exceed the limit: a process's own, behind a descriptor, and
// System V memory that no process has attached.
func Meals() []string { return []string{"own", "memfd", Segment} }

// Segment is System V memory. It outlives its maker, so it is tried only in a namespace of the box's own.
const Segment = "segment"

// Names are the names of all probes.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// InNamespaces are the names of the probes that get through if a session may make namespaces, to run containers in
// them.
func InNamespaces() []string { return []string{UserNamespace, "mount", "chroot"} }

// Promised are the names of the probes that must hold in a native box: all of them or, if sessions may make namespaces,
// all the others, even for root of such a namespace.
func Promised(namespaces bool) []string {
	if !namespaces {
		return Names()
	}
	return slices.DeleteFunc(Names(), func(name string) bool { return slices.Contains(InNamespaces(), name) })
}

// Finding is what one probe found.
type Finding struct {
	Probe  string `json:"probe"`
	Held   bool   `json:"held"`
	Detail string `json:"detail,omitempty"`
}

// Bait is what the host has laid out for the probes to find.
type Bait struct {
	Secret string `json:"secret"` // a value in the host's environment

	Home     string   `json:"home"`      // a file
	Repo     string   `json:"repo"`      // a directory with a file named tracked in it
	Logins   []string `json:"logins"`    // files and directories of the user's with logins or keys
	Caches   []string `json:"caches"`    // directories of the user's
	Homes    []string `json:"homes"`     // files of another session, by every name that they might have
	Works    []string `json:"works"`     //
	Exchange []string `json:"exchanges"` //
	Store    string   `json:"store"`     // directories and files of the box itself
	Tool     string   `json:"tool"`
	Mine     string   `json:"mine"` // a directory in which anything may be tried

	Init     int    `json:"init"`   // the box's first process
	Pid      int    `json:"pid"`    // a process outside,
	Marker   string `json:"marker"` // with this in its command line
	Shm      int    `json:"shm"`    // the key of a segment
	Socket   string `json:"socket"`
	Shown    string `json:"shown"` // a directory that is shown, with sockets in it; "" if that is impossible
	Abstract string `json:"abstract"`
	Port     int    `json:"port"`
	UDP      int    `json:"udp"`    // a port that answers
	Setuid   string `json:"setuid"` // a copy of id that is setuid root, if one could be made

	// Rooted says that the probes run as root of a user namespace made in the box.
	Rooted bool `json:"rooted,omitempty"`

	Behind Behind `json:"behind"`
}

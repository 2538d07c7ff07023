// Package jail is the inside of a box that the kernel keeps: the process that becomes its pid 1, builds the box around
// itself, gives up every privilege, then starts, relays and reaps one program. Every program started in such a box
// starts this package first, so it imports little.
package jail

// Who and where the program is in a native box, as it sees itself.
const (
	User  = "agent"
	UID   = 1000
	GID   = 1000
	Home  = "/home/agent"
	Tool  = "/run/cco/bin/cco-box"
	Guard = "/run/cco/bin/cco-guard"
	Store = "/var/lib/cco/store"
)

// The descriptors with which the init starts.
const (
	ControlFD = 3 // the plan comes in, the result goes out; it hangs up when the starter dies
	LockFD    = 4 // held for as long as the init lives, and by nobody else in the box
	CgroupFDs = 5 // the first of Plan.Cgroups files to write a 0 to; after them come the trees of mounts that are Handed
)

// Plan is everything that the init does, decided on the host.
type Plan struct {
	Shared   bool   // the host's name and cgroups are the program's too
	Hostname string // where they are not
	// Contained says that a container engine has made the namespaces and the root, and left no capability: nothing is
	// built, and what is given up is what nobody needs a capability for.
	Contained bool
	// Nested lets the program make namespaces of its own and mount in them, as containers need. Where the kernel is the
	// only wall towards the user's own files, nobody sets it.
	Nested   bool
	UID, GID int  // who the program is, as it sees itself
	Become   bool // take them on after the sources of mounts were opened; false when the kernel has done so
	Cgroups  int  // how many cgroup files are handed over

	Dirs   []string
	Files  []File
	Links  []Link
	Mounts []Mount
	// Sockets are those that somebody on the host has bound. They are covered in what is shown of the host as it is.
	Sockets []string
	Tmp     int64 // the most that /tmp can hold, in bytes; /dev/shm has half of it

	Write    []string // what Landlock leaves writable
	Reach    []string // where it lets the program connect to sockets that were not made in the box
	Landlock Demand
	Seccomp  Demand

	Argv  []string // none builds the box, reports and ends
	Env   []string
	Dir   string
	TTY   bool // the streams are a terminal, to be the controlling one
	Procs int  // the most processes and threads; 0 sets no limit
}

// UnixABI is the first version of Landlock that says which sockets may be connected to by their paths.
const UnixABI = 9

// Demand says whether a layer may be missing. The zero value is the safe one.
type Demand int

// The demands.
const (
	Required Demand = iota
	IfPossible
)

// File is a small file of the box's own, read-only for the program.
type File struct {
	Path string
	Data []byte
	Mode uint32
}

// Link is a symbolic link in the box's root.
type Link struct{ Path, Target string }

// Mount shows something of the host in the box.
type Mount struct {
	Source, Target string
	File           bool // the source is no directory
	Write          bool
	Device         bool
	// Handed says that the starter has cloned the source, in ways that only it may, and hands it over as a descriptor.
	Handed bool
	// Plain says of what is Handed that its owners stay who they are.
	Plain bool
	// Copy shows a copy in memory that goes with the box.
	Copy bool
	// Empty shows a directory of the cage's own with nothing in it, in which other mounts may be placed. Nobody can write
	// to it.
	Empty bool
	// Cover puts something over itself, unless it is gone by then. Nothing is made in its place.
	Cover bool
	// Host says that others on the host may write there. Sockets of theirs must not be reached: a directory that is
	// read-only is shown through an overlay, and what can't be is told in Result.Bare.
	Host bool
	// Soft leaves a mount out whose target can't be had, because the program has put something else in its place.
	Soft bool
}

// LayerProc is the layer that is missing where the kernel mounts no /proc.
const LayerProc = "a /proc of its own"

// Result is what the init reports when it is done.
type Result struct {
	Err    string `json:",omitempty"` // the step that went wrong before the program started
	Errno  int    `json:",omitempty"` // and the kernel's answer to it
	Layer  string `json:",omitempty"` // the layer that can't be had, if that is what went wrong
	NoExec int    `json:",omitempty"` // 126 or 127 when the program itself could not be started
	Exit   int    `json:",omitempty"`
	Signal int    `json:",omitempty"`

	LandlockABI int      `json:",omitempty"`
	Seccomp     bool     `json:",omitempty"`
	Bare        []string `json:",omitempty"` // directories of the host that should have had an overlay and could not,
	BareWhy     string   `json:",omitempty"` // and why the last of them could not
}

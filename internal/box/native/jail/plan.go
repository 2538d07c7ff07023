// Package jail runs inside a box that the kernel isolates: its process becomes pid 1, builds the box around itself,
// gives up every privilege, then starts, relays signals to and reaps one program. Every program in such a box starts
// this package first, so it imports little.
package jail

// These are the user and the places of the program in a native box, as it sees them.
const (
	User  = "agent"
	UID   = 1000
	GID   = 1000
	Home  = "/home/agent"
	Tool  = "/run/cco/bin/cco-box"
	Guard = "/run/cco/bin/cco-guard"
	Store = "/var/lib/cco/store"
)

// The init starts with these descriptors.
const (
	ControlFD = 3 // the plan comes in, the result goes out; it hangs up when the starter dies
	LockFD    = 4 // held while the init lives, and by nobody else in the box
	CgroupFDs = 5 // files that take a 0: Plan.Cgroups of the program, as many of the init; then the trees of Handed mounts
)

// Plan describes everything that the init does. The host decides it.
type Plan struct {
	Shared   bool   // the program shares the host's name and cgroups
	Hostname string // if it does not
	// Contained says that a container engine has made the namespaces and the root, and left no capability: the init
	// builds nothing, and only gives up what needs no capability to give up.
	Contained bool
	// Bare says that there are no namespaces: Landlock and the filter alone hold the program, and the init stays outside
	// of both. Nothing is built. Read is then all that can be read, and Write all that can be written.
	Bare bool
	Read []string
	// Nested lets the program make namespaces of its own and mount in them, as containers need. It is never set if only
	// the kernel protects the user's own files.
	Nested   bool
	Network  bool // the program shares the host's network; a Bare one without it can make no sockets
	UID, GID int  // the program's user, as it sees itself
	Become   bool // switch to them after opening the mounts' sources; false if the kernel has done so
	Cgroups  int  // how many cgroups the program is in that the init is not

	Dirs   []string
	Files  []File
	Links  []Link
	Mounts []Mount
	// Sockets are those that processes on the host have bound. They are covered where the host is shown unchanged.
	Sockets []string
	Tmp     int64 // the most that /tmp can hold, in bytes; /dev/shm has half of it

	Write    []string // what Landlock leaves writable
	Reach    []string // where it allows connections to sockets made outside of the box
	Landlock Demand
	Seccomp  Demand

	Argv  []string // if empty, the init builds the box, reports and ends
	Env   []string
	Dir   string
	TTY   bool // the streams are a terminal, which becomes the controlling one
	Procs int  // the limit for processes and threads; 0 sets none
}

// UnixABI is the first version of Landlock that controls connections to sockets by path.
const UnixABI = 9

// Demand says whether a layer may be missing. The zero value is the safe one.
type Demand int

// These are the demands.
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

// Mount shows a part of the host in the box.
type Mount struct {
	Source, Target string
	File           bool // the source is not a directory
	Write          bool
	Device         bool
	// Handed says that the starter has cloned the source, as only it may, and passes it as a descriptor.
	Handed bool
	// Plain says that the files of a Handed mount keep their owners.
	Plain bool
	// Copy shows a copy in memory that is discarded with the box.
	Copy bool
	// Own says that the source is one of Plan.Files.
	Own bool
	// Empty shows an empty directory of the cage's own, in which other mounts may be placed, with the Dirs, Links and
	// Files of the plan that are below it. It is in memory. Nobody can write to it without Write.
	Empty bool
	// Host says that others on the host may write there. The program must not reach their sockets: a read-only
	// directory is shown through an overlay, and Result.Bare names those that can't be.
	Host bool
	// Layer is a directory with two in it, upper, which is laid over the source and takes all that is written, and work.
	Layer string
	// Soft skips a mount whose target is not available because the program has put something else in its place.
	Soft bool
	// Found says that the source was found in a list of a directory. It is left out if it has become something else since,
	// or is gone: others on the host may write there.
	Found bool
}

// LayerProc is the layer that is missing if the kernel does not mount a /proc.
const LayerProc = "a /proc of its own"

// Result is what the init reports when it is done.
type Result struct {
	Err    string `json:",omitempty"` // the step that failed before the program started
	Errno  int    `json:",omitempty"` // and the kernel's answer to it
	Layer  string `json:",omitempty"` // the layer that is not available, if that is the failure
	NoExec int    `json:",omitempty"` // 126 or 127 when the program itself could not be started
	Exit   int    `json:",omitempty"`
	Signal int    `json:",omitempty"`

	LandlockABI int      `json:",omitempty"`
	Seccomp     bool     `json:",omitempty"`
	Bare        []string `json:",omitempty"` // directories of the host for which an overlay failed,
	BareWhy     string   `json:",omitempty"` // and why the last one failed
}

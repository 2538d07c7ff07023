package box

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/unit"
	"github.com/cco-dev/cco/internal/whole"
)

// Driver is one backend: it makes, enters and removes one kind of box.
// Every driver passes the suite in boxtest. All methods are idempotent.
type Driver interface {
	// Check says whether this backend works on this machine. Its error for a missing part is an *Unavailable.
	Check(ctx context.Context) error
	// Create makes what the box needs and leaves it running.
	Create(ctx context.Context, b *Box, report Report) error
	Start(ctx context.Context, b *Box, report Report) error
	// Stop ends every process in the box. Workspaces stay.
	Stop(ctx context.Context, b *Box) error
	// Destroy ends and removes everything that the box keeps, and nothing else.
	Destroy(ctx context.Context, b *Box) error
	Running(ctx context.Context, b *Box) (bool, error)

	// Provision puts files into the home that sessions get a copy of, then runs the box's setup commands there.
	Provision(ctx context.Context, b *Box, files []File, report Report) error
	// Prepare makes a session's own home, workspace and exchange directory and says where they are.
	Prepare(ctx context.Context, b *Box, session string) (Place, error)
	// Run runs a program in the box and waits for it and everything that it started.
	// A program that did not succeed gives a *proc.ExitError.
	Run(ctx context.Context, b *Box, e Exec) error
	// Halt ends the processes that an unfinished Run of the session has left. The session's files stay.
	Halt(ctx context.Context, b *Box, session string) error
	// Discard removes a session's home and workspace, and ends the processes that an unfinished Run of it has left.
	Discard(ctx context.Context, b *Box, session string) error

	// Layers reports the isolation in force for a box on this machine.
	Layers(ctx context.Context, b *Box) ([]Layer, error)
	// Promises names the probes of the escape suite that must hold in this box.
	Promises(b *Box) []string
}

// Machine is a driver whose boxes are machines of their own: the host's programs are not there, and may not run there.
type Machine interface {
	// Platform is what programs for a box must be built for, in Go's terms: "linux", "arm64".
	Platform(ctx context.Context, b *Box) (os, arch string, err error)
}

// Disked is a driver whose boxes have a disk each, as a directory of this machine.
type Disked interface {
	// Disk ends a box that does not start, and says where its disk is, so that it can be moved; "" if there is none.
	Disk(ctx context.Context, b *Box) (dir string, err error)
}

// Reachable is a driver whose workspaces are directories of this machine.
type Reachable interface {
	// HostWorkspace is where a person finds a session's workspace.
	HostWorkspace(b *Box, session string) string
	// HostSession has a session's directories, workspace and home. They can be moved when nothing of it runs.
	HostSession(b *Box, session string) string
	// HostStore has the objects of a repository that workspaces borrow.
	HostStore(b *Box, repo string) string
}

// Report tells the user what is being done, one short line at a time.
type Report func(format string, args ...any)

// File is something to put into a box's home, at a slash-separated path below it.
type File = whole.File

// Place is where a session lives, as its agent sees it.
type Place struct {
	Workspace string // /workspace/<id>, or a path of the host
	Exchange  string // /exchange/<id>, likewise
	Home      string
	Tool      string // cco-box, the part of cco that runs inside
	Guard     string // cco-guard, the hook; "" if it is not available
	// the objects that this box has of the session's repository, read-only for the agent; "" if it keeps none
	Store string
}

// Exec is a program to run in a box.
type Exec struct {
	Session string // whose home, workspace and exchange it sees; "" is a shell that belongs to none
	Argv    []string
	Env     []string // in addition to the box's own
	Dir     string   // the workspace by default, home where there is none

	// Own marks one of cco's own steps, as opposed to an agent's program: its environment is that of OwnEnv, and instead
	// of the session's home it sees, read-only, the home that sessions get a copy of. It finds nothing that an agent left.
	Own bool
	// Furnish lets one of cco's own steps write to the session's home. Its environment still doesn't name that home.
	Furnish bool

	// Repo names the object store of a repository, seen at Place.Store. It is writable only with Fill, which only cco's
	// own steps have: no agent ever runs with it.
	Repo string
	Fill bool

	ReadOnly bool // the workspace can be read, not written
	// View is another session of the box, whose workspace is visible read-only at its own place. The reader sees what
	// the writer sees, and can't change it.
	View string
	// Aside throws away what the program writes to the box's caches, which all its sessions share.
	Aside  bool
	Limits Limits
	// Etc are files below /etc that the program can read, such as cco/policy.json. It can't change them.
	Etc []File
	// Binds are host directories that the program sees, read-only, at the same paths as on the host.
	Binds []Bind
	// Report receives messages about slow work before the program starts, such as copying Binds to another machine.
	Report Report `json:"-"`
	// Way is the program's way out. If it is nil, the program has none.
	Way *Way

	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Signals are passed on to the program, and to nothing else in the box.
	Signals <-chan syscall.Signal `json:"-"`
	// TTY is the terminal end of a pty that becomes the program's controlling terminal and its three streams.
	TTY *os.File
}

// Bind is a host directory that cco itself shows to a program, such as an installed agent. Users name Mounts.
type Bind struct {
	Path string
	Door bool // the program may connect to the socket in it
}

// Limits bound what one Run may use. Zero is the box's default.
type Limits struct {
	Memory int64 // bytes, of all its processes together
	Procs  int
	Time   time.Duration
}

type limitsJSON struct {
	Memory int64         `json:"memory,omitempty"`
	Procs  int           `json:"procs,omitempty"`
	Time   unit.Seconds  `json:"time_seconds,omitempty"`
	Nanos  time.Duration `json:"time,omitempty"` // in records of boxes that were made before the unit had its name
}

// MarshalJSON names the unit of its time.
func (l Limits) MarshalJSON() ([]byte, error) {
	return json.Marshal(limitsJSON{Memory: l.Memory, Procs: l.Procs, Time: unit.Seconds(l.Time)})
}

// UnmarshalJSON reads it.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var j limitsJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*l = Limits{Memory: j.Memory, Procs: j.Procs, Time: cmp.Or(j.Time.Duration(), j.Nanos)}
	return nil
}

// LimitError says that a Run was ended because it reached a limit.
type LimitError struct {
	What  string // "time"
	Limit string
}

func (e *LimitError) Error() string { return e.What + " limit of " + e.Limit + " reached" }

// Layer is one part of a box's isolation.
type Layer struct {
	Name   string `json:"name"`
	Active bool   `json:"active"`
	Detail string `json:"detail,omitempty"` // how much of it, or why not
	Mend   string `json:"mend,omitempty"`   // what the user can do if it is missing
	// Lost are the probes of the escape suite that are not promised without this layer.
	Lost []string `json:"lost,omitempty"`
}

package box

import (
	"context"
	"io"
	"os"
	"syscall"
	"time"
)

// Driver is one backend: the way in which a kind of box is made, entered and removed.
// Every driver passes the suite in boxtest. All methods are idempotent.
type Driver interface {
	// Check says whether this backend can be had on this machine. What is missing is an *Unavailable.
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
	// Halt ends what an unfinished Run of the session has left running. Its files stay.
	Halt(ctx context.Context, b *Box, session string) error
	// Discard removes a session's home and workspace, and what an unfinished Run of it has left running.
	Discard(ctx context.Context, b *Box, session string) error

	// Layers reports the isolation in force for a box on this machine.
	Layers(ctx context.Context, b *Box) ([]Layer, error)
	// Promises names the probes of the escape suite that must hold in this box.
	Promises(b *Box) []string
}

// Sharer is a driver whose sessions share the user's own repository: nothing is sent, nothing comes back as a bundle.
type Sharer interface {
	// Checkout makes the session's worktree at base, on a branch of its own that it names.
	Checkout(ctx context.Context, b *Box, session, base string) (branch string, err error)
}

// Machine is a driver whose boxes are machines of their own: the host's programs are not there, and may not run there.
type Machine interface {
	// Platform is what programs for a box must be built for, in Go's words: "linux", "arm64".
	Platform(ctx context.Context, b *Box) (os, arch string, err error)
}

// Report tells the user what is being done, a short line at a time.
type Report func(format string, args ...any)

// File is something to put into a box's home, at a slash-separated path below it.
type File struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Place is where a session lives, as its agent sees it.
type Place struct {
	Workspace string // /workspace/<id>
	Exchange  string // /exchange/<id>
	Home      string
	State     string // the session's own directory for what an agent keeps from run to run: Home, where that is its own
	Tool      string // cco-box, the part of cco that runs inside
	Guard     string // cco-guard, the hook; "" if it can't be had
	// the objects that this box has of the session's repository, read-only for the agent; "" if it keeps none
	Store string
}

// Exec is a program to run in a box.
type Exec struct {
	Session string // whose home, workspace and exchange it sees; "" is a shell that belongs to none
	Argv    []string
	Env     []string // in addition to the box's own
	Dir     string   // the workspace by default, home where there is none

	// Own says that this is a step of cco's, not an agent's program: it has the environment of OwnEnv, and the home that
	// sessions get a copy of, read-only, in place of the session's. Nothing that an agent has left there is found by it.
	Own bool
	// Furnish lets a step of cco's write the session's home. Its environment doesn't lead there all the same.
	Furnish bool

	// Repo names the object store of a repository, seen at Place.Store. Only with Fill can it be written:
	// no agent ever runs with Fill, which is only for steps of cco's.
	Repo string
	Fill bool

	ReadOnly bool // the workspace can be read, not written
	// View is another session of the box, whose workspace is seen read-only at its own place. Whoever reads it sees what
	// its writer sees, and can't change it.
	View   string
	Limits Limits
	// Etc are files for the program to read below /etc, such as cco/policy.json. It can't change them.
	Etc []File
	// Binds are directories of the host that the program sees, read-only, where they are on the host.
	Binds []Bind
	// Report is told what takes long before the program starts, such as the copying of Binds to another machine.
	Report Report
	// Way is the program's way out. Without one it has none.
	Way *Way

	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Signals are passed on to the program, and to nothing else in the box.
	Signals <-chan syscall.Signal
	// TTY is the terminal end of a pty that becomes the program's controlling terminal and its three streams.
	TTY *os.File
}

// Bind is a directory of the host that cco itself shows to a program, such as an installed agent. Users name Mounts.
type Bind struct {
	Path string
	Door bool // the program is to reach the socket in it
}

// Limits bound what one Run may use. Zero is the box's default.
type Limits struct {
	Memory int64         `json:"memory,omitempty" toml:"memory"` // bytes, of all its processes together
	Procs  int           `json:"procs,omitempty" toml:"procs"`
	Time   time.Duration `json:"time,omitempty" toml:"time"`
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
	Mend   string `json:"mend,omitempty"`   // what the user can do about a missing one
	// Lost are the probes of the escape suite that are not promised without it.
	Lost []string `json:"lost,omitempty"`
}

// Package box keeps the isolated places in which agents run: their names, records and lifecycle.
// How a kind of box works is its driver's business.
package box

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// DefaultName is the box that commands mean when none is named.
const DefaultName = "cco-sandbox"

// Box is the record of a box, kept in its directory as box.json.
type Box struct {
	Name    string    `json:"name"`
	Backend string    `json:"backend"`
	Created time.Time `json:"created"`
	// Boot identifies the boot of the machine in which the box was last started; it is "" when the box is stopped.
	Boot string `json:"boot,omitempty"`
	// Unfinished marks a box whose creation is still going on or was interrupted.
	Unfinished bool `json:"unfinished,omitempty"`
	// Provisioned is the version of the files that were put into the box's home.
	Provisioned string `json:"provisioned,omitempty"`
	Spec        Spec   `json:"spec"`

	// Dir is where the driver keeps the box's data; Exchange is the parent of the sessions' exchange directories.
	Dir      string `json:"-"`
	Exchange string `json:"-"`
	// Way is the way out for the box's setup commands while they run.
	Way *Way `json:"-"`
}

// Spec is what the user asked for when the box was created.
type Spec struct {
	Accept []string `json:"accept,omitempty"` // weaker modes that the user has accepted by name
	Mounts []Mount  `json:"mounts,omitempty"`
	Caches []string `json:"caches,omitempty"` // directories below home that last as long as the box
	Seeds  []string `json:"seeds,omitempty"`  // those that start as copies of the user's own
	Env    []string `json:"env,omitempty"`
	Setup  []string `json:"setup,omitempty"` // shell commands, run once when the box is provisioned
	Limits Limits   `json:"limits"`
	// Network is one of the modes below; "" is the default. In every mode the only way out is through the broker.
	Network string `json:"network,omitempty"`
	// Allow lists the hosts that were allowed for this box alone, in the broker's notation.
	Allow []string `json:"allow,omitempty"`
	// Sets lists the sets of hosts that were allowed for this box alone.
	Sets      []string  `json:"sets,omitempty"`
	Container Container `json:"container,omitzero"`
	VM        VM        `json:"vm,omitzero"`
	// RequireKernel refuses a box that the kernel does not isolate.
	RequireKernel bool `json:"require_kernel,omitempty"`
}

// Container holds the settings that only boxes in containers have.
type Container struct {
	Engine   string  `json:"engine,omitempty"`    // podman or docker; "" is the one that is installed
	Runtime  string  `json:"runtime,omitempty"`   // of the engine; "" is its own choice
	Image    string  `json:"image,omitempty"`     // "" is cco's own
	ImageTar string  `json:"image_tar,omitempty"` // a file to take the image from, where no registry can be reached
	CPUs     float64 `json:"cpus,omitempty"`      // 0 is all of them
}

// VM holds the settings that only boxes in virtual machines have. Zero is the driver's default.
type VM struct {
	CPUs     int    `json:"cpus,omitempty"`
	Memory   int64  `json:"memory,omitempty"`   // bytes
	Disk     int64  `json:"disk,omitempty"`     // bytes
	Image    string `json:"image,omitempty"`    // a disk image, instead of those of the template
	Template string `json:"template,omitempty"` // a file, instead of cco's own
	// Containers lets sessions run containers of their own.
	Containers bool `json:"containers,omitempty"`
	// These are put into the machine beside cco's own files: packages of its distribution, files, and shell scripts
	// that run as root. An empty list of packages, unlike none, leaves out those that only agents use.
	Packages []string `json:"packages,omitzero"`
	Files    []VMFile `json:"files,omitempty"`
	Scripts  []string `json:"scripts,omitempty"`
}

// VMFile is a file of the host that is copied into a virtual machine.
type VMFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// How much of the network a box may reach.
const (
	NetworkNone      = "none"      // nothing, not even its model
	NetworkAllowlist = "allowlist" // its model and the hosts that were allowed; the default
	NetworkOpen      = "open"      // every public host
)

// Networks are the modes, the tightest first.
func Networks() []string { return []string{NetworkNone, NetworkAllowlist, NetworkOpen} }

// NoKernel says that nothing but the guard is between the agents of a box and what the user may do.
func (s Spec) NoKernel() bool { return slices.Contains(s.Accept, AcceptNoKernel) }

// Mode is how much of the network the box may reach.
func (s Spec) Mode() string {
	if s.Network == "" {
		return NetworkAllowlist
	}
	return s.Network
}

// Mount is a host directory seen in a box at the same path, read-only unless it says otherwise.
type Mount struct {
	Path  string `json:"path" toml:"path"`
	Write bool   `json:"write,omitempty" toml:"write"`
}

// ErrNotRunning is the error of drivers for a box that has been stopped.
var ErrNotRunning = errors.New("sandbox not running")

// NotRunningError names a box that is stopped. It is an ErrNotRunning.
type NotRunningError struct {
	Name  string
	Usual bool // commands mean it if none is named
}

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("%v, run `cco box start%s`", ErrNotRunning, argument(e.Name, e.Usual))
}

// Is makes it match ErrNotRunning.
func (e *NotRunningError) Is(target error) bool { return target == ErrNotRunning }

// NotFoundError names a box that does not exist.
type NotFoundError struct {
	Name  string
	Usual bool // commands mean it if none is named
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("sandbox not created, run `cco box create%s`", argument(e.Name, e.Usual))
}

// argument names a box in a command, unless the command means it anyway.
func argument(name string, usual bool) string {
	if usual {
		return ""
	}
	return " " + name
}

// AcceptNoKernel is the weaker mode, in a worktree box, in which agents run as the user and nothing holds them.
const AcceptNoKernel = "no-kernel"

// AcceptNoGuard is the weaker mode, in any backend, in which agents run without the guard's hook.
const AcceptNoGuard = "no-guard"

// NoGuard says that the hook is missing and that the user has not accepted this.
func NoGuard() error {
	return &Unavailable{
		What: "the guard's hook", Why: "cco-guard is not beside cco",
		Mend: "install it there, or accept the weaker mode " + AcceptNoGuard,
	}
}

// Unavailable says that the requested isolation is not available here.
type Unavailable struct {
	What string // the layer or backend
	Why  string
	Mend string // what the user can do
}

func (e *Unavailable) Error() string {
	s := e.What + " is not available here: " + e.Why
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

// NameError says that something can't be the name of a box.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q can't name a box: use up to 40 lower-case letters, digits and inner hyphens", e.Name)
}

// CheckName refuses names that can't serve as a directory, a host name and an instance name.
func CheckName(name string) error {
	inner := strings.Trim(name, "-")
	if name == "" || len(name) > 40 || inner != name || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return &NameError{Name: name}
	}
	return nil
}

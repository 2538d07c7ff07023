// Package native keeps boxes with the features of the Linux kernel: namespaces, a root of read-only system directories,
// no capabilities, Landlock and a seccomp filter. It needs no daemon and no root.
package native

// Options tell the driver about the host.
type Options struct {
	Tool  string // the cco-box to run inside, on the host
	Guard string // the cco-guard that agents' hooks run, on the host; "" if there is none
	Home  string // where to look for toolchains; "" means nowhere
	Path  string // the host's PATH; the box keeps those of its directories that it can see
	// Hidden are files that hold keys, beside those that host knows.
	Hidden []string
	// Programs names single programs, such as agents' CLIs, that a box sees wherever they are on Path.
	Programs []string
	// Apart makes each session a user of its own on the host. Only root can do that.
	Apart bool
	// Foreign says that the exchange directory is on another machine, which may not let us change the owner of files.
	Foreign bool
	// Nested allows boxes whose sessions run containers. This opens walls that only the kernel then guards, so it is
	// for machines that hold nothing but boxes.
	Nested bool
}

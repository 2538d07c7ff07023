// Package native keeps boxes by what the Linux kernel has built in: namespaces, a root of read-only system directories,
// no capabilities, Landlock and a seccomp filter. It needs no daemon and no root.
package native

// Options are what the driver needs to know of the host.
type Options struct {
	Tool  string // the cco-box to run inside, on the host
	Guard string // the cco-guard that agents' hooks run, on the host; "" if there is none
	Home  string // where toolchains are looked for; "" looks for none
	Path  string // the host's PATH, of which the box sees the directories that are in it
	// Programs are the names of those that a box sees by themselves wherever they are on Path, as agents' CLIs are.
	Programs []string
	// Apart makes each session a user of its own on the host. Only root can do that.
	Apart bool
	// Foreign says that the exchange directory is another machine's, which may not let us say whose files are.
	Foreign bool
	// Nested allows boxes whose sessions run containers. What is let go for that is the kernel's to hold alone, so this is
	// for machines that have nothing but boxes.
	Nested bool
}

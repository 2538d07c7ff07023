package lima

// mountType is how the machine sees the exchange directory: qemu's own way, which shows that directory and nothing
// else, and in which each session's files can be its own.
func mountType() string { return "9p" }

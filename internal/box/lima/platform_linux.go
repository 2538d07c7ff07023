package lima

// mountType is how the machine sees the exchange directory: qemu's own mount type shows only that directory, and lets
// each session own its files.
func mountType() string { return "9p" }

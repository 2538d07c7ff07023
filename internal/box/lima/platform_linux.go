package lima

// The machine sees the exchange directory through qemu's own mount type: it shows only that directory, and lets each
// session own its files.
const (
	mountType    = "9p"
	mountOptions = "  9p: {securityModel: mapped-xattr, cache: none}"
)

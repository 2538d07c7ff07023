//go:build !linux

package lima

// The machine sees the exchange directory over sshfs, where it does not check who owns a file: Apple's virtiofs shows
// every file as owned by the host's user, and no session may be that user. Without a cache, each side sees at once what
// the other has written or removed.
const (
	mountType    = "reverse-sshfs"
	mountOptions = "  sshfs: {cache: false, followSymlinks: false}"
)

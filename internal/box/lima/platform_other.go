//go:build !linux

package lima

// mountType is how the machine sees the exchange directory. Apple's virtiofs shows every file as owned by the host's
// user, and no session may be that user; over sshfs the machine does not check who owns a file.
func mountType() string { return "reverse-sshfs" }

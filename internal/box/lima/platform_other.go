//go:build !linux

package lima

// mountType is how the machine sees the exchange directory. Apple's virtiofs shows every file as the host user's, whom
// no session may be; over sshfs the machine does not ask whose a file is.
func mountType() string { return "reverse-sshfs" }

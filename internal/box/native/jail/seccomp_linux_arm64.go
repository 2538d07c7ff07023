package jail

import "golang.org/x/sys/unix"

const nativeArch = unix.AUDIT_ARCH_AARCH64

// deniedHere are the calls that only this architecture has: none.
func deniedHere() []uint32 { return nil }

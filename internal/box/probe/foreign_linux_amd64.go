package probe

import "golang.org/x/sys/unix"

// int80 makes a system call as a 32-bit program would, with the 32-bit numbers.
func int80(nr uint32) int32

func foreignCalls(*Bait) string {
	const getpid32 = 20
	if int80(getpid32) > 0 {
		return "a 32-bit call was answered"
	}
	const x32 = 0x40000000
	if _, _, errno := unix.RawSyscall(x32|unix.SYS_GETPID, 0, 0, 0); errno == 0 {
		return "an x32 call was answered"
	}
	return ""
}

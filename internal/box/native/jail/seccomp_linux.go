package jail

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastKnown is the newest system call that this filter knows. Later calls don't exist for the program, because nobody
// has reviewed them.
const lastKnown = unix.SYS_RSEQ_SLICE_YIELD

// newNamespaces are the flags of clone and unshare that make a namespace.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// ofContainers are those that a nested program may make. Its containers share its network and its cgroup: with a
// network of its own it could reach the kernel's code for network administrators.
const ofContainers = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID

// Offsets in struct seccomp_data. Both architectures are little-endian: the low half of an argument comes first.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
	offArg2 = 32
)

// denied are the calls that a program never needs, on every architecture. Most require a capability that it doesn't
// have; the filter protects against kernel bugs that skip this check.
func denied() []uint32 {
	return []uint32{
		unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSPICK, unix.SYS_LISTNS,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
		unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	}
}

// inNamespaces are denied to all but nested programs, who can use them only in their own namespaces.
func inNamespaces() []uint32 {
	return []uint32{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
		unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR,
		unix.SYS_SETNS, unix.SYS_SETHOSTNAME,
	}
}

// sharedMemory is how processes of one user reach each other where they have no namespace of their own for it.
func sharedMemory() []uint32 {
	return []uint32{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP,
		unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK}
}

// families are the kinds of socket that a program needs. Others, such as AF_VSOCK, ignore network namespaces.
func families() []uint32 {
	return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}
}

// personalities are those that only change what uname says; others switch off address space hardening.
func personalities() []uint32 { return []uint32{0, 0x8, 0x20000, 0x20008, 0xffffffff} }

// terminalTricks are the ioctls that type into a terminal, reach a console or load a line discipline.
func terminalTricks() []uint32 { return []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD} }

// assembly is a filter under construction. Every test jumps at most over its own answer, so no jump is too long.
type assembly struct{ code []unix.SockFilter }

func (a *assembly) load(off uint32) {
	a.code = append(a.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off})
}

func (a *assembly) answer(ret uint32) {
	a.code = append(a.code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: ret})
}

// skip jumps over n instructions if the test is false, or if it is true when inverted.
func (a *assembly) skip(test uint16, k uint32, n uint8, inverted bool) {
	f := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jf: n}
	if inverted {
		f.Jt, f.Jf = n, 0
	}
	a.code = append(a.code, f)
}

// call runs block for one system call only, and leaves the call's number loaded afterwards.
func (a *assembly) call(nr uint32, block func(*assembly)) {
	var b assembly
	block(&b)
	b.answer(unix.SECCOMP_RET_ALLOW)
	a.skip(unix.BPF_JEQ, nr, uint8(len(b.code)), false)
	a.code = append(a.code, b.code...)
}

// deny refuses many calls. It sorts and tests them in bundles, because on installing a filter the kernel walks through
// all of it for every existing call.
func (a *assembly) deny(nrs []uint32) {
	slices.Sort(nrs)
	for bundle := range slices.Chunk(nrs, 8) {
		a.skip(unix.BPF_JGT, bundle[len(bundle)-1], uint8(2*len(bundle)), true)
		for _, nr := range bundle {
			a.skip(unix.BPF_JEQ, nr, 1, false)
			a.answer(refuse(uint32(unix.EPERM)))
		}
	}
}

func refuse(errno uint32) uint32 { return unix.SECCOMP_RET_ERRNO | errno }

// filter assembles the whole filter for this machine.
func (p *Plan) filter(abi int) []unix.SockFilter {
	calls, spaces, sockets := append(denied(), deniedHere()...), uint32(newNamespaces), families()
	if p.Nested {
		spaces &^= ofContainers
	} else {
		calls = append(calls, inNamespaces()...)
	}
	if p.Bare {
		calls = append(calls, sharedMemory()...)
		if abi < UnixABI { // whose daemons could be asked to act outside; pairs of sockets lead nowhere
			sockets = sockets[1:]
		}
		if !p.Network {
			sockets = nil
		}
	}
	var a assembly
	a.load(offArch)
	a.skip(unix.BPF_JEQ, nativeArch, 1, true)
	a.answer(refuse(uint32(unix.ENOSYS)))
	a.load(offNr)
	// The x32 calls, with their bit 30, are also above all known calls.
	a.skip(unix.BPF_JGT, lastKnown, 1, false)
	a.answer(refuse(uint32(unix.ENOSYS)))
	a.deny(calls)
	// The flags of clone3 are behind a pointer. Without clone3 programs fall back to clone. Events of io_setup are counted
	// for the whole machine, and taken by who asks for them; programs know kernels that are built without it.
	for _, nr := range []uint32{unix.SYS_CLONE3, unix.SYS_IO_SETUP} {
		a.skip(unix.BPF_JEQ, nr, 1, false)
		a.answer(refuse(uint32(unix.ENOSYS)))
	}
	for _, c := range []struct{ nr, flags uint32 }{{unix.SYS_CLONE, spaces},
		{unix.SYS_UNSHARE, spaces | unix.CLONE_NEWTIME}} {
		a.call(c.nr, func(b *assembly) {
			b.load(offArg0)
			b.skip(unix.BPF_JSET, c.flags, 1, false)
			b.answer(refuse(uint32(unix.EPERM)))
		})
	}
	a.call(unix.SYS_IOCTL, func(b *assembly) {
		b.load(offArg1)
		for _, request := range terminalTricks() {
			b.skip(unix.BPF_JEQ, request, 1, false)
			b.answer(refuse(uint32(unix.EPERM)))
		}
	})
	a.call(unix.SYS_SOCKET, func(b *assembly) {
		if sockets != nil { // of netlink programs need what lists interfaces and routes; the rest is for administrators
			b.load(offArg0)
			b.skip(unix.BPF_JEQ, unix.AF_NETLINK, 4, false)
			b.load(offArg2)
			b.skip(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1, false)
			b.answer(unix.SECCOMP_RET_ALLOW)
			b.answer(refuse(uint32(unix.EPROTONOSUPPORT)))
		}
		allowOnly(sockets, uint32(unix.EAFNOSUPPORT))(b)
	})
	if p.Bare { // limits of other processes
		a.call(unix.SYS_PRLIMIT64, allowOnly([]uint32{0}, uint32(unix.EPERM)))
	}
	a.call(unix.SYS_SOCKETPAIR, allowOnly(families(), uint32(unix.EAFNOSUPPORT)))
	a.call(unix.SYS_PERSONALITY, allowOnly(personalities(), uint32(unix.EPERM)))
	a.answer(unix.SECCOMP_RET_ALLOW)
	return a.code
}

func allowOnly(values []uint32, errno uint32) func(*assembly) {
	return func(b *assembly) {
		b.load(offArg0)
		for _, v := range values {
			b.skip(unix.BPF_JEQ, v, 1, false)
			b.answer(unix.SECCOMP_RET_ALLOW)
		}
		b.answer(refuse(errno))
	}
}

// seccomp installs the filter in every thread.
func (p *Plan) seccomp(res *Result) error {
	code := p.filter(res.LandlockABI)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		if p.Seccomp == IfPossible {
			return nil
		}
		return &missing{"seccomp", errno}
	}
	res.Seccomp = true
	return nil
}

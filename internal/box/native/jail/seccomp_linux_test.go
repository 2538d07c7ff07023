package jail

import (
	"testing"

	"golang.org/x/sys/unix"
)

// judge runs a filter over one system call as the kernel does, for the instructions that our filters use.
func judge(t *testing.T, code []unix.SockFilter, nr uint32, args ...uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{offNr: nr, offArch: nativeArch}
	for i, off := range []uint32{offArg0, offArg1, offArg2}[:len(args)] {
		data[off] = args[i]
	}
	var loaded uint32
	for at := 0; at < len(code); at++ {
		f := code[at]
		var holds bool
		switch f.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			loaded = data[f.K]
			continue
		case unix.BPF_RET | unix.BPF_K:
			return f.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = loaded == f.K
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			holds = loaded > f.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = loaded&f.K != 0
		default:
			t.Fatalf("instruction %d is %+v", at, f)
		}
		if holds {
			at += int(f.Jt)
		} else {
			at += int(f.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// Guards against a filter that lets a nested program do more than containers need, or another program as much.
func TestFilter(t *testing.T) {
	const (
		yes = unix.SECCOMP_RET_ALLOW
		no  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		odd = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
		not = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
		gap = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	for _, c := range []struct {
		what          string
		nr            uint32
		args          []uint32
		plain, nested uint32
	}{
		{"read", unix.SYS_READ, nil, yes, yes},
		{"mount", unix.SYS_MOUNT, nil, no, yes},
		{"umount", unix.SYS_UMOUNT2, nil, no, yes},
		{"pivot_root", unix.SYS_PIVOT_ROOT, nil, no, yes},
		{"chroot", unix.SYS_CHROOT, nil, no, yes},
		{"fsopen", unix.SYS_FSOPEN, nil, no, yes},
		{"open_tree", unix.SYS_OPEN_TREE, nil, no, yes},
		{"setns", unix.SYS_SETNS, nil, no, yes},
		{"sethostname", unix.SYS_SETHOSTNAME, nil, no, yes},
		{"a user namespace", unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWUSER}, no, yes},
		{"a container's namespaces", unix.SYS_CLONE, []uint32{ofContainers | uint32(unix.SIGCHLD)}, no, yes},
		{"a network, cloned", unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | unix.CLONE_NEWNET}, no, no},
		{"a network", unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWNET}, no, no},
		{"a cgroup namespace", unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWCGROUP}, no, no},
		{"a clock", unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWTIME}, no, no},
		{"a thread", unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD}, yes, yes},
		{"clone3", unix.SYS_CLONE3, nil, gap, gap},
		{"bpf", unix.SYS_BPF, nil, no, no},
		{"io_uring", unix.SYS_IO_URING_SETUP, nil, no, no},
		{"perf", unix.SYS_PERF_EVENT_OPEN, nil, no, no},
		{"userfaultfd", unix.SYS_USERFAULTFD, nil, no, no},
		{"keys", unix.SYS_KEYCTL, nil, no, no},
		{"a module", unix.SYS_FINIT_MODULE, nil, no, no},
		{"kexec", unix.SYS_KEXEC_LOAD, nil, no, no},
		{"a file handle", unix.SYS_OPEN_BY_HANDLE_AT, nil, no, no},
		{"the domain name", unix.SYS_SETDOMAINNAME, nil, no, no},
		{"the clock", unix.SYS_SETTIMEOFDAY, nil, no, no},
		{"vsock", unix.SYS_SOCKET, []uint32{unix.AF_VSOCK}, odd, odd},
		{"a packet socket", unix.SYS_SOCKET, []uint32{unix.AF_PACKET}, odd, odd},
		{"inet", unix.SYS_SOCKET, []uint32{unix.AF_INET}, yes, yes},
		{"asynchronous I/O", unix.SYS_IO_SETUP, nil, gap, gap},
		{"routes", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, 0, unix.NETLINK_ROUTE}, yes, yes},
		{"events of the kernel", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, 0, unix.NETLINK_KOBJECT_UEVENT}, not, not},
		{"a firewall", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, 0, unix.NETLINK_NETFILTER}, not, not},
		{"a pair of datagrams", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, 2, 0}, yes, yes},
		{"typing", unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, no, no},
		{"what nobody knows", lastKnown + 1, nil, gap, gap},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := judge(t, (&Plan{}).filter(7), c.nr, c.args...); got != c.plain {
				t.Errorf("plain: %#x, not %#x", got, c.plain)
			}
			if got := judge(t, (&Plan{Nested: true}).filter(7), c.nr, c.args...); got != c.nested {
				t.Errorf("nested: %#x, not %#x", got, c.nested)
			}
		})
	}
}

// Guards against ways to other processes that only namespaces would shut.
func TestFilterWithoutNamespaces(t *testing.T) {
	const yes = unix.SECCOMP_RET_ALLOW
	for _, c := range []struct {
		what    string
		plan    Plan
		abi     int
		nr, arg uint32
		allowed bool
	}{
		{"a daemon's socket", Plan{Bare: true, Network: true}, UnixABI - 1, unix.SYS_SOCKET, unix.AF_UNIX, false},
		{"a socket that Landlock judges", Plan{Bare: true, Network: true}, UnixABI, unix.SYS_SOCKET, unix.AF_UNIX, true},
		{"a pair", Plan{Bare: true}, 3, unix.SYS_SOCKETPAIR, unix.AF_UNIX, true},
		{"inet", Plan{Bare: true, Network: true}, 3, unix.SYS_SOCKET, unix.AF_INET, true},
		{"inet without a network", Plan{Bare: true}, UnixABI, unix.SYS_SOCKET, unix.AF_INET, false},
		{"memory of others", Plan{Bare: true, Network: true}, 7, unix.SYS_SHMGET, 1, false},
		{"memory in a namespace", Plan{}, 7, unix.SYS_SHMGET, 1, true},
		{"limits of others", Plan{Bare: true, Network: true}, 7, unix.SYS_PRLIMIT64, 1, false},
		{"its own limits", Plan{Bare: true, Network: true}, 7, unix.SYS_PRLIMIT64, 0, true},
		{"a user namespace", Plan{Bare: true, Network: true}, 7, unix.SYS_UNSHARE, unix.CLONE_NEWUSER, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := judge(t, c.plan.filter(c.abi), c.nr, c.arg); (got == yes) != c.allowed {
				t.Errorf("the answer is %#x", got)
			}
		})
	}
}

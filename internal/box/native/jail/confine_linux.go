package jail

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx" // also works in programs built with cgo, as by a plain go install
)

// secureBits take all meaning from root and capabilities for the program, for good.
const secureBits = 1<<0 | 1<<1 | // no privileges from being root, locked
	1<<2 | 1<<3 | // none kept or gained by changing ids, locked
	1<<5 | // keep-caps stays off
	1<<6 | 1<<7 // no ambient capabilities, locked

// become switches every thread to the box's user. The capabilities in our own user namespace stay for now.
func (p *Plan) become() error {
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(p.GID, p.GID, p.GID); err != nil {
		return err
	}
	return syscall.Setresuid(p.UID, p.UID, p.UID)
}

// confine gives up every privilege. After it nothing that runs here can do more than the program may.
func (p *Plan) confine(res *Result) error {
	if err := p.limit(); err != nil {
		return step("set limits", err)
	}
	// This joins a new session keyring: the program must not see the keys of the starter's login. Kernels without keys
	// answer ENOSYS.
	_, _ = unix.KeyctlJoinSessionKeyring("")
	bound := dropBounding
	if p.Contained {
		bound = checkBounding
	}
	// An ordinary user has no right to this, and nothing to drop either.
	if err := bound(); err != nil && (!p.Bare || !errors.Is(err, unix.EPERM)) {
		return step("drop capabilities", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return step("set no-new-privs", err)
	}
	// The program must not read or trace its init, which has the control socket and the lock open.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return step("hide init", err)
	}
	if err := p.landlock(res); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return step("drop capabilities", err)
	}
	if err := p.seccomp(res); err != nil {
		return err
	}
	// The filter has brought no-new-privs to the other threads. Without it each is asked separately, which takes longer.
	if !res.Seccomp {
		if _, _, errno := psx.Syscall3(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); errno != 0 {
			return step("set no-new-privs", errno)
		}
	}
	return p.tie()
}

// limit limits the number of processes, and what all processes of a user on the host have together. It forbids core
// dumps: a core pattern may name a program of the host.
func (p *Plan) limit() error {
	// With 1 the kernel does not even start the program that a pattern pipes to; with 0 it would.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		return err
	}
	for resource, most := range map[int]uint64{unix.RLIMIT_SIGPENDING: 1 << 14, unix.RLIMIT_MSGQUEUE: 1 << 19} {
		var l unix.Rlimit
		if err := unix.Getrlimit(resource, &l); err != nil {
			return err
		}
		most = min(most, l.Max/2)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: min(most, l.Cur), Max: most}); err != nil {
			return err
		}
	}
	if p.Procs == 0 {
		return nil
	}
	n := uint64(p.Procs)
	// The difference is for the init: if it could not start a thread any more, the box would end.
	return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n + initThreads})
}

const initThreads = 32

// unlimit raises the init's own limit again once the program runs.
func (p *Plan) unlimit() error {
	if p.Procs == 0 {
		return nil
	}
	n := uint64(p.Procs) + initThreads
	return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n})
}

// dropBounding works on the thread that starts the program. The other threads never execute anything.
func dropBounding() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL && c > unix.CAP_AUDIT_READ {
			break // after the last one that this kernel knows
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// checkBounding makes sure that our starter has dropped them all.
func checkBounding() error {
	for c := uintptr(0); ; c++ {
		held, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0)
		switch {
		case errno == unix.EINVAL && c > unix.CAP_AUDIT_READ:
			return nil
		case errno != 0:
			return errno
		case held != 0:
			return fmt.Errorf("the engine has left capability %d", c)
		}
	}
}

func dropCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// tie makes the kernel kill us with our starter. A change of credentials undoes that, so it comes last. If the starter
// died before, its end of the socket has hung up: in a new pid namespace we can't ask for its pid.
func (p *Plan) tie() error {
	// The parent of a container's init is a part of its engine, of which a thread may end at any time.
	if !p.Contained {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return step("tie to starter", err)
		}
	}
	fds := []unix.PollFd{{Fd: ControlFD, Events: unix.POLLIN}}
	_, err := unix.Poll(fds, 0)
	for err == unix.EINTR { // Go's scheduler interrupts its threads
		_, err = unix.Poll(fds, 0)
	}
	if err != nil {
		return step("look for starter", err)
	}
	if fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0 {
		return errors.New("starter is gone")
	}
	return nil
}

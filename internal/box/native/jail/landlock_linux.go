package jail

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Devices are the device files of the host that a box shows.
func Devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// Landlock allows reading everywhere, writing to files, and everything in the box's own directories.
const (
	mayRead   = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	mayChange = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	onFiles   = mayChange | ll.AccessFSExecute
	mayAll    = ll.AccessFSIoctlDev<<1 - 1
	mayReach  = ll.AccessFSResolveUnix
)

// landlock repeats the limits of the mounts: where the program may write, and that it can't signal processes outside or
// reach them by abstract sockets. It confines only the thread that starts the program: otherwise each thread would be
// in a domain of its own, and the one that relays signals could not reach the program.
func (p *Plan) landlock(res *Result) error {
	if p.Contained {
		return nil // the engine's mounts and namespaces do all this, and its filter may refuse these calls
	}
	if p.Nested {
		return nil // a process in a Landlock domain can't mount
	}
	abi, err := ll.LandlockGetABIVersion()
	if err == nil && abi < 2 {
		// The first version forbids moving a file to another directory, which every program needs.
		err = fmt.Errorf("this kernel has version %d, the first usable one is 2", abi)
	}
	if err == nil && p.Bare && abi < 3 {
		err = fmt.Errorf("this kernel has version %d, and only from 3 on a file outside can't be cut off", abi)
	}
	if err != nil {
		if p.Landlock == IfPossible {
			return nil
		}
		return &missing{"landlock", err}
	}
	if err := p.restrict(abi); err != nil {
		return step("landlock", err)
	}
	res.LandlockABI = abi
	return nil
}

// handled are the rights that matter to us and that a version of Landlock knows.
func handled(abi int) ll.RulesetAttr {
	attr := ll.RulesetAttr{HandledAccessFS: mayAll | mayReach}
	if abi < UnixABI {
		attr.HandledAccessFS &^= mayReach
	}
	if abi < 5 {
		attr.HandledAccessFS &^= ll.AccessFSIoctlDev
	}
	if abi < 3 {
		attr.HandledAccessFS &^= ll.AccessFSTruncate
	}
	if abi >= 6 {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return attr
}

func (p *Plan) restrict(abi int) error {
	attr := handled(abi)
	rules, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return step("create ruleset", err)
	}
	defer closeFD(rules)
	allow := func(access uint64, paths ...string) {
		access &= attr.HandledAccessFS
		for _, path := range paths {
			if access != 0 {
				err = errors.Join(err, step("allow "+path, allowBeneath(rules, path, access)))
			}
		}
	}
	allow(mayChange, Devices()...)
	if p.Bare {
		// Names can be listed everywhere: a right to list a directory holds for all below it. What lies in /proc and
		// /dev/pts, and in /tmp, is the host's own there.
		allow(ll.AccessFSReadDir, "/")
		for _, path := range p.Read {
			// What is gone, or closed to the user, is not read either.
			_ = allowBeneath(rules, path, mayRead&attr.HandledAccessFS)
		}
	} else {
		allow(mayRead, "/")
		allow(mayChange, "/proc", "/dev/pts")
		allow(mayAll, "/tmp", "/dev/shm")
	}
	allow(mayAll, p.Write...)
	allow(mayReach, p.Reach...)
	if p.TTY {
		// A shell that writes to /dev/stderr reopens the terminal.
		allow(mayChange, "/proc/self/fd/0")
	}
	if err != nil {
		return err
	}
	return step("restrict", ll.LandlockRestrictSelf(rules, 0))
}

func allowBeneath(rules int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= onFiles
	}
	return ll.LandlockAddPathBeneathRule(rules, &ll.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0)
}

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mount tries the old calls and the new ones, on a directory where mounting would do no harm.
func mount(b *Bait) string {
	dir := filepath.Join(b.Mine, ".cco-probe-mount")
	_ = os.Mkdir(dir, 0o700)
	defer func() { _ = os.Remove(dir) }()
	for _, m := range []struct {
		source, kind string
		flags        uintptr
	}{{"none", "tmpfs", 0}, {"none", "proc", 0}, {"/", "", unix.MS_BIND}, {"/usr", "", unix.MS_BIND | unix.MS_REC}} {
		if err := unix.Mount(m.source, dir, m.kind, m.flags, ""); err == nil {
			_ = unix.Unmount(dir, unix.MNT_DETACH)
			return "mounted " + m.kind + m.source
		}
	}
	if fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC); err == nil {
		_ = unix.Close(fd)
		return "opened a filesystem"
	}
	if fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); err == nil {
		_ = unix.Close(fd)
		return "cloned a mount"
	}
	return ""
}

func remount(b *Bait) string {
	for _, dir := range []string{"/", "/usr", "/proc/sys", filepath.Dir(b.Tool), b.Store} {
		if dir == "" || dir == "." {
			continue
		}
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND, ""); err == nil {
			return "remounted " + dir
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err == nil {
			return "changed the mount of " + dir
		}
		if err := unix.Unmount(dir, unix.MNT_EXPIRE); err == unix.EAGAIN {
			return "may unmount " + dir // the first call only marks it
		}
	}
	return ""
}

// chroot runs in another process: later probes still need their root.
func chroot(*Bait) string {
	if err := again(nil, "chroot"); err == nil {
		return "changed the root"
	}
	return ""
}

func tryChroot() int {
	if unix.Chroot(".") == nil || unix.PivotRoot(".", ".") == nil {
		return 0
	}
	return 1
}

// hostSettings sets the current values again, so that nothing changes.
func hostSettings(*Bait) string {
	name, err := os.Hostname()
	if err == nil && unix.Sethostname([]byte(name)) == nil {
		return "set the host name"
	}
	// The kernel refuses this time zone, but only to a process that may set one.
	zone := [2]int32{1 << 16, 0}
	if _, _, errno := unix.Syscall(unix.SYS_SETTIMEOFDAY, 0, uintptr(unsafe.Pointer(&zone)), 0); errno == unix.EINVAL {
		return "may set the clock"
	}
	return ""
}

func keyring(*Bait) string {
	if _, err := unix.AddKey("user", "cco-probe", []byte("x"), unix.KEY_SPEC_THREAD_KEYRING); err == nil {
		return "added a key"
	}
	if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false); err == nil {
		return "found the session's keyring"
	}
	return ""
}

// kernelSurface makes each call with impossible arguments: an error about them means that the call was reached.
func kernelSurface(*Bait) string {
	for _, c := range []struct {
		name string
		nr   uintptr
		a, b uintptr
	}{
		{"bpf", unix.SYS_BPF, ^uintptr(0), 0}, {"io_uring", unix.SYS_IO_URING_SETUP, 0, 0},
		{"userfaultfd", unix.SYS_USERFAULTFD, ^uintptr(0), 0},
		{"perf", unix.SYS_PERF_EVENT_OPEN, 0, 0}, {"kexec", unix.SYS_KEXEC_LOAD, 0, ^uintptr(0)},
		{"AIO", unix.SYS_IO_SETUP, 0, 0},
		{"module", unix.SYS_FINIT_MODULE, ^uintptr(0), 0},
	} {
		_, _, errno := unix.Syscall6(c.nr, c.a, c.b, 0, 0, 0, 0)
		if errno != unix.EPERM && errno != unix.EACCES && errno != unix.ENOSYS {
			return c.name + " answers: " + errno.Error()
		}
	}
	return ""
}

// userLimits takes more than its share of what all processes of a user on the host have together, and gives it back.
func userLimits(*Bait) string {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	all, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || all == 0 {
		return "can't tell how many inotify instances a user has"
	}
	for taken := 0; ; taken++ {
		if taken > all*3/4 {
			return fmt.Sprintf("took %d of %d inotify instances", taken, all)
		}
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			break
		}
		defer func() { _ = unix.Close(fd) }()
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_SIGPENDING, &l); err != nil || l.Max > mostSignals {
		return fmt.Sprintf("may queue %d signals and timers", l.Max)
	}
	if unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: l.Max + 1, Max: l.Max + 1}) == nil {
		return "raised its limit of signals"
	}
	return ""
}

// mostSignals is what a box lets its programs have.
const mostSignals = 1 << 14

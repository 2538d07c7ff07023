package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readable reports which of several files could be read.
func readable(files ...string) string {
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			return "read " + strconv.Itoa(len(data)) + " bytes of " + file
		}
		// Even the names beside it must not be readable, if they are the host's.
		if dir := filepath.Dir(file); strings.Contains(dir, "cco-bait-") {
			if _, err := os.ReadDir(dir); err == nil {
				return "listed " + dir
			}
		}
	}
	return ""
}

func openable(file string, flags int) string {
	f, err := os.OpenFile(file, flags, 0)
	if err != nil {
		// A running program can't be written to, but only while it runs. The kernel reports this before it checks the
		// mount, so the mount has to be checked separately.
		var fs unix.Statfs_t
		if errors.Is(err, unix.ETXTBSY) && (unix.Statfs(file, &fs) != nil || fs.Flags&unix.ST_RDONLY == 0) {
			return file + " is only busy"
		}
		return ""
	}
	_ = f.Close()
	return "opened " + file
}

// writable reports whether a file could be opened for writing or created in its directory.
func writable(file, dir string) string {
	if file != "" {
		if escape := openable(file, os.O_WRONLY|os.O_APPEND); escape != "" {
			return escape
		}
	}
	if dir == "" {
		return ""
	}
	name := filepath.Join(dir, ".cco-probe-"+strconv.Itoa(os.Getpid()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return ""
	}
	_ = f.Close()
	_ = os.Remove(name)
	return "made a file in " + dir
}

func closeFD(fd int) { _ = unix.Close(fd) }

func changeTool(b *Bait) string {
	if b.Tool == "" {
		return ""
	}
	if escape := openable(b.Tool, os.O_WRONLY); escape != "" {
		return escape
	}
	if err := os.Rename(b.Tool, b.Tool+".old"); err == nil {
		_ = os.Rename(b.Tool+".old", b.Tool)
		return "renamed " + b.Tool
	}
	return writable("", filepath.Dir(b.Tool))
}

// environment looks for the host's secret here and in every visible process.
func environment(b *Bait) string {
	for _, kv := range os.Environ() {
		if strings.Contains(kv, b.Secret) {
			return "it is in the environment"
		}
	}
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return ""
	}
	for _, p := range procs {
		for _, name := range []string{"environ", "cmdline"} {
			text, err := os.ReadFile(filepath.Join("/proc", p.Name(), name))
			if err == nil && strings.Contains(string(text), b.Secret) {
				return "it is in /proc/" + p.Name() + "/" + name
			}
		}
	}
	return ""
}

// descriptors says what each open descriptor refers to.
func descriptors() []string {
	var open []string
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			to = "?"
		}
		open = append(open, strconv.Itoa(fd)+" "+to)
	}
	return open
}

// foreignDescriptors finds a descriptor that is neither a stream nor the runtime's own.
func foreignDescriptors(open []string) string {
	for _, line := range open {
		fd, to, _ := strings.Cut(line, " ")
		switch {
		// the runtime's poller, and where it reads its share
		case strings.HasPrefix(to, "anon_inode:"), strings.HasPrefix(to, "/sys/fs/cgroup/cpu"):
		case len(fd) == 1 && fd <= "2" && (strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "socket:") ||
			to == "/dev/null" || strings.HasPrefix(to, "/dev/pts/")):
		default:
			return "descriptor " + fd + " is " + to
		}
	}
	return ""
}

// initRoot looks through the links of the box's first process. The numbers of its descriptors reveal nothing, but their
// targets would.
func initRoot(b *Bait) string {
	for _, name := range []string{"root/", "cwd/"} {
		if _, err := os.ReadDir(procFile(b.Init, name)); err == nil {
			return "listed " + procFile(b.Init, name)
		}
	}
	open, err := os.ReadDir(procFile(b.Init, "fd"))
	if err != nil {
		return ""
	}
	for _, fd := range open {
		if to, err := os.Readlink(procFile(b.Init, "fd/"+fd.Name())); err == nil {
			return "descriptor " + fd.Name() + " of process " + strconv.Itoa(b.Init) + " is " + to
		}
	}
	return ""
}

func procSys(b *Bait) string {
	for _, name := range []string{
		"sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hotplug", "sys/vm/panic_on_oom",
		"sys/vm/overcommit_memory",
		"sys/fs/binfmt_misc/register", "sys/kernel/domainname", "sys/net/ipv4/ip_forward", "sys/user/max_user_namespaces",
		"sysrq-trigger",
	} {
		if b.Rooted && strings.HasPrefix(name, "sys/user/") {
			continue // these belong to each namespace
		}
		if escape := openable("/proc/"+name, os.O_WRONLY); escape != "" {
			return escape
		}
	}
	return ""
}

func cgroup(*Bait) string {
	var escape string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if e.Name() == "cgroup.procs" || e.Name() == "tasks" || e.Name() == "release_agent" {
			if escape = openable(name, os.O_WRONLY); escape != "" {
				return filepath.SkipAll
			}
		}
		return nil
	})
	return escape
}

// devices tries to make a device, and looks for devices that a box does not need.
func devices(b *Bait) string {
	for _, dir := range []string{"/tmp", b.Mine, "/dev/shm"} {
		name := filepath.Join(dir, ".cco-probe-device")
		if err := unix.Mknod(name, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1))); err == nil {
			_ = os.Remove(name)
			return "made " + name
		}
	}
	for _, name := range []string{"mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "loop0", "loop-control", "kvm",
		"fuse", "uinput", "vsock", "vhost-vsock", "net/tun"} {
		if escape := openable("/dev/"+name, os.O_RDONLY); escape != "" {
			return escape
		}
	}
	return ""
}

// fileHandle asks for the root of a filesystem by its handle, which bypasses all mounts.
func fileHandle(b *Bait) string {
	at, err := unix.Open(b.Mine, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer closeFD(at)
	handle := unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0}) // inode 2, of any generation
	fd, err := unix.OpenByHandleAt(at, handle, unix.O_RDONLY|unix.O_CLOEXEC)
	if err == nil {
		_ = unix.Close(fd)
	}
	if err == nil || errors.Is(err, unix.ESTALE) || errors.Is(err, unix.EINVAL) {
		return "the kernel looks up handles"
	}
	return ""
}

// logins tries to read each login, or the first name in a store of them.
func logins(b *Bait) string {
	for _, name := range b.Logins {
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		n, _ := f.Read(make([]byte, 1))
		entries, _ := f.ReadDir(1)
		_ = f.Close()
		if n > 0 || len(entries) > 0 {
			return "read " + name
		}
	}
	return ""
}

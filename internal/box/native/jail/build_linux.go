package jail

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/paths"
)

// build makes the box: its root, its name and its empty network.
func (p *Plan) build(res *Result) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return step("make mounts private", err)
	}
	tops := p.openTops()
	layers, err := p.openLayers()
	if err != nil {
		return err
	}
	trees, err := p.openTrees()
	if err != nil {
		return err
	}
	if err := makeRoot(); err != nil {
		return err
	}
	if err := p.layOver(trees, layers, tops, strings.TrimPrefix(emptyDir, "/"), res); err != nil {
		return err
	}
	root, err := enterRoot()
	if err != nil {
		return err
	}
	defer closeFD(root)
	if err := p.furnish(root); err != nil {
		return err
	}
	for i, m := range p.Mounts {
		if m.Found && trees[i] < 0 {
			continue
		}
		if err := p.place(root, trees[i], m); err != nil && !m.Found {
			return step("mount "+m.Target, err)
		}
	}
	if err := p.coverSockets(root, res); err != nil {
		return err
	}
	if err := shareWatches(); err != nil {
		return err
	}
	// The kernel lets a process mount a new proc only if it sees all of the old one.
	if !p.Nested {
		if err := closeProc(root); err != nil {
			return err
		}
	}
	if err := showHeld(root); err != nil {
		return err
	}
	if err := p.closeEmpty(root); err != nil {
		return err
	}
	if err := setAttr(root, 0, unix.MOUNT_ATTR_RDONLY); err != nil {
		return step("make root read-only", err)
	}
	if !p.Shared {
		if err := unix.Sethostname([]byte(p.Hostname)); err != nil {
			return step("set host name", err)
		}
	}
	if p.Network {
		return nil
	}
	return step("raise loopback", raiseLoopback())
}

// openTrees clones every source while we still are the starter's user, and afterwards those that only the box's own
// user may reach. It ends as the box's user.
func (p *Plan) openTrees() ([]int, error) {
	trees := make([]int, len(p.Mounts))
	handed := CgroupFDs + 2*p.Cgroups
	for i, m := range p.Mounts {
		if m.Empty || m.Own {
			continue
		}
		if m.Handed {
			trees[i] = handed
			handed++
			continue
		}
		fd, err := openSource(m)
		if errors.Is(err, unix.EACCES) && p.Become || m.lost(err) {
			fd, err = -1, nil
		}
		if err != nil {
			return nil, step("open "+m.Source, err)
		}
		trees[i] = fd
	}
	if !p.Become {
		return trees, nil
	}
	if err := p.become(); err != nil {
		return nil, step("become the box's user", err)
	}
	for i, m := range p.Mounts {
		if trees[i] >= 0 {
			continue
		}
		fd, err := openSource(m)
		if err != nil && !m.lost(err) {
			return nil, step("open "+m.Source, err)
		}
		trees[i] = fd
	}
	return trees, nil
}

// lost says that the source of a Found mount is no longer what was found.
func (m Mount) lost(err error) bool {
	return m.Found && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR))
}

// OpenTree clones the source of a mount, with everything mounted in it and with the mount's access rights.
func OpenTree(m Mount) (int, error) { return cloneTree(unix.AT_FDCWD, m.Source, 0, m) }

func cloneTree(at int, name string, flags uint, m Mount) (int, error) {
	fd, err := unix.OpenTree(at, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|flags)
	if err != nil {
		return -1, err
	}
	attr := uint64(unix.MOUNT_ATTR_NOSUID)
	if !m.Device {
		attr |= unix.MOUNT_ATTR_NODEV
	}
	if !m.Write {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	if err := setAttr(fd, unix.AT_RECURSIVE, attr); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func setAttr(fd int, flags uint, set uint64) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|flags, &unix.MountAttr{Attr_set: set})
}

// quiet are the flags for mounting the cage's own filesystems.
const quiet = unix.MS_NOSUID | unix.MS_NODEV

// makeRoot makes an empty root, mounts a new proc in it and enters it. The kernel requires the old proc to be visible
// when the new one is mounted, so this is done before leaving the host's root.
func makeRoot() error {
	const at = "/tmp" // every system has this directory; its content is not seen again
	if err := unix.Mount("tmpfs", at, "tmpfs", quiet, "mode=755,size=32m,nr_inodes=64k"); err != nil {
		return step("mount root", err)
	}
	if err := unix.Chdir(at); err != nil {
		return step("enter root", err)
	}
	for _, dir := range []string{"proc", strings.TrimPrefix(emptyDir, "/")} {
		if err := unix.Mkdir(dir, 0o555); err != nil {
			return step("make /"+dir, err)
		}
	}
	if err := unix.Mount("proc", "proc", "proc", quiet|unix.MS_NOEXEC, ""); err != nil {
		return &missing{LayerProc, step("mount /proc", err)}
	}
	return nil
}

// enterRoot leaves the host's root for the one that we are in.
func enterRoot() (int, error) {
	if err := unix.PivotRoot(".", "."); err != nil {
		return -1, step("pivot root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return -1, step("leave the host's root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return -1, step("enter root", err)
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return root, step("open root", err)
}

// furnish makes the box's own entries: directories, files and the filesystems that start empty.
func (p *Plan) furnish(root int) error {
	unix.Umask(0)
	defer unix.Umask(0o022)
	// These come first: the following may be in them.
	if err := p.mountEmpty(root); err != nil {
		return err
	}
	return p.makeBelow(root, "/")
}

// makeBelow makes the plan's directories, links and files below a directory.
func (p *Plan) makeBelow(root int, top string) error {
	for _, dir := range p.Dirs {
		if !paths.Within(dir, top) {
			continue
		}
		if err := makeDir(root, dir); err != nil {
			return step("make "+dir, err)
		}
	}
	for _, l := range p.Links {
		if !paths.Within(l.Path, top) {
			continue
		}
		if err := makeDir(root, path.Dir(l.Path)); err != nil {
			return step("make "+l.Path, err)
		}
		if err := unix.Symlink(l.Target, l.Path); err != nil && err != unix.EEXIST {
			return step("link "+l.Path, err)
		}
	}
	for _, f := range p.Files {
		if !paths.Within(f.Path, top) {
			continue
		}
		if err := writeFile(root, f); err != nil {
			return step("write "+f.Path, err)
		}
	}
	return nil
}

func (p *Plan) mountEmpty(root int) error {
	tmp := "mode=1777,size=" + strconv.FormatInt(p.Tmp, 10)
	shm := "mode=1777,size=" + strconv.FormatInt(p.Tmp/2, 10)
	for _, m := range []struct {
		kind, at, opts string
		flags          uintptr
	}{
		{"tmpfs", "/tmp", tmp, unix.MS_NODEV},
		{"tmpfs", "/dev/shm", shm, unix.MS_NODEV},
		// Its terminals are devices. Nobody can make other devices there, and they belong to this box alone. The
		// machine has some thousands for all boxes together.
		{"devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=0620,max=256", unix.MS_NOEXEC},
	} {
		if err := makeDir(root, m.at); err != nil {
			return step("make "+m.at, err)
		}
		if err := unix.Mount(m.kind, m.at, m.kind, unix.MS_NOSUID|m.flags, m.opts); err != nil {
			return step("mount "+m.at, err)
		}
	}
	return nil
}

func (p *Plan) place(root, tree int, m Mount) error {
	switch {
	case m.Empty:
		if err := p.hide(root, m); err != nil {
			return err
		}
		return p.makeBelow(root, m.Target)
	case m.Own:
		own, err := OpenTree(m)
		if err != nil {
			return err
		}
		return attach(root, own, m)
	case m.Copy:
		return p.copyIn(root, tree, m)
	default:
		return attach(root, tree, m)
	}
}

// hide puts a filesystem in memory over a directory. Mounts can be placed in it until closeEmpty.
func (p *Plan) hide(root int, m Mount) error {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer closeFD(fs)
	opts := [][2]string{{"mode", "755"}, {"size", "1m"}, {"nr_inodes", "4k"}}
	if m.Write {
		opts = [][2]string{{"mode", "1777"}, {"size", strconv.FormatInt(p.Tmp, 10)}}
	}
	for _, o := range opts {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	return attach(root, fd, m)
}

// closeEmpty makes the hiding filesystems read-only, after the mounts in them have been placed.
func (p *Plan) closeEmpty(root int) error {
	for _, m := range p.Mounts {
		if !m.Empty || m.Write {
			continue
		}
		at, err := beneath(root, strings.TrimPrefix(m.Target, "/"))
		if err == nil {
			err = setAttr(at, 0, unix.MOUNT_ATTR_RDONLY)
			_ = unix.Close(at)
		}
		if err != nil {
			return step("close "+m.Target, err)
		}
	}
	return nil
}

// copyIn makes a filesystem in memory and copies into it a tree that is not shown itself.
func (p *Plan) copyIn(root, tree int, m Mount) error {
	defer closeFD(tree)
	if err := makeDir(root, m.Target); err != nil {
		return err
	}
	opts := "mode=700,size=" + strconv.FormatInt(p.Tmp, 10)
	if err := unix.Mount("tmpfs", m.Target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, opts); err != nil {
		return err
	}
	return CopyTree("/proc/self/fd/"+strconv.Itoa(tree), m.Target, func(int, string) error { return nil })
}

// emptyDir is a directory of the cage's root that stays empty.
const emptyDir = "/.empty"

// shareWatches leaves the user's other programs half of the inotify instances and watches that a user has: the kernel
// counts those of the box's namespace for its owner outside, too. Older kernels lack these switches.
func shareWatches() error {
	for _, name := range []string{"instances", "watches"} {
		text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_" + name)
		all, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil && all > 1 {
			err = overwrite("/proc/sys/user/max_inotify_"+name, strconv.Itoa(all/2))
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return step("limit inotify "+name, err)
		}
	}
	return nil
}

// closeProc closes the parts of /proc that belong to the machine, and forbids user namespaces below ours.
func closeProc(root int) error {
	// Older kernels lack this switch; the seccomp filter forbids the same.
	if err := overwrite("/proc/sys/user/max_user_namespaces", "0"); err != nil && !errors.Is(err, unix.ENOENT) {
		return step("forbid user namespaces", err)
	}
	for _, name := range []string{"sys", "bus", "fs", "irq", "sysrq-trigger"} {
		if err := cover(root, "/proc/"+name, "/proc/"+name); err != nil {
			return err
		}
	}
	for _, name := range []string{"kcore", "keys", "timer_list", "latency_stats", "sched_debug", "interrupts"} {
		if err := cover(root, "/dev/null", "/proc/"+name); err != nil {
			return err
		}
	}
	for _, name := range []string{"acpi", "asound", "scsi"} {
		if err := cover(root, emptyDir, "/proc/"+name); err != nil {
			return err
		}
	}
	return nil
}

// showHeld tells programs that the kernel holds them, by a mount that they can neither make nor take away.
func showHeld(root int) error {
	if err := makeDir(root, paths.Held); err != nil {
		return step("make "+paths.Held, err)
	}
	return cover(root, emptyDir, paths.Held)
}

// cover puts source read-only over target, if the target exists.
func cover(root int, source, target string) error {
	var st unix.Stat_t
	if err := unix.Lstat(target, &st); err == unix.ENOENT {
		return nil
	}
	m := Mount{Source: source, Target: target, Device: source == "/dev/null", File: st.Mode&unix.S_IFMT != unix.S_IFDIR}
	fd, err := OpenTree(m)
	if err != nil {
		return step("open "+source, err)
	}
	return step("cover "+target, attach(root, fd, m))
}

func overwrite(file, text string) error {
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ifr); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	ifr.SetUint16(ifr.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

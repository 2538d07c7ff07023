package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func seeOutside(b *Bait) string {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return ""
	}
	for _, p := range procs {
		text, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err == nil && strings.Contains(string(text), b.Marker) {
			return "process " + p.Name() + " can be seen"
		}
	}
	return ""
}

// isBait says whether the bait's pid names the bait here: in another pid namespace it may be another process.
func isBait(b *Bait) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(b.Pid) + "/cmdline")
	return err != nil || strings.Contains(string(text), b.Marker)
}

func killOutside(b *Bait) string {
	if !isBait(b) {
		return ""
	}
	if err := unix.Kill(b.Pid, unix.SIGCONT); err == nil {
		return "sent a signal to process " + strconv.Itoa(b.Pid)
	}
	if fd, err := unix.PidfdOpen(b.Pid, 0); err == nil {
		defer closeFD(fd)
		if err := unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0); err == nil {
			return "sent a signal by descriptor"
		}
	}
	return ""
}

func traceOutside(b *Bait) string {
	if !isBait(b) {
		return ""
	}
	if escape := seize(b.Pid); escape != "" {
		return escape
	}
	var buf [8]byte
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	remote := []unix.RemoteIovec{{Base: uintptr(0x400000), Len: len(buf)}}
	if _, err := unix.ProcessVMReadv(b.Pid, local, remote, 0); err == nil || err == unix.EFAULT {
		return "read the memory of process " + strconv.Itoa(b.Pid)
	}
	return ""
}

// seize attaches to a process as a debugger would, and lets it go.
func seize(pid int) string {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return ""
	}
	_ = unix.PtraceInterrupt(pid)
	var status unix.WaitStatus
	_, _ = unix.Wait4(pid, &status, unix.WALL, nil)
	_ = unix.PtraceDetach(pid)
	return "traced process " + strconv.Itoa(pid)
}

// sharedMemory looks for the host's segment.
func sharedMemory(b *Bait) string {
	if _, err := unix.SysvShmGet(b.Shm, 0, 0); err == nil || err == unix.EACCES {
		return "the segment is there"
	}
	return ""
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// capabilities checks itself and every thread of the box's first process. Capabilities that exec could give matter only
// for processes that execute something.
func capabilities(b *Bait) string {
	files, err := filepath.Glob(procFile(b.Init, "task/*/status"))
	if err != nil {
		return ""
	}
	for _, file := range append(files, procFile(os.Getpid(), "status")) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			idle := name == "CapBnd" && file != procFile(os.Getpid(), "status")
			if strings.HasPrefix(name, "Cap") && strings.Trim(value, "0") != "" && !idle {
				return name + " in " + file + " is " + value
			}
		}
	}
	return ""
}

// again starts this program once more.
func again(attr *syscall.SysProcAttr, args ...string) error {
	_, err := run("/proc/self/exe", attr, append([]string{"cco-box", "probe"}, args...)...)
	return err
}

// run starts a program and returns its output.
func run(path string, attr *syscall.SysProcAttr, argv ...string) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Files: []uintptr{0, w.Fd(), 2}, Sys: attr})
	_ = w.Close()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	_, _ = out.ReadFrom(r)
	var status syscall.WaitStatus
	_, err = syscall.Wait4(pid, &status, 0, nil)
	if err == nil && status.ExitStatus() != 0 {
		err = syscall.ECHILD
	}
	return strings.TrimSpace(out.String()), err
}

// setuid runs a setuid root program, if there is one, and checks whether such programs have any effect.
func setuid(b *Bait) string {
	if b.Setuid != "" {
		// A process with id 0 in a box, where that is an ordinary user, has gained nothing.
		if euid, err := run(b.Setuid, nil, "id", "-u"); err == nil && euid == "0" && os.Geteuid() != 0 {
			return "a setuid program ran as root"
		}
	}
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || set == 0 {
		return "new privileges are possible"
	}
	return ""
}

func userNamespace(*Bait) string {
	if err := again(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}, "noop"); err == nil {
		return "made one"
	}
	return ""
}

// rooted runs probes again as root of a new user namespace, who has every capability over its other new namespaces.
func rooted(names []string) int {
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"cco-box", "probe"}, names...), &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "cco-box: make a user namespace:", err)
		return 1
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return 1
	}
	return status.ExitStatus()
}

// leaveSurvivor starts a process that leaves its parent, its group and its session. The host checks whether it lives
// on.
func leaveSurvivor(b *Bait) string {
	file := filepath.Join(b.Mine, "survivor")
	if err := again(&syscall.SysProcAttr{Setsid: true}, "linger", "fork", file); err != nil {
		return ""
	}
	for range patience / (10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

// linger makes a file grow until somebody removes it, or for a minute.
func linger(args []string) int {
	if len(args) < 2 {
		return 2
	}
	if args[0] == "fork" {
		null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
		if err != nil {
			return 1
		}
		_, err = syscall.ForkExec("/proc/self/exe", []string{"cco-box", "probe", "linger", "stay", args[1]},
			&syscall.ProcAttr{
				Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
			})
		if err != nil {
			return 1
		}
		return 0
	}
	f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	defer func() { _ = f.Close() }()
	for range 3000 {
		if _, err := os.Stat(args[1]); err != nil {
			break
		}
		_, _ = f.WriteString("x")
		time.Sleep(20 * time.Millisecond)
	}
	return 0
}

// spawn starts n processes, and fails if it can't.
func spawn(n int) int {
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	defer func() { _ = r.Close() }()
	defer func() { _ = w.Close() }() // this ends them
	for range n {
		_, err := syscall.ForkExec("/proc/self/exe", []string{"cco-box", "probe", "wait"},
			&syscall.ProcAttr{Files: []uintptr{r.Fd(), 2, 2}})
		if err != nil {
			return 3
		}
	}
	return 0
}

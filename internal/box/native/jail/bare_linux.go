package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// oversee is the init of a program without namespaces. It stays outside of what holds the program, which therefore
// can't signal it where Landlock holds signals, and ends everything that the program leaves: orphans become its
// children.
func (p *Plan) oversee() (res Result) {
	if _, err := children(); err != nil {
		return failed(res, &missing{"a list of child processes", err})
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return failed(res, step("adopt orphans", err))
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed(res, step("make control socket", err))
	}
	ours := os.NewFile(uintptr(fds[0]), "control")
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"cco-box", "hold"}, &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1"},
		Files: []uintptr{0, 1, 2, uintptr(fds[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: p.TTY, Pdeathsig: unix.SIGKILL},
	})
	closeFD(fds[1])
	if err != nil {
		return failed(res, step("start", err))
	}
	var said []byte
	if _, err = ours.Write(p.Encode()); err == nil {
		said, err = io.ReadAll(ours)
	}
	if err == nil {
		err = json.Unmarshal(said, &res)
	}
	if err != nil {
		return failed(res, step("hold the program", err))
	}
	// The program must not read its init, which has the control socket and the lock open.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failed(res, step("hide init", err))
	}
	done := p.follow(pid, res)
	if res.Err != "" {
		return res
	}
	return done
}

// Hold confines itself as the plan says that it gets from oversee, and becomes the program.
func Hold() int {
	runtime.LockOSThread()
	var p Plan
	err := unix.CloseRange(ControlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		err = receive(&p)
	}
	if err != nil || !p.Bare {
		fmt.Fprintln(os.Stderr, "cco-box: hold is started by cco")
		return 2
	}
	var res Result
	if err := p.confine(&res); err != nil {
		res = failed(res, err)
	}
	file := ""
	if res.Err == "" && len(p.Argv) > 0 {
		if err := os.Chdir(p.Dir); err != nil {
			res = failed(res, err)
		} else if found, code := lookPath(p.Argv[0], p.Env, p.Dir); code != 0 {
			res = cantStart(res, p.Argv[0], code, nil)
		} else {
			file = found
		}
	}
	if err := send(res); err != nil || file == "" {
		return 1
	}
	err = unix.Exec(file, p.Argv, p.Env)
	fmt.Fprintf(os.Stderr, "cco-box: %s: %v\n", p.Argv[0], err)
	return 126
}

// sweep ends all children, and theirs, which become ours when their parents end. In a pid namespace it ends everything
// there at once, however fast that multiplies.
func sweep() error {
	for {
		pids := []int{-1}
		if os.Getpid() != 1 {
			var err error
			if pids, err = children(); err != nil {
				return err
			}
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // nobody else gets its number before we have waited for it
		}
		if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
			return nil
		} else if err != nil && err != unix.EINTR {
			return err
		}
	}
}

// children are the processes whose parent is one of our threads.
func children() (pids []int, err error) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		return nil, errors.Join(err, errors.New("the kernel keeps none (CONFIG_PROC_CHILDREN)"))
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return nil, err
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

package jail

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// program starts the program, passes signals on to it and reaps dying processes until it ends.
func (p *Plan) program(res Result) Result {
	file, code := lookPath(p.Argv[0], p.Env, p.Dir)
	if code != 0 {
		return cantStart(res, p.Argv[0], code, nil)
	}
	if err := p.move(0); err != nil {
		return failed(res, step("join cgroup", err))
	}
	pid, err := syscall.ForkExec(file, p.Argv, &syscall.ProcAttr{
		Dir:   p.Dir,
		Env:   p.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: p.TTY},
	})
	if err != nil {
		return cantStart(res, p.Argv[0], 126, err)
	}
	if err := errors.Join(p.move(p.Cgroups), p.unlimit()); err != nil {
		return failed(res, step("set limits", err))
	}
	return p.follow(pid, res)
}

// move moves this thread, and so the program that it starts, into the cgroups of the files from the given one on.
// Moving one's own thread is the only move that does not make the whole machine wait.
func (p *Plan) move(first int) error {
	for i := range p.Cgroups {
		if _, err := unix.Write(CgroupFDs+first+i, []byte("0")); err != nil {
			return err
		}
	}
	return nil
}

// follow passes signals on to the program and reaps until it ends.
func (p *Plan) follow(pid int, res Result) Result {
	go p.relay(pid)
	// Signals from the program to its pid 1 must not end the box. Before the start, the program would inherit this.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	status, err := reap(pid)
	if err != nil {
		return failed(res, step("wait", err))
	}
	if status.Signaled() {
		res.Signal = int(status.Signal())
	} else {
		res.Exit = status.ExitStatus()
	}
	return res
}

// relay passes signals on to the program. They come as bytes from the starter, which nobody in the box can imitate; if
// the kernel has not killed us with the starter, its hang-up ends us here. Without a pid namespace it ends the program,
// and what that leaves is swept before we end.
func (p *Plan) relay(pid int) {
	fd, gone := unix.PidfdOpen(pid, 0) // the number may be somebody else's when the program has ended
	var sig [1]byte
	for {
		n, err := unix.Read(ControlFD, sig[:])
		switch {
		case err == unix.EINTR:
		case (err != nil || n == 0) && !p.Bare:
			os.Exit(1)
		case gone != nil:
			return
		case err != nil || n == 0:
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			return
		default:
			_ = unix.PidfdSendSignal(fd, syscall.Signal(sig[0]), nil, 0)
		}
	}
}

func reap(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case got == pid && (status.Exited() || status.Signaled()):
			return status, nil
		}
	}
}

func cantStart(res Result, name string, code int, err error) Result {
	res.NoExec = code
	switch {
	case err != nil:
		res.Err = name + ": " + err.Error()
	case code == 127:
		res.Err = name + ": not found inside"
	default:
		res.Err = name + ": not executable"
	}
	return res
}

// lookPath finds a program as a shell would; the status is 127 if it is missing and 126 if it can't be run.
func lookPath(name string, env []string, dir string) (string, int) {
	if strings.Contains(name, "/") {
		file := name
		if !strings.HasPrefix(file, "/") {
			file = dir + "/" + name
		}
		return name, runnable(file)
	}
	worst := 127
	for _, entry := range strings.Split(variable(env, "PATH"), ":") {
		if !strings.HasPrefix(entry, "/") {
			continue
		}
		file := entry + "/" + name
		code := runnable(file)
		if code == 0 {
			return file, 0
		}
		worst = min(worst, code)
	}
	return "", worst
}

func runnable(file string) int {
	st, err := os.Stat(file)
	if err != nil {
		return 127
	}
	if st.IsDir() || unix.Access(file, unix.X_OK) != nil {
		return 126
	}
	return 0
}

func variable(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

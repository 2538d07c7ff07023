package jail

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// maxPlan limits how much is read from the starter, so that a faulty one can't make us fill the memory.
const maxPlan = 16 << 20

// Main is pid 1 of a box. It returns its exit status; the result goes over the control socket.
func Main() int {
	// The program is started from this thread: its children lack the rights that this thread gives up.
	runtime.LockOSThread()
	// Files that our starter left open without close-on-exec must not reach the program.
	if err := unix.CloseRange(ControlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 1
	}
	var plan Plan
	err := receive(&plan)
	if os.Getpid() != 1 && !plan.Bare {
		fmt.Fprintln(os.Stderr, "cco-box: init is started by cco, as the first process of a box")
		return 2
	}
	if err != nil {
		return 1
	}
	if !plan.Bare {
		offerViews()
	}
	res := run(&plan)
	if err := sweep(); err != nil {
		res = failed(res, step("end what is left", err))
	}
	for fd := range ControlFD {
		_ = unix.Close(fd)
	}
	if err := send(res); err != nil {
		return 1
	}
	// Everything else has ended. Our starter need not wait while the kernel takes our namespaces apart.
	_ = unix.Shutdown(ControlFD, unix.SHUT_WR)
	return 0
}

func run(p *Plan) Result {
	var res Result
	if p.Bare {
		return p.oversee()
	}
	if !p.Contained {
		if err := p.build(&res); err != nil {
			return failed(res, err)
		}
	}
	if err := p.confine(&res); err != nil {
		return failed(res, err)
	}
	if len(p.Argv) == 0 {
		return res
	}
	return p.program(res)
}

// missing is a layer of isolation that this kernel does not provide.
type missing struct {
	layer string
	err   error
}

func (e *missing) Error() string { return e.layer + ": " + e.err.Error() }
func (e *missing) Unwrap() error { return e.err }

func failed(res Result, err error) Result {
	res.Err = err.Error()
	if n, ok := errors.AsType[unix.Errno](err); ok {
		res.Errno = int(n)
	}
	if m, ok := errors.AsType[*missing](err); ok {
		res.Layer = m.layer
	}
	return res
}

func receive(p *Plan) error {
	var size [4]byte
	if err := readFull(size[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxPlan {
		return unix.E2BIG
	}
	data := make([]byte, n)
	if err := readFull(data); err != nil {
		return err
	}
	return p.decode(data)
}

// offerViews gives our starter the table of this box's System V memory, and a socket that answers questions about this
// box's sockets: the kernel shows each process its own namespaces, and files opened here keep showing ours. Readers of
// the result skip the blank sent with each. A view that can't be given is not counted.
func offerViews() {
	table, err := unix.Open("/proc/sysvipc/shm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	offer(table, err)
	questions, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	offer(questions, err)
}

func offer(fd int, err error) {
	if err != nil {
		return
	}
	_ = unix.Sendmsg(ControlFD, []byte{' '}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
	_ = unix.Close(fd)
}

func readFull(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(ControlFD, b)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return unix.EPIPE
		}
		b = b[n:]
	}
	return nil
}

func send(res Result) error {
	data, err := json.Marshal(res)
	if err != nil {
		return err
	}
	for len(data) > 0 {
		n, err := unix.Write(ControlFD, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// step adds the name of the step to its error.
func step(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

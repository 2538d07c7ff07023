package jail

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ContainedFDs is the number of descriptors that the starter of a container sends with its first byte: the program's
// three streams, and the lock.
const ContainedFDs = 4

// Contain is pid 1 of a container. It connects to its starter, receives the descriptors that the init of a native box
// starts with, and becomes the same init.
func Contain(socket string) int {
	runtime.LockOSThread()
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "cco-box: contain is started by cco, as the first process of a container")
		return 2
	}
	if err := contain(socket); err != nil {
		fmt.Fprintln(os.Stderr, "cco-box:", err)
	}
	return 1
}

func contain(socket string) error {
	control, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return step("make control socket", err)
	}
	if err := unix.Connect(control, &unix.SockaddrUnix{Name: socket}); err != nil {
		return step("call the starter", err)
	}
	fds, err := receiveFDs(control)
	if err != nil {
		return step("take descriptors", err)
	}
	const aside = 64 // above everything that is open
	// These numbers may belong to the runtime's own files. The exec closes them.
	for to, from := range map[int]int{0: fds[0], 1: fds[1], 2: fds[2], ControlFD: control, LockFD: fds[3]} {
		if err := unix.Dup3(from, aside+to, unix.O_CLOEXEC); err != nil {
			return err
		}
	}
	for to := range LockFD + 1 {
		if err := unix.Dup3(aside+to, to, 0); err != nil {
			return err
		}
	}
	return step("become init", unix.Exec("/proc/self/exe", []string{"cco-box", "init"}, nil))
}

func receiveFDs(control int) ([]int, error) {
	var first [1]byte
	oob := make([]byte, unix.CmsgSpace(4*ContainedFDs))
	n, oobn, _, _, err := unix.Recvmsg(control, first[:], oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || n != 1 || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("the starter hung up"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err == nil && len(fds) != ContainedFDs {
		err = fmt.Errorf("received %d descriptors", len(fds))
	}
	return fds, err
}

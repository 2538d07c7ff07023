//go:build linux

package native

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const mealVariable = "CCO_TEST_MEAL"

// eaten uses four times the memory that a box allows, of a kind that a sum over processes misses: a process's own when
// its first thread has ended, behind a descriptor that only one thread has, and data that waits in sockets. To share is
// to stay within the limit.
func eaten(kind string) int {
	if kind == "share" {
		return share(80)
	}
	bite := map[string]func() func([]byte) error{
		"socket": func() func([]byte) error { return eatSocket },
		"tcp":    eatConnection,
		"leaderless": func() func([]byte) error {
			leaveFirst(func() { _, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0) })
			return eatOwn
		},
		"table": func() func([]byte) error {
			leaveFirst(func() {})
			time.Sleep(time.Millisecond) // both descriptor tables must have what Go's timers open
			if err := unix.Unshare(unix.CLONE_FILES); err != nil {
				return func([]byte) error { return err }
			}
			return eatFile()
		},
	}[kind]()
	full := bytes.Repeat([]byte{1}, 1<<20)
	for range 512 {
		if err := bite(full); err != nil {
			return 3
		}
		time.Sleep(2 * time.Millisecond) // a watchdog can act before all memory is used
	}
	time.Sleep(10 * time.Second)
	return 0
}

// leaveFirst keeps this goroutine off the process's first thread. That thread only calls then.
func leaveFirst(then func()) {
	first := make(chan bool)
	for {
		go func() {
			runtime.LockOSThread()
			here := unix.Gettid() == unix.Getpid()
			first <- here
			if here {
				then()
			}
			select {}
		}()
		if <-first {
			runtime.LockOSThread()
			return
		}
	}
}

// eatFile uses memory that is mapped nowhere.
func eatFile() func([]byte) error {
	file, err := unix.MemfdCreate("cco", unix.MFD_CLOEXEC)
	return func(full []byte) error {
		if err == nil {
			_, err = unix.Write(file, full)
		}
		return err
	}
}

// eatSocket uses memory for messages that nobody receives. In every second pair the sender hangs up.
func eatSocket(full []byte) error {
	for left := len(full); left > 0; {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		for err == nil {
			var n int
			n, err = unix.Write(pair[0], full[:32<<10])
			left -= max(0, n)
		}
		if pair[0]%4 == 0 {
			_ = unix.Close(pair[0])
		}
	}
	return nil
}

// eatOwn uses memory that this process maps, and keeps it.
func eatOwn(full []byte) error {
	block, err := unix.Mmap(-1, 0, len(full), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		copy(block, full)
	}
	return err
}

// share holds a number of megabytes for a while, once but in two ways: by a descriptor and mapped. The race detector
// would hold as much for itself.
//
//go:norace
func share(megabytes int) int {
	file, err := unix.MemfdCreate("cco", unix.MFD_CLOEXEC)
	if err != nil || unix.Ftruncate(file, int64(megabytes)<<20) != nil {
		return 3
	}
	block, err := unix.Mmap(file, 0, megabytes<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return 3
	}
	for range 10 {
		for i := 0; i < len(block); i += 4096 {
			block[i]++
		}
		time.Sleep(100 * time.Millisecond)
	}
	return 0
}

// eatConnection is eatSocket over the loopback device.
func eatConnection() func([]byte) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	var kept []net.Conn
	return func(full []byte) error {
		for left := len(full); left > 0 && err == nil; {
			var from, to net.Conn
			if from, err = new(net.Dialer).DialContext(context.Background(), "tcp", l.Addr().String()); err != nil {
				break
			}
			if to, err = l.Accept(); err != nil {
				break
			}
			kept = append(kept, from, to)
			// It takes some time to be sure that no more fits.
			_ = from.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
			n, _ := from.Write(full)
			left -= n
		}
		return err
	}
}

package cage

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/must"
)

// idle starts threads that wait until the test ends, the first of them with a table of descriptors of its own.
func idle(tb testing.TB, n int) {
	tb.Helper()
	time.Sleep(time.Millisecond) // both descriptor tables must have what Go's timers open
	over, ready := make(chan struct{}), make(chan error)
	for i := range n {
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with it
			var err error
			if i == 0 {
				err = unix.Unshare(unix.CLONE_FILES)
			}
			ready <- err
			<-over
		}()
	}
	for range n {
		if err := <-ready; err != nil {
			tb.Error(err)
		}
	}
	tb.Cleanup(func() { close(over) })
}

// Guards against missing the descriptors of a thread, and against checking the same ones with every thread.
func TestDescriptorsOfThreadsAreToldApart(t *testing.T) {
	idle(t, 50)
	us := descendants(os.Getpid())[0]
	if len(us.tasks) < 50 {
		t.Fatalf("%d threads", len(us.tasks))
	}
	if got := distinct(us.tasks, compareFiles); len(got) != 2 {
		t.Errorf("%d tables of descriptors", len(got))
	}
	if got := distinct(us.tasks, compareMemory); len(got) != 1 {
		t.Errorf("%d memories", len(got))
	}
}

// A check by the watchdog of a process with 2,000 threads.
func BenchmarkLookAtThreads(b *testing.B) {
	idle(b, 2000)
	w := &watchdog{init: os.Getpid(), limit: 1 << 50, hidden: hiddenDevice()}
	fd := must.Get(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG))(b)
	w.keepView(os.NewFile(uintptr(fd), "view"))
	defer func() { _ = w.sockets.Close() }()
	all := descendants(w.init)
	for name, look := range map[string]func(){
		"all":         func() { w.check() },
		"descendants": func() { descendants(w.init) },
		"opened":      func() { w.opened(all) },
		"buffers":     func() { w.buffers() },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				look()
			}
		})
	}
}

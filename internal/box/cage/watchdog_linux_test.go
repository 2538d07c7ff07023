package cage

import (
	"errors"
	"maps"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/must"
)

func TestSegmentsAreSummed(t *testing.T) {
	const table = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      " +
		"atime      dtime      ctime                   rss                  swap\n         0          0   600              " +
		" 1048576     5     5      0  1000  1000  1000  1000          0          0 1700000000               1048576        " +
		"             0\n         7          3   600            1073741824     5     5      2  1000  1000  1000  1000      " +
		"    0          0 1700000000                  8192                  4096\n"
	if got := sumSegments(table); got != 1<<20+8192+4096 {
		t.Errorf("%d", got)
	}
	if got := sumSegments(""); got != 0 {
		t.Errorf("nothing is %d", got)
	}
}

// Guards against counting mapped memory twice, or leaving it out.
func TestMappedMemoryIsCountedByFile(t *testing.T) {
	const smaps = `7f0000000000-7f0000100000 rw-s 00000000 00:01 77                         /memfd:a b (deleted)
Size:               1024 kB
Rss:                1024 kB
Pss:                 512 kB
Anonymous:             0 kB
7f0000200000-7f0000300000 rw-p 00000000 00:01 77                         /memfd:a b (deleted)
Pss:                 300 kB
Anonymous:           100 kB
7f0000400000-7f0000500000 rw-s 00000000 00:01 3                          /SYSV00000000 (deleted)
Pss:                1024 kB
Anonymous:             0 kB
7f0000600000-7f0000700000 rw-s 00000000 00:2b 9                          /dev/shm/x
Pss:                1024 kB
7f0000800000-7f0000900000 rw-p 00000000 00:00 0
Pss:                1024 kB
Anonymous:          1024 kB
`
	hidden := unix.Mkdev(0, 1)
	for _, c := range []struct {
		without bool
		want    map[uint64]int64
	}{{true, map[uint64]int64{77: 712 << 10}}, {false, map[uint64]int64{77: 712 << 10, 3: 1 << 20}}} {
		if got := sumMapped([]byte(smaps), hidden, c.without); !maps.Equal(got, c.want) {
			t.Errorf("without segments %v: %v", c.without, got)
		}
	}
}

// Guards against a box that is killed as a whole because the process that held too much ended a moment ago.
func TestNobodyIsToBlameForMemoryThatIsGone(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  int64
		killed bool
	}{{"gone", 1 << 30, false}, {"still there", 1, true}} {
		init := must.Get(os.StartProcess("/bin/cat", []string{"cat"}, &os.ProcAttr{Files: []*os.File{openPipe(t)}}))(t)
		const gone = 1 << 30 // no process has such a number
		w := watchdog{init: init.Pid, limit: c.limit}
		w.killLargest(holding{all: []process{{pid: gone, alive: gone}}, loose: 1 << 20})
		if !c.killed {
			must.Do(t, init.Signal(unix.SIGTERM))
		}
		state := must.Get(init.Wait())(t)
		if status, ok := state.Sys().(unix.WaitStatus); ok && (status.Signal() == unix.SIGKILL) != c.killed {
			t.Errorf("%s: %v", c.name, state)
		}
	}
}

// openPipe is an input that never ends while the test runs.
func openPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r
}

// Guards against a box that is killed because its home lies on a file system in memory in which others have files.
func TestTheHostsOwnFileSystemsAreNoMemoryOfABox(t *testing.T) {
	f := must.Get(os.CreateTemp("/dev/shm", "cco-"))(t)
	defer func() { must.Do(t, errors.Join(f.Close(), os.Remove(f.Name()))) }()
	must.Get(f.Write(make([]byte, 1<<20)))(t)
	w := &watchdog{init: os.Getpid(), scratch: []string{"/dev/shm"}}
	if w.files() < 1<<20 {
		t.Error("a file system of the box's own is not counted")
	}
	if w.host = mountedDevices(); w.files() != 0 {
		t.Errorf("%d bytes of the host's are counted", w.files())
	}
}

package cage

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is one process of a box. All its threads are looked at: the first may end before the others, and each may
// have descriptors of its own.
type process struct {
	pid   int
	tasks []int
	alive int // the id of a thread that has not ended
}

// descendants lists all processes of a box. A process that loses its parent becomes a child of the init.
func descendants(init int) []process {
	all := []process{{pid: init, alive: init}}
	for i := 0; i < len(all); i++ {
		base := "/proc/" + strconv.Itoa(all[i].pid) + "/task/"
		tasks, err := os.ReadDir(base)
		if err != nil {
			continue
		}
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				all[i].tasks = append(all[i].tasks, tid)
			}
			text, err := os.ReadFile(base + t.Name() + "/children")
			if err != nil {
				continue
			}
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil {
					all = append(all, process{pid: pid, alive: pid})
				}
			}
		}
	}
	return all
}

// quick is the memory that a process maps, shared pages in full. The kernel shows none for a thread that has ended.
func (p *process) quick() int64 {
	for _, tid := range p.tasks {
		if n := fields(tid, "status", "RssAnon:", "RssShmem:", "VmSwap:"); n > 0 {
			p.alive = tid
			return n
		}
	}
	return 0
}

// These are the resources by which kcmp(2) compares two threads.
const (
	compareMemory = 1
	compareFiles  = 2
)

// distinct leaves out threads that share memory or descriptors with another. The kernel gives an order for any two, so
// that many can be compared quickly. If it gives none, all are kept.
func distinct(tids []int, by uintptr) []int {
	var kept []int
	for _, tid := range tids {
		at, same := slices.BinarySearchFunc(kept, tid, func(a, b int) int {
			order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), by, 0, 0, 0)
			switch {
			case errno == 0 && order == 0:
				return 0
			case errno == 0 && order == 2:
				return 1
			}
			return -1
		})
		if !same {
			kept = slices.Insert(kept, at, tid)
		}
	}
	return kept
}

package cage

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How often it looks: seldom while there is room, and often when a program could take the rest between two looks.
const (
	watchCalm  = 200 * time.Millisecond
	watchTight = 20 * time.Millisecond
)

// watchMemory stands in for a memory cgroup: it sums what a box's processes hold and kills the largest of them
// while that is too much, as the kernel would.
func watchMemory(ctx context.Context, init int, limit int64, scratch []string) {
	look := time.NewTimer(watchTight)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		pids := descendants(init)
		held := sum(pids, resident) + inMemory(init, scratch)
		// The quick count has shared pages twice. Before anybody is killed it is done exactly.
		if held > limit && sum(pids, proportional)+inMemory(init, scratch) > limit {
			killLargest(pids, init, scratch)
		}
		if held > limit/2 {
			look.Reset(watchTight)
		} else {
			look.Reset(watchCalm)
		}
	}
}

func sum(pids []int, of func(int) int64) int64 {
	var total int64
	for _, pid := range pids {
		total += of(pid)
	}
	return total
}

// descendants are all processes of a box: whoever loses a parent in it becomes its init's child.
func descendants(init int) []int {
	pids := []int{init}
	for i := 0; i < len(pids); i++ {
		base := "/proc/" + strconv.Itoa(pids[i]) + "/task/"
		tasks, err := os.ReadDir(base)
		if err != nil {
			continue
		}
		for _, t := range tasks {
			text, err := os.ReadFile(base + t.Name() + "/children")
			if err != nil {
				continue
			}
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// resident is a process's own memory, without the files that it maps.
func resident(pid int) int64 {
	return field(pid, "status", "RssAnon:") + field(pid, "status", "RssShmem:")
}

func proportional(pid int) int64 {
	return field(pid, "smaps_rollup", "Pss_Anon:") + field(pid, "smaps_rollup", "Pss_Shmem:")
}

// field reads a line such as "RssAnon:  1234 kB", in bytes; 0 for a process that is gone.
func field(pid int, file, name string) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0
		}
		return kb << 10
	}
	return 0
}

// inMemory is what the cage's filesystems in memory hold.
func inMemory(init int, dirs []string) int64 {
	var total int64
	for _, dir := range dirs {
		var st unix.Statfs_t
		if err := unix.Statfs("/proc/"+strconv.Itoa(init)+"/root"+dir, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
			total += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return total
}

// killLargest kills the process that holds most. Where what is held is files in memory there is none to blame but the
// box itself: its init goes, and everything with it.
func killLargest(pids []int, init int, scratch []string) {
	victim, most := init, inMemory(init, scratch)
	for _, pid := range pids {
		if n := proportional(pid); n > most {
			victim, most = pid, n
		}
	}
	fd, err := unix.PidfdOpen(victim, 0)
	if err != nil {
		return
	}
	defer closeFD(fd)
	// The pid may have passed on since: what it names must still be in the box.
	if victim != init && !sameNamespace(victim, init) {
		return
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

func sameNamespace(a, b int) bool {
	x, err := os.Readlink("/proc/" + strconv.Itoa(a) + "/ns/pid")
	if err != nil {
		return false
	}
	y, err := os.Readlink("/proc/" + strconv.Itoa(b) + "/ns/pid")
	return err == nil && x == y
}

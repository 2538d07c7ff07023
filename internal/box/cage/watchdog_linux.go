package cage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The watchdog looks seldom while there is room, and often when a program could use up the rest between two looks. A
// box with many processes takes longer to check: at most a tenth of the time is spent on that.
const (
	watchCalm  = 200 * time.Millisecond
	watchTight = 20 * time.Millisecond
	watchShare = 10
)

// watchdog stands in for a memory cgroup: it adds up the memory of a box and kills its largest processes while that is
// over the limit, as the kernel would. It only watches, so a program can exceed the limit for a moment.
type watchdog struct {
	init    int
	limit   int64
	scratch []string // the box's own filesystems in memory
	shared  *os.File // the table of its System V memory, nil while there is none
	sockets *os.File // answers questions about its sockets, nil while there is none
	hidden  uint64   // the kernel's own filesystem, which holds memory that is shared by descriptors

	host map[uint64]bool // the devices of what is mounted on the host
}

// run checks until the context ends. The box's init, when it starts, sends the files that show its namespaces.
func (w *watchdog) run(ctx context.Context, views <-chan *os.File) {
	w.hidden, w.host = hiddenDevice(), mountedDevices()
	look := time.NewTimer(watchTight)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-views:
			defer func() { _ = f.Close() }()
			w.keepView(f)
			continue
		case <-look.C:
		}
		start := time.Now()
		next := watchCalm
		if w.check() {
			next = watchTight
		}
		look.Reset(max(next, watchShare*time.Since(start)))
	}
}

// keepView keeps a file that the init sends: a table or a socket.
func (w *watchdog) keepView(f *os.File) {
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeSocket != 0 {
		w.sockets = f
	} else {
		w.shared = f
	}
}

// holding is what a box holds at one moment.
type holding struct {
	all   []process
	open  opened
	loose int64 // in files in memory, or in no process at all
}

func (w *watchdog) look() holding {
	all := descendants(w.init)
	return holding{all, w.opened(all), w.files() + w.segments() + w.buffers()}
}

// check checks once, and says whether memory is getting tight.
func (w *watchdog) check() bool {
	h := w.look()
	held := h.loose + h.open.total()
	for i := range h.all {
		held += h.all[i].quick()
	}
	// The quick count counts shared pages twice. Before we kill a process, we count exactly.
	if held > w.limit && w.exactly(h) > w.limit {
		w.killLargest(h)
	}
	return held > w.limit/2
}

// exactly counts every page once.
func (w *watchdog) exactly(h holding) int64 {
	held := h.loose + h.open.total()
	var alive []int
	for _, p := range h.all {
		alive = append(alive, p.alive)
	}
	for _, tid := range distinct(alive, compareMemory) {
		held += fields(tid, "smaps_rollup", "Pss_Anon:", "SwapPss:")
		for inode, n := range w.mapped(tid) {
			if _, counted := h.open.size[inode]; !counted {
				held += n
			}
		}
	}
	return held
}

// killLargest kills the process that holds most. If most memory is loose, no single process is to blame: it kills the
// init, and the whole box with it. First it looks again, because the one to blame may just have ended.
func (w *watchdog) killLargest(h holding) {
	victim := w.largest(h)
	if victim == w.init {
		if h = w.look(); w.exactly(h) <= w.limit {
			return
		}
		victim = w.largest(h)
	}
	fd, err := unix.PidfdOpen(victim, 0)
	if err != nil {
		return
	}
	defer closeFD(fd)
	// The pid may have been reused: the process must still be in the box.
	if !slices.ContainsFunc(descendants(w.init), func(p process) bool { return p.pid == victim }) {
		return
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

func (w *watchdog) largest(h holding) int {
	victim, most := w.init, h.loose
	for _, p := range h.all {
		n := fields(p.alive, "smaps_rollup", "Pss_Anon:", "SwapPss:")
		own := w.mapped(p.alive)
		for inode := range h.open.by[p.pid] {
			own[inode] = h.open.size[inode]
		}
		for _, size := range own {
			n += size
		}
		if n > most {
			victim, most = p.pid, n
		}
	}
	return victim
}

// files is the size of the box's filesystems in memory. Until it has a root of its own, its init sees the host's; and a
// home may lie on one of the host's, in which others have files.
func (w *watchdog) files() int64 {
	var total int64
	for _, dir := range w.scratch {
		var theirs unix.Stat_t
		var st unix.Statfs_t
		name := "/proc/" + strconv.Itoa(w.init) + "/root" + dir
		if unix.Stat(name, &theirs) != nil || w.host[theirs.Dev] {
			continue
		}
		if err := unix.Statfs(name, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
			total += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return total
}

// mountedDevices are the devices of everything that is mounted where this process is.
func mountedDevices() map[uint64]bool {
	all := map[uint64]bool{}
	data, _ := os.ReadFile("/proc/self/mountinfo") // without it more is counted
	for line := range strings.Lines(string(data)) {
		var id, parent int
		var major, minor uint32
		if n, _ := fmt.Sscanf(line, "%d %d %d:%d", &id, &parent, &major, &minor); n == 4 {
			all[unix.Mkdev(major, minor)] = true
		}
	}
	return all
}

// segments is the size of the box's System V memory, attached or not.
func (w *watchdog) segments() int64 {
	if w.shared == nil {
		return 0
	}
	if _, err := w.shared.Seek(0, io.SeekStart); err != nil {
		return 0
	}
	text, err := io.ReadAll(w.shared)
	if err != nil {
		return 0
	}
	return sumSegments(string(text))
}

// sumSegments adds up the last two columns of the kernel's table: resident, and swapped out.
func sumSegments(table string) (total int64) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 16 {
			continue
		}
		for _, column := range f[len(f)-2:] {
			if n, err := strconv.ParseInt(column, 10, 64); err == nil { // the first line names the columns
				total += n
			}
		}
	}
	return total
}

// opened is the memory behind descriptors: memfd, and files in memory that no longer have a name.
type opened struct {
	size map[uint64]int64 // by inode
	by   map[int]map[uint64]bool
}

func (o opened) total() (n int64) {
	for _, size := range o.size {
		n += size
	}
	return n
}

// opened collects the memory that the processes have open, without files on the box's own filesystems.
func (w *watchdog) opened(all []process) opened {
	o := opened{map[uint64]int64{}, map[int]map[uint64]bool{}}
	for _, p := range all {
		o.by[p.pid] = map[uint64]bool{}
		for _, tid := range distinct(p.tasks, compareFiles) {
			w.openedBy(tid, func(inode uint64, size int64) {
				o.size[inode] = size
				o.by[p.pid][inode] = true
			})
		}
	}
	return o
}

func (w *watchdog) openedBy(tid int, found func(inode uint64, size int64)) {
	dir := "/proc/" + strconv.Itoa(tid) + "/fd/"
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	names, _ := f.Readdirnames(-1)
	_ = f.Close()
	for _, name := range names {
		if to, err := os.Readlink(dir + name); err != nil || !strings.HasSuffix(to, " (deleted)") {
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(dir+name, &st); err == nil && st.Dev == w.hidden {
			found(st.Ino, st.Blocks*512)
		}
	}
}

// mapped is a process's share of the memory that it maps and that is not on a filesystem of the box, by inode. System V
// memory is left out if its table is known.
func (w *watchdog) mapped(pid int) map[uint64]int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps")
	if err != nil {
		return map[uint64]int64{}
	}
	return sumMapped(text, w.hidden, w.shared != nil)
}

func sumMapped(smaps []byte, device uint64, withoutSegments bool) map[uint64]int64 {
	sizes := map[uint64]int64{}
	var inode uint64
	inside := false
	for line := range bytes.Lines(smaps) {
		f := strings.Fields(string(line))
		switch {
		case len(f) >= 5 && strings.Contains(f[0], "-"): // addresses, rights, offset, device, inode, name
			inode, _ = strconv.ParseUint(f[4], 10, 64)
			segment := len(f) > 5 && strings.HasPrefix(f[5], "/SYSV")
			inside = f[3] == deviceName(device) && (!segment || !withoutSegments)
		case inside && len(f) == 3 && (f[0] == "Pss:" || f[0] == "Anonymous:"):
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				continue
			}
			if f[0] == "Anonymous:" {
				kb = -kb // a private copy, which is counted as such
			}
			sizes[inode] = max(0, sizes[inode]+kb<<10)
		}
	}
	return sizes
}

func deviceName(device uint64) string {
	hex := func(n uint32) string {
		s := strconv.FormatUint(uint64(n), 16)
		if len(s) < 2 {
			s = "0" + s
		}
		return s
	}
	return hex(unix.Major(device)) + ":" + hex(unix.Minor(device))
}

// hiddenDevice is the kernel's own filesystem, which holds shared memory without a name.
func hiddenDevice() uint64 {
	fd, err := unix.MemfdCreate("cco", unix.MFD_CLOEXEC)
	if err != nil {
		return 0
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0
	}
	return st.Dev
}

// fields adds up lines such as "RssAnon:  1234 kB", in bytes; 0 for a process that is gone.
func fields(pid int, file string, names ...string) (total int64) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		for _, name := range names {
			rest, ok := strings.CutPrefix(string(line), name)
			if !ok {
				continue
			}
			if kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
				total += kb << 10
			}
		}
	}
	return total
}

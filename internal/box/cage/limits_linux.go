package cage

import (
	"cmp"
	"context"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
)

const defaultProcs = 4096

// LimitsFor fills in the limits that neither the run nor the box sets.
func LimitsFor(b *box.Box, e box.Exec) box.Limits {
	own := b.Spec.Limits
	return box.Limits{
		Memory: cmp.Or(e.Limits.Memory, own.Memory, machineMemory()/4*3),
		Procs:  cmp.Or(e.Limits.Procs, own.Procs, defaultProcs),
		Time:   cmp.Or(e.Limits.Time, own.Time),
	}
}

func machineMemory() int64 {
	var si unix.Sysinfo_t
	if err := unix.Sysinfo(&si); err != nil {
		return 4 << 30
	}
	return int64(si.Totalram) * int64(si.Unit)
}

// group limits one run: by cgroups where they are available, otherwise by an rlimit for processes and a watchdog for
// memory.
type group struct {
	memory, procs string     // the means that enforce each
	dirs          []string   // cgroups to remove afterwards
	join, leave   []*os.File // files that the init writes to around the program's start (version 1)
	into          *os.File   // the cgroup that the init starts in (version 2)
	rlimit        int
	watchdog      int64
}

// Watchdog is the name that users see for the stand-in for a memory cgroup.
const Watchdog = "watchdog: watched, not enforced"

// These are the means that enforce a limit.
const (
	byCgroup1  = "cgroup v1"
	byCgroup2  = "cgroup v2"
	byRlimit   = "rlimit"
	byWatchdog = Watchdog
)

// limitBy chooses the best means available here. What cgroups can't enforce, the other means do.
func limitBy(name string, l box.Limits, version2 bool) *group {
	g := &group{}
	if !version2 || !g.version2(name, l) {
		g.version1(name, l)
	}
	if g.procs == "" {
		g.procs, g.rlimit = byRlimit, l.Procs
	}
	if g.memory == "" {
		g.memory, g.watchdog = byWatchdog, l.Memory
	}
	return g
}

func (g *group) attr(a *syscall.SysProcAttr) {
	if g.into != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.into.Fd())
	}
}

// watch starts the watchdog if it is needed, and returns a function that stops it.
func (g *group) watch(ctx context.Context, pid int, scratch []string, views <-chan *os.File) func() {
	if g.watchdog == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&watchdog{init: pid, limit: g.watchdog, scratch: scratch}).run(ctx, views)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (g *group) remove() {
	for _, f := range slices.Concat(g.join, g.leave) {
		_ = f.Close()
	}
	if g.into != nil {
		_ = g.into.Close()
	}
	for _, dir := range g.dirs {
		removeCgroup(dir)
	}
}

package cage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
)

const cgroupRoot = "/sys/fs/cgroup"

// ownCgroups parses /proc/self/cgroup into a map from controller to path, with "" for version 2.
func ownCgroups(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, c := range strings.Split(parts[1], ",") {
			own[c] = parts[2]
		}
	}
	return own
}

// version1 makes a group in the memory and the pids hierarchy, as far as each is available.
func (g *group) version1(name string, l box.Limits) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return
	}
	own := ownCgroups(string(text))
	if path, ok := own["memory"]; ok {
		dir, ok := g.join1(filepath.Join(cgroupRoot, "memory", path), name, "memory.limit_in_bytes", l.Memory)
		if ok {
			g.memory = byCgroup1
			// With swap the limit would only slow the program down. Not every kernel counts swap.
			_ = writeLimit(dir, "memory.memsw.limit_in_bytes", l.Memory)
		}
	}
	if path, ok := own["pids"]; ok {
		if _, ok := g.join1(filepath.Join(cgroupRoot, "pids", path), name, "pids.max", int64(l.Procs)); ok {
			g.procs = byCgroup1
		}
	}
}

func (g *group) join1(parent, name, file string, limit int64) (string, bool) {
	dir, err := os.MkdirTemp(parent, "cco-"+name+"-")
	if err != nil {
		return "", false
	}
	if err := writeLimit(dir, file, limit); err != nil {
		removeCgroup(dir)
		return "", false
	}
	join, err := os.OpenFile(filepath.Join(dir, "tasks"), os.O_WRONLY, 0)
	leave, leaveErr := os.OpenFile(filepath.Join(parent, "tasks"), os.O_WRONLY, 0)
	if errors.Join(err, leaveErr) != nil {
		_, _ = join.Close(), leave.Close()
		removeCgroup(dir)
		return "", false
	}
	g.dirs = append(g.dirs, dir)
	g.join, g.leave = append(g.join, join), append(g.leave, leave)
	return dir, true
}

// version2 makes one group beside our own, where the kernel's rules and the system's delegation allow it.
func (g *group) version2(name string, l box.Limits) bool {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err != nil {
		return false
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return false
	}
	for _, parent := range parents2(ownCgroups(string(text))[""]) {
		if !delegates(parent) {
			continue
		}
		dir, err := os.MkdirTemp(parent, "cco-"+name+"-")
		if err != nil {
			continue
		}
		if g.enter2(dir, l) == nil {
			return true
		}
		removeCgroup(dir)
	}
	return false
}

// parents2 are the groups in which ours could be made: processes are allowed only in leaves, so it is a sibling of our
// own group or of one above it.
func parents2(own string) []string {
	var dirs []string
	for dir := filepath.Dir(filepath.Join("/", own)); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, filepath.Join(cgroupRoot, dir))
		if dir == "/" {
			return dirs
		}
	}
}

// delegates says whether a group passes both controllers on to its children.
func delegates(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	given := strings.Fields(string(text))
	return err == nil && slices.Contains(given, "memory") && slices.Contains(given, "pids")
}

func (g *group) enter2(dir string, l box.Limits) error {
	if err := errors.Join(writeLimit(dir, "memory.max", l.Memory),
		writeLimit(dir, "pids.max", int64(l.Procs))); err != nil {
		return err
	}
	_ = writeLimit(dir, "memory.swap.max", 0)
	// Starting in a group requires the right to move there from our own. We check this first, on a handle, so that a
	// refusal leads to the fallback and not to a failed run.
	if err := unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK); err != nil {
		return err
	}
	if err := mayMove(dir); err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	g.into, g.dirs = f, append(g.dirs, dir)
	g.memory, g.procs = byCgroup2, byCgroup2
	return nil
}

// mayMove checks the one rule that mkdir doesn't: the right to write to the nearest common ancestor of both groups.
func mayMove(dir string) error {
	return unix.Access(filepath.Join(filepath.Dir(dir), "cgroup.procs"), unix.W_OK)
}

func writeLimit(dir, file string, n int64) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatInt(n, 10))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("set %s: %w", file, err)
	}
	return nil
}

// removeCgroup removes an emptied group. The kernel takes a moment to notice that it is empty.
func removeCgroup(dir string) {
	for range 100 {
		if err := unix.Rmdir(dir); err != unix.EBUSY {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

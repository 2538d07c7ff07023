//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
)

// registry is the directory of a box's live inits: one locked file for each, that its init and its starter hold.
// A file that nobody holds is the trace of a crash.
type registry struct{ dir string }

// run is a registered init.
type run struct {
	Session string
	Pid     int    // 0 until it has started
	Start   string // in the kernel's ticks since boot: a pid is used again, a pid with its start isn't
	Cgroups []string

	file *os.File
	path string
}

const (
	gateFile    = "gate"    // locked shared by a start, alone by a stop
	stoppedFile = "stopped" // is there while nothing may start
	runSuffix   = ".run"
)

func (r registry) open() error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.dir, stoppedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (r registry) isOpen() (bool, error) {
	_, err := os.Lstat(filepath.Join(r.dir, stoppedFile))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Lstat(r.dir)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	return false, err
}

// sweep clears away the traces of runs whose starter was killed, and waits for nothing.
func (r registry) sweep(ctx context.Context) error {
	return r.each(ctx, func(run run) bool {
		start, err := startTime(run.Pid)
		return err != nil || start != run.Start
	})
}

// close lets nothing start any more and ends everything that runs.
func (r registry) close(ctx context.Context) error {
	if _, err := os.Lstat(r.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	gate, err := r.lockGate(unix.LOCK_EX)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(r.dir, stoppedFile), nil, 0o600)
	_ = gate.Close()
	if err != nil {
		return err
	}
	return r.each(ctx, func(run) bool { return true })
}

// end ends what runs for one session.
func (r registry) end(ctx context.Context, session string) error {
	return r.each(ctx, func(run run) bool { return run.Session == session })
}

func (r registry) lockGate(how int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(r.dir, gateFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, how); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}

// add registers a run that is about to start. Its file is locked before anyone can see it.
func (r registry) add(session string) (*run, error) {
	gate, err := r.lockGate(unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = gate.Close() }()
	if open, err := r.isOpen(); err != nil || !open {
		return nil, errors.Join(err, box.ErrNotRunning)
	}
	f, err := os.CreateTemp(r.dir, "new-")
	if err != nil {
		return nil, err
	}
	run := &run{Session: session, file: f, path: f.Name() + runSuffix}
	err = flock(f, unix.LOCK_EX)
	if err == nil {
		err = run.write()
	}
	if err == nil {
		err = os.Rename(f.Name(), run.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		_ = f.Close()
		return nil, err
	}
	return run, nil
}

// started notes the init's pid. It waits for its plan until then, so that no program runs unknown.
func (r *run) started(pid int, cgroups []string) error {
	start, err := startTime(pid)
	if err != nil {
		return err
	}
	r.Pid, r.Start, r.Cgroups = pid, start, cgroups
	return r.write()
}

func (r *run) write() error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = r.file.WriteAt(data, 0)
	return err
}

func (r *run) done() {
	_ = os.Remove(r.path)
	_ = r.file.Close()
}

// each ends the runs that match and returns when all of their processes are gone.
func (r registry) each(ctx context.Context, match func(run) bool) error {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), runSuffix) {
			continue
		}
		if err := kill(ctx, filepath.Join(r.dir, e.Name()), match); err != nil {
			return err
		}
	}
	return nil
}

// kill ends one run. The lock alone would not do: a dying init lets go of it a moment before its children are killed.
func kill(ctx context.Context, path string, match func(run) bool) error {
	for ctx.Err() == nil {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(f)
		if err != nil {
			_ = f.Close()
			return err
		}
		var run run
		parsed := json.Unmarshal(data, &run) == nil
		held := flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil
		_ = f.Close()
		if parsed && !match(run) {
			return nil
		}
		if parsed && run.Pid != 0 {
			if err := killInit(ctx, run.Pid, run.Start); err != nil {
				return err
			}
		}
		if !held {
			for _, dir := range run.Cgroups {
				removeCgroup(dir)
			}
			_ = os.Remove(path)
			return nil
		}
		// Its starter is about to note the pid, or to remove the file, or has died and takes the init with it.
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func pause(ctx context.Context) error {
	t := time.NewTimer(2 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// killInit kills a box's pid 1 and waits for its end, by which the kernel has ended all the others.
func killInit(ctx context.Context, pid int, start string) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer closeFD(fd)
	// The descriptor is of whoever has the pid now; this is our init only if it started when ours did.
	if now, err := startTime(pid); err != nil || now != start {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for process %d: %w", pid, err)
		}
		if n > 0 {
			return nil
		}
	}
	return ctx.Err()
}

func closeFD(fd int) { _ = unix.Close(fd) }

// startTime is when a process started, as the kernel tells it.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	// The name in parentheses may hold anything; what follows the last one is numbers.
	_, rest, ok := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", fmt.Errorf("read start time of process %d", pid)
	}
	return fields[19], nil
}

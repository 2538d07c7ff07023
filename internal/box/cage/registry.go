package cage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
)

// Registry is the directory of a box's live inits. Each has a locked file, held by the init and its starter. A file
// that nobody holds is the trace of a crash.
type Registry struct{ Dir string }

// run is a registered init.
type run struct {
	Session string
	Pid     int      // 0 until it has started
	Start   string   // when it started: pids are reused, pairs of pid and start are not
	Group   bool     `json:",omitempty"` // it is the leader of a process group, not an init
	Cgroups []string `json:",omitempty"`

	file *os.File
	path string
}

const (
	gateFile    = "gate"    // locked shared by a start, exclusively by a stop
	stoppedFile = "stopped" // exists while nothing may start
	runSuffix   = ".run"
)

// Open lets runs start.
func (r Registry) Open() error {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.Dir, stoppedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// IsOpen says whether runs may start.
func (r Registry) IsOpen() (bool, error) {
	_, err := os.Lstat(filepath.Join(r.Dir, stoppedFile))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Lstat(r.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	return false, err
}

// Sweep removes the traces of runs whose starter was killed. It does not wait.
func (r Registry) Sweep(ctx context.Context) error {
	return r.killMatching(ctx, func(run run) bool {
		start, err := startTime(run.Pid)
		return err != nil || start != run.Start
	})
}

// Close prevents further starts and ends everything that runs.
func (r Registry) Close(ctx context.Context) error {
	if _, err := os.Lstat(r.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	gate, err := r.lockGate(unix.LOCK_EX)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(r.Dir, stoppedFile), nil, 0o600)
	_ = gate.Close()
	if err != nil {
		return err
	}
	return r.killMatching(ctx, func(run) bool { return true })
}

// End ends all runs of one session.
func (r Registry) End(ctx context.Context, session string) error {
	if err := CheckKey("session", session); err != nil {
		return err
	}
	if err := r.killMatching(ctx, func(run run) bool { return run.Session == session }); err != nil {
		return fmt.Errorf("end session %s: %w", session, err)
	}
	return nil
}

func (r Registry) lockGate(how int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(r.Dir, gateFile), os.O_RDWR|os.O_CREATE, 0o600)
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
func (r Registry) add(session string) (*run, error) {
	gate, err := r.lockGate(unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = gate.Close() }()
	if open, err := r.IsOpen(); err != nil || !open {
		return nil, errors.Join(err, box.ErrNotRunning)
	}
	f, err := os.CreateTemp(r.Dir, "new-")
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

// started records the init's pid. The init waits for its plan until then, so that no program runs unregistered.
func (r *run) started(pid int, cgroups []string) error {
	start, err := startTime(pid)
	if err != nil {
		return err
	}
	r.Pid, r.Start, r.Cgroups = pid, start, cgroups
	return r.write()
}

// end ends what the run has left, and removes the registration.
func (r *run) end(ctx context.Context) error {
	defer r.done()
	if r.Pid == 0 {
		return nil
	}
	return r.kill(ctx)
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

// killMatching ends the runs that match and returns when all of their processes are gone.
func (r Registry) killMatching(ctx context.Context, match func(run) bool) error {
	entries, err := os.ReadDir(r.Dir)
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
		if err := kill(ctx, filepath.Join(r.Dir, e.Name()), match); err != nil {
			return err
		}
	}
	return nil
}

// kill ends one run. Waiting for the lock is not enough: a dying init releases it just before its children are killed.
func kill(ctx context.Context, path string, match func(run) bool) error {
	for ctx.Err() == nil {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		// What nobody holds no longer changes: a starter may record the pid and die between two looks.
		held := flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil
		data, err := io.ReadAll(f)
		if err != nil {
			_ = f.Close()
			return err
		}
		var run run
		parsed := json.Unmarshal(data, &run) == nil
		_ = f.Close()
		if parsed && !match(run) {
			return nil
		}
		if parsed && run.Pid != 0 {
			if err := run.kill(ctx); err != nil {
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
		// Its starter will soon record the pid or remove the file, or has died and takes the init with it.
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (r *run) kill(ctx context.Context) error {
	if r.Group {
		return killGroup(ctx, r.Pid, r.Start)
	}
	return killInit(ctx, r.Pid, r.Start)
}

// killGroup kills a process group and waits until it is empty. Its leader may be dead already: while other members
// live, no new process gets its number. If a process with that number started at another time, the group is gone.
func killGroup(ctx context.Context, pid int, start string) error {
	for ctx.Err() == nil {
		if now, err := startTime(pid); err == nil && now != start {
			return nil
		}
		if err := unix.Kill(-pid, unix.SIGKILL); err == unix.ESRCH {
			return nil
		} else if err != nil {
			return fmt.Errorf("kill process group %d: %w", pid, err)
		}
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

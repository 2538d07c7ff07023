// Package proc starts programs: argv only, each in its own process group, which is killed as a whole when its context
// ends. It is the only importer of os/exec.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Cmd describes a program to start: Path, or Argv[0] looked up on PATH unless it has a slash.
type Cmd struct {
	Argv   []string
	Path   string // the file to run, if it isn't Argv[0]
	Dir    string
	Env    []string // the whole environment; nil inherits ours
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Files  []*os.File // descriptors 3, 4, … of the program

	// Attr changes the process attributes before the start (namespaces, credentials, a terminal).
	Attr func(*syscall.SysProcAttr)
	// Grace is how long the group has between SIGTERM and SIGKILL when the context ends. Zero kills at once.
	Grace time.Duration
	// TiedToUs kills the program when this process dies, however it dies (Linux; elsewhere it is ignored).
	TiedToUs bool
	// Started is called with the program's pid before anybody waits for the program: until it returns the pid is the
	// program's own, even if the program has ended.
	Started func(pid int)
}

// ExitError says that a program ran and did not succeed.
type ExitError struct {
	Argv   []string
	Code   int            // the exit status, or 128 + signal
	Signal syscall.Signal // 0 unless a signal ended it
	Stderr string         // the end of its standard error, if nobody else received it
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != 0 {
		how = "killed by " + e.Signal.String()
	}
	name := strings.Join(e.Argv[:min(2, len(e.Argv))], " ")
	if words := strings.TrimSpace(e.Stderr); words != "" {
		return fmt.Sprintf("%s: %s: %s", name, how, words)
	}
	return name + ": " + how
}

// Process is a started program.
type Process struct {
	ctx   context.Context
	argv  []string
	cmd   *exec.Cmd
	tail  *Tail
	done  chan struct{}
	err   error
	grace time.Duration
}

// Start starts the program. When ctx ends, the whole process group is killed.
func Start(ctx context.Context, c Cmd) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &Process{ctx: ctx, argv: c.Argv, done: make(chan struct{}), grace: c.Grace}
	p.cmd = prepare(c)
	if c.Stderr == nil {
		p.tail = &Tail{Max: 4096}
		p.cmd.Stderr = p.tail
	}
	started := make(chan error, 1)
	go p.run(c, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	go p.killOnCancel(ctx)
	return p, nil
}

func prepare(c Cmd) *exec.Cmd {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // cancellation kills the group, see killOnCancel
	if c.Path != "" {
		cmd.Path, cmd.Err = c.Path, nil
	}
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.ExtraFiles = c.Files
	// A grandchild that keeps our pipe open must not hold up Wait for ever. A busy machine may need seconds to pass on
	// what was written, and a git that did all it had to must not fail there.
	cmd.WaitDelay = 15 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.TiedToUs {
		tie(cmd.SysProcAttr)
	}
	if c.Attr != nil {
		c.Attr(cmd.SysProcAttr)
	}
	return cmd
}

// run stays on one thread for a tied program: the kernel sends the death signal when the thread that forked ends.
func (p *Process) run(c Cmd, started chan<- error) {
	if c.TiedToUs {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	err := p.cmd.Start()
	if err == nil && c.Started != nil {
		c.Started(p.cmd.Process.Pid)
	}
	started <- err
	if err != nil {
		close(p.done)
		return
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *Process) killOnCancel(ctx context.Context) {
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	if p.grace > 0 {
		_ = p.Signal(syscall.SIGTERM)
		t := time.NewTimer(p.grace)
		defer t.Stop()
		select {
		case <-p.done:
			return
		case <-t.C:
		}
	}
	_ = p.Signal(syscall.SIGKILL)
}

// Pid is the program's process id, which is also its process group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends sig to the whole process group.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
		return syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// Wait waits for the end. If the program did not succeed, the error is an *ExitError, or that of the context if this
// has ended it.
func (p *Process) Wait() error {
	<-p.done
	if p.err != nil && p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return p.err
	}
	e := &ExitError{Argv: p.argv, Code: exit.ExitCode()}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal, e.Code = ws.Signal(), 128+int(ws.Signal())
	}
	if p.tail != nil {
		e.Stderr = p.tail.String()
	}
	return e
}

// Run starts the program and waits.
func Run(ctx context.Context, c Cmd) error {
	p, err := Start(ctx, c)
	if err != nil {
		return err
	}
	return p.Wait()
}

// Output runs the program and returns its standard output, whatever Stdout says.
func Output(ctx context.Context, c Cmd) ([]byte, error) {
	var out bytes.Buffer
	c.Stdout = &out
	err := Run(ctx, c)
	return out.Bytes(), err
}

// Detach starts a program in a session of its own that outlives us, and does not wait for it.
func Detach(c Cmd) (pid int, err error) {
	attr := c.Attr
	c.Attr = func(a *syscall.SysProcAttr) {
		a.Setpgid, a.Setsid = false, true
		if attr != nil {
			attr(a)
		}
	}
	cmd := prepare(c)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	pid = cmd.Process.Pid
	// It is reaped if we live long enough to see its end; otherwise pid 1 adopts it.
	go func() { _ = cmd.Wait() }()
	return pid, nil
}

// ErrNotFound says that a program is not on PATH.
var ErrNotFound = exec.ErrNotFound

// LookPath finds a program on PATH.
func LookPath(name string) (string, error) { return exec.LookPath(name) }

// Code returns the exit status for an error from Wait or Run: 0 for nil, -1 if the program never ran.
func Code(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	return -1
}

// ShellWord makes one word of shell, plain where it can be.
func ShellWord(s string) string {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@%:=,", r)
	}
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Tail keeps the last Max bytes written to it.
type Tail struct {
	Max int
	buf []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.Max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *Tail) String() string { return string(t.buf) }

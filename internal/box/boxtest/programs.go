package boxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

func exitCodes(s *suite) {
	place := s.session(one)
	for _, code := range []int{0, 1, 2, 42, 127, 130, 255} {
		_, _, err := s.run(sh(one, fmt.Sprintf("exit %d", code)))
		wantCode(s.T, err, code)
	}
	_, _, err := s.run(box.Exec{Session: one, Argv: []string{"no-such-program"}})
	wantCode(s.T, err, 127)
	s.out(sh(one, `echo text > plain`))
	_, _, err = s.run(box.Exec{Session: one, Argv: []string{place.Workspace + "/plain"}})
	wantCode(s.T, err, 126)
	if err := s.Driver.Run(s.ctx, s.box, box.Exec{Session: one}); err == nil {
		s.Error("no program at all was run")
	}
	// If nobody takes stderr, the error explains the failure with it.
	err = s.Driver.Run(s.ctx, s.box, sh(one, `echo reason >&2; exit 3`))
	if err == nil || !strings.Contains(err.Error(), "reason") {
		s.Errorf("the error is %v", err)
	}
}

func signals(s *suite) {
	place := s.session(one)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSEGV} {
		_, _, err := s.run(sh(one, fmt.Sprintf(`kill -%d $$`, sig)))
		exit, ok := errors.AsType[*proc.ExitError](err)
		if !ok || exit.Signal != sig || exit.Code != 128+int(sig) {
			s.Errorf("after signal %d: %v", sig, err)
		}
	}
	// A signal from outside reaches the program, which ignores none from the start.
	send := make(chan syscall.Signal)
	e := sh(one, `trap 'echo int; exit 5' INT; trap 'echo usr1' USR1; touch "$1"; while :; do sleep 0.01; done`,
		place.Exchange+"/ready")
	e.Signals = send
	var out bytes.Buffer
	e.Stdout = &out
	wait := s.start(s.ctx, e, s.host(one, "ready"))
	send <- syscall.SIGUSR1
	send <- syscall.SIGINT
	wantCode(s.T, wait(), 5)
	if got := out.String(); !strings.HasSuffix(got, "int\n") {
		s.Errorf("the program said %q", got)
	}
}

func streams(s *suite) {
	s.session(one)
	e := sh(one, `cat; echo err >&2; echo out`)
	e.Stdin = strings.NewReader("in\n")
	stdout, stderr, err := s.run(e)
	s.must(err)
	wantText(s.T, stdout, "in\nout")
	wantText(s.T, stderr, "err")

	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<17)
	var got bytes.Buffer
	s.must(s.Driver.Run(s.ctx, s.box, box.Exec{Session: one, Argv: []string{"cat"}, Stdin: bytes.NewReader(big),
		Stdout: &got}))
	if !bytes.Equal(got.Bytes(), big) {
		s.Errorf("of %d bytes %d came back, or others", len(big), got.Len())
	}
	wantText(s.T, s.out(sh(one, `cat; echo empty`)), "empty")
	// A file of the host used as a stream is only a stream.
	file, err := os.CreateTemp(s.TempDir(), "")
	s.must(err)
	defer func() { _ = file.Close() }()
	e = sh(one, `echo to a file; echo again > /dev/stdout`)
	e.Stdout = file
	s.must(s.Driver.Run(s.ctx, s.box, e))
	text, err := os.ReadFile(file.Name())
	s.must(err)
	wantText(s.T, string(text), "to a file\nagain")
}

// endlessStdin guards against a Run that waits for its reader: a terminal never ends by itself.
func endlessStdin(s *suite) {
	s.session(one)
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	e := sh(one, `head -n 1; exit 4`)
	e.Stdin = r
	go func() { _, _ = w.Write([]byte("line\n")) }()
	_, _, err := s.run(e)
	wantCode(s.T, err, 4)
}

func argv(s *suite) {
	s.session(one)
	args := []string{
		"", " ", "two words", `"double"`, `'single'`, `$(touch pwned)`, "`id`", `$HOME`, `\`, "a\nb", "a\tb", "*", "~", "-n",
		"--", ";", "&",
		"|", "é–日本語", "\U0001f600", "\xff\xfe", "!!", "%s%n", strings.Repeat("x", 100_000),
	}
	got := s.out(box.Exec{Session: one, Argv: append([]string{"printf", `%s\0`}, args...)})
	if want := strings.Join(args, "\x00") + "\x00"; got != want {
		s.Errorf("the arguments changed: %.300q", got)
	}
}

func environment(s *suite) {
	place := s.session(one)
	e := sh(one, `printf '%s|%s|%s|%s' "$CCO_SESSION" "$HOME" "$ODD" "$BOX"`)
	e.Env = []string{"ODD= a \"b\" $(c)\nd=é ", "BOX=from exec"}
	s.box.Spec.Env = []string{"BOX=from box"}
	want := one + "|" + place.Home + "| a \"b\" $(c)\nd=é |from exec"
	if got := s.out(e); got != want {
		s.Errorf("got %q, want %q", got, want)
	}
	wantText(s.T, s.out(sh(one, `echo "$BOX"; echo "$USER" | wc -l; command -v sh > /dev/null && echo path`)),
		"from box\n1\npath")
}

func hostEnvironment(s *suite) {
	s.session(one)
	allowed := map[string]bool{"PWD": true, "SHLVL": true, "_": true, "OLDPWD": true}
	for _, name := range strings.Fields("HOME USER LOGNAME PATH LANG TERM SHELL TMPDIR IS_SANDBOX CCO_SESSION") {
		allowed[name] = true
	}
	for line := range strings.Lines(s.out(sh(one, `env`))) {
		if name, _, ok := strings.Cut(line, "="); !ok || !allowed[name] {
			s.Errorf("the environment has %q", line)
		}
	}
}

func directory(s *suite) {
	place := s.session(one)
	wantText(s.T, s.out(sh(one, `pwd -P`)), s.real(place.Workspace))
	s.out(sh(one, `mkdir -p 'sub dir'`))
	e := sh(one, `basename "$PWD"`)
	e.Dir = place.Workspace + "/sub dir"
	wantText(s.T, s.out(e), "sub dir")
	e.Dir = place.Workspace + "/none"
	if _, _, err := s.run(e); err == nil {
		s.Error("it ran in a directory that isn't there")
	}
	s.out(sh("", `pwd`))
}

// real resolves links in a path on the host: a worktree box's directories may be behind links.
func (s *suite) real(dir string) string {
	if resolved, err := os.Readlink(dir); err == nil {
		return resolved
	}
	return dir
}

// onTerminal runs a program on a pty and returns what appeared on it.
func (s *suite) onTerminal(e box.Exec, use func(terminal *os.File)) (string, error) {
	master, slave, err := pty.Open()
	s.must(err)
	defer func() { _ = master.Close() }()
	s.must(pty.Setsize(master, &pty.Winsize{Rows: 33, Cols: 101}))
	e.TTY = slave
	var shown bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&shown, master) })
	done := make(chan error, 1)
	go func() {
		err := s.Driver.Run(s.ctx, s.box, e)
		_ = slave.Close()
		done <- err
	}()
	if use != nil {
		use(master)
	}
	err = <-done
	reading.Wait()
	return strings.ReplaceAll(shown.String(), "\r\n", "\n"), err
}

func terminal(s *suite) {
	s.session(one)
	shown, err := s.onTerminal(sh(one, `test -t 0 && test -t 1 && test -t 2 && stty size && echo ctty > /dev/tty && `+
		`echo err > /dev/stderr && exit 6`), nil)
	wantCode(s.T, err, 6)
	wantText(s.T, shown, "33 101\nctty\nerr")
	// Without one there must be no terminal.
	_, _, err = s.run(sh(one, `test -t 0 || test -t 1 || test -t 2 || ( : > /dev/tty ) 2> /dev/null`))
	if err == nil {
		s.Error("the host's terminal is within reach")
	}
}

// pseudoterminal makes a pty inside, as script, tmux and agents do for their programs, both without a terminal around
// it and on one.
func pseudoterminal(s *suite) {
	place := s.session(one)
	e := box.Exec{Session: one, Argv: []string{place.Tool, "probe", "pty"}}
	wantText(s.T, s.out(e), "a terminal\nwords and back")
	shown, err := s.onTerminal(e, nil)
	s.must(err)
	wantText(s.T, shown, "a terminal\nwords and back")
	e.Session, e.Dir = "", "/"
	wantText(s.T, s.out(e), "a terminal\nwords and back")
}

func ctrlC(s *suite) {
	place := s.session(one)
	ready := s.host(one, "ready")
	shown, err := s.onTerminal(sh(one, `trap 'echo caught; exit 9' INT; touch "$1"; while :; do sleep 0.01; done`,
		place.Exchange+"/ready"), func(terminal *os.File) {
		s.await(func() bool { _, err := os.Stat(ready); return err == nil })
		_, err := terminal.Write([]byte{3})
		s.must(err)
	})
	wantCode(s.T, err, 9)
	if !strings.Contains(shown, "caught") {
		s.Errorf("the terminal shows %q", shown)
	}
}

// together runs many programs at once: each must see its own files and nothing else.
func together(s *suite) {
	const many = 20
	var running sync.WaitGroup
	for i := range many {
		id := nth(i)
		place := s.session(id)
		running.Go(func() {
			e := sh(id, `echo "$1" > mine && cat > in && ls > "$2/list" && cat mine in`, id, place.Exchange)
			e.Stdin = strings.NewReader("input of " + id)
			stdout, stderr, err := s.run(e)
			if err != nil || stdout != id+"\ninput of "+id {
				s.Errorf("session %s: %v, %q, %q", id, err, stdout, stderr)
			}
		})
	}
	running.Wait()
	for i := range many {
		list, err := os.ReadFile(s.host(nth(i), "list"))
		s.must(err)
		if n := strings.Count(string(list), "mine"); n != 1 {
			s.Errorf("session %s: workspace holds %q", nth(i), list)
		}
	}
}

func cancel(s *suite) {
	place := s.session(one)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	file := s.host(one, "beat")
	e := sh(one, `trap : TERM INT HUP; ( trap : TERM INT HUP; `+heart+` ) & while :; do sleep 1; done`,
		place.Exchange+"/beat")
	wait := s.start(ctx, e, file)
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		s.Errorf("a cancelled run ended with %v", err)
	}
	s.wantStopped(file)
}

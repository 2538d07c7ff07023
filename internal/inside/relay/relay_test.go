package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/socket"
)

// patience is how long anything may take that should happen soon. Only failures take that long.
const patience = 60 * time.Second

// This program is also cco-box, and the programs that run behind the relay.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "relay":
			os.Exit(Main(os.Args[2:]))
		case "ask":
			os.Exit(ask(os.Args[2], os.Args[3]))
		case "reap":
			_, err := syscall.Wait4(-1, nil, 0, nil)
			_, _ = fmt.Fprintln(os.Stdout, err)
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// ask sends a text through the relay and prints the answer.
func ask(address, text string) int {
	c, err := net.Dial("tcp", address)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		return 1
	}
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(c)
	_, _ = fmt.Fprintf(os.Stdout, "%s %v\n", answer, err)
	return 0
}

// door reads each connection to its end and answers with the same text in upper case.
func door(t *testing.T, path string) {
	serveWith(t, path, func(c *net.UnixConn) {
		text, err := io.ReadAll(c)
		if err == nil {
			_, _ = c.Write(bytes.ToUpper(text))
		}
	})
}

func serveWith(t *testing.T, path string, answer func(*net.UnixConn)) {
	t.Helper()
	l := must.Get(socket.Listen(path))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				answer(c)
			}()
		}
	}()
}

func relayed(t *testing.T, socket string, argv ...string) proc.Cmd {
	t.Helper()
	self := must.Get(os.Executable())(t)
	for i, a := range argv {
		argv[i] = strings.ReplaceAll(a, "SELF", self)
	}
	return proc.Cmd{Argv: append([]string{self, "relay", socket, "--"}, argv...)}
}

func TestProgramsFindTheDoor(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "door.sock")
	door(t, socket)
	c := relayed(t, socket, "sh", "-c", `SELF ask "$0" argv; SELF ask "${ADDRESS#http://}" env; exit 7`, Mark)
	c.Env = append(os.Environ(), "ADDRESS=http://"+Mark)
	out, err := proc.Output(t.Context(), c)
	if proc.Code(err) != 7 || string(out) != "ARGV <nil>\nENV <nil>\n" {
		t.Errorf("%v: %q", err, out)
	}
}

func TestPathsMayBeLong(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	must.Do(t, os.MkdirAll(dir, 0o700))
	socket := filepath.Join(dir, "door.sock")
	door(t, socket)
	out, err := proc.Output(t.Context(), relayed(t, socket, "SELF", "ask", Mark, "far"))
	if err != nil || string(out) != "FAR <nil>\n" {
		t.Errorf("%v: %q", err, out)
	}
}

func TestStatusIsTheProgramsOwn(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]proc.ExitError{
		"exit 3":        {Code: 3},
		"kill -TERM $$": {Code: 128 + 15, Signal: syscall.SIGTERM},
		"kill -KILL $$": {Code: 128 + 9, Signal: syscall.SIGKILL},
	} {
		err := proc.Run(t.Context(), relayed(t, "none", "sh", "-c", script))
		exit, ok := errors.AsType[*proc.ExitError](err)
		if !ok || exit.Code != want.Code || exit.Signal != want.Signal {
			t.Errorf("%s: %v", script, err)
		}
	}
	if err := proc.Run(t.Context(), relayed(t, "none", "true")); err != nil {
		t.Error(err)
	}
}

func TestWhatCantBeRunSaysSo(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	must.Do(t, os.WriteFile(plain, nil, 0o644))
	for argv0, code := range map[string]int{"no-such-program": notFound, "/no/such/program": notFound, plain: cantRun} {
		err := proc.Run(t.Context(), relayed(t, "none", argv0))
		if proc.Code(err) != code || !strings.Contains(err.Error(), argv0) {
			t.Errorf("%s: %v", argv0, err)
		}
	}
	for _, args := range [][]string{{}, {"socket"}, {"socket", "--"}, {"socket", "true", "x"}} {
		if code := Main(args); code != 2 {
			t.Errorf("%q: %d", args, code)
		}
	}
}

// Guards against a relay that ends at a key meant for the program, or takes the terminal from it.
func TestKeysAreTheProgramsBusiness(t *testing.T) {
	t.Parallel()
	// Below nohup a shell can't trap the signal: our children don't ignore a signal that we catch here.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	socket := filepath.Join(t.TempDir(), "door.sock")
	door(t, socket)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	c := relayed(t, socket, "sh", "-c", `n=0; trap 'n=$((n+1))' INT; trap 'n=$((n+10))' QUIT; trap 'n=$((n+100))' HUP
		echo ready; until [ $n -ge 11 ]; do sleep 0.05; done
		until [ $n -ge 100 ]; do kill -HUP 0; sleep 0.05; done
		SELF ask "$0" after; read line; echo "n $((n % 100)) line $line"`, Mark)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.Attr = func(a *syscall.SysProcAttr) {
		a.Setpgid, a.Setsid = false, true
		a.Setctty, a.Ctty = true, 0
	}
	p := must.Get(proc.Start(t.Context(), c))(t)
	_ = slave.Close()
	screen := &screen{}
	go func() { _, _ = io.Copy(screen, master) }()
	screen.await(t, "ready")
	for _, key := range []string{"\x03", "\x1c"} {
		_, _ = io.WriteString(master, key)
	}
	screen.await(t, "AFTER <nil>")
	_, _ = io.WriteString(master, "typed\n")
	screen.await(t, "n 11 line typed")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// Guards against a helper that outlives its program: it would keep the port, and in a box without isolation it would
// live on.
func TestHelperEndsWithTheProgram(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "door.sock")
	door(t, socket)
	out := must.Get(proc.Output(t.Context(), relayed(t, socket, "sh", "-c", `SELF ask "$0" x >&2; echo "$0"`, Mark)))(t)
	address := strings.TrimSpace(string(out))
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		_ = c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the port is still open")
		}
	}
}

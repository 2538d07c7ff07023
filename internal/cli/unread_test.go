package cli_test

import (
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/cco-dev/cco/internal/must"
)

// pastes puts more into the terminal than the kernel keeps for a program that doesn't read.
func (d *desk) pastes(size int) {
	d.t.Helper()
	d.write("paste", strings.Repeat("0123456789", size/10+1)[:size])
	d.tmux("load-buffer", filepath.Join(d.dir, "paste"))
	d.tmux("paste-buffer")
}

// Guards against a program that never reads its terminal: nobody could leave it, and neither kill nor a limit could end
// it.
func TestAProgramThatNeverReadsCanBeLeftAndEnded(t *testing.T) {
	d := newDesk(t, map[string]string{
		"sleeping.md": foreground + "echo READY\nsleep 1000",
		"asking.md":   foreground + "echo READY\nwhile :; do printf '\\033[c\\033[6n%.0s' $(seq 100); sleep 0.02; done",
	})
	for name, way := range map[string]struct {
		flags, words string
		leave        func()
	}{
		"detached": {"", "goes on; come back with", func() { d.presses("\x1d") }},
		"double":   {"", "killed (by the user)", func() { d.pressesTwice("\x03", "\x03") }},
		"timeout":  {" --timeout 8s", "failed (timed out", func() {}},
	} {
		for _, plan := range []string{"sleeping.md", "asking.md"} {
			t.Run(name+"-"+plan, func(t *testing.T) {
				d.t = t
				d.clear()
				d.types("cco box push " + plan + " --agent script" + way.flags)
				d.await("the agent", d.shows("READY"))
				d.pastes(1_000_000)
				way.leave()
				d.await("its last words", d.shows(way.words))
				d.await("a prompt", d.atPrompt)
				if id, state := d.newest(); state == "running" {
					d.types("cco box kill " + id)
					d.await("its end", func() bool { _, state := d.newest(); return state == "killed" })
				}
				d.clear()
				d.stillWorks()
			})
		}
	}
}

// Guards against a shell that never comes back, and leaves the terminal raw, when its program has not read what was
// typed.
func TestAShellEndsThoughItsProgramNeverReads(t *testing.T) {
	d := newDesk(t, nil)
	for name, until := range map[string]string{"ended": "3", "terminated": "1000"} {
		t.Run(name, func(t *testing.T) {
			d.t = t
			master, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = master.Close() }()
			defer func() { _ = slave.Close() }()
			before := must.Get(term.GetState(int(slave.Fd())))(t)
			c := d.command("cco", "box", "shell", "--", "sh", "-c", "stty raw -echo; echo started; sleep "+until+"; echo ended")
			c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
			must.Do(t, c.Start())
			gone := make(chan struct{})
			go func() { defer close(gone); _ = c.Wait() }()
			defer func() { _ = c.Process.Kill() }()
			shown := &screenText{}
			go shown.read(master)
			d.await("its start", func() bool { return shown.has("started") })
			must.Get(master.WriteString(strings.Repeat("x", 19_001)))(t)
			if name == "terminated" {
				_ = c.Process.Signal(syscall.SIGTERM)
			}
			d.await("its end", func() bool {
				select {
				case <-gone:
					return true
				default:
					return false
				}
			})
			if after, err := term.GetState(int(slave.Fd())); err != nil || !reflect.DeepEqual(after, before) {
				t.Errorf("the terminal was %v and is %v (%v)", before, after, err)
			}
		})
	}
}

// screenText is what a terminal was sent.
type screenText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screenText) read(from io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		s.mu.Lock()
		s.text.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screenText) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

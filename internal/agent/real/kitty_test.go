//go:build heavy

package real

import (
	"context"
	"os"
	"os/exec" // the program under test, on a terminal
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/proc"
)

// kitty is a terminal that answers as kitty does.
type kitty struct {
	*os.File
	cmd *exec.Cmd
	mu  sync.Mutex
	all []byte
}

// answers are kitty's, to the questions that agents ask it.
var answers = map[string]string{
	"\x1b[?u": "\x1b[?0u", "\x1b[c": "\x1b[?62;c", "\x1b[>q": "\x1bP>|kitty(0.40.0)\x1b\\",
	"\x1b[>0q":    "\x1bP>|kitty(0.40.0)\x1b\\",
	"\x1b]11;?\a": "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b]11;?\x1b\\": "\x1b]11;rgb:0000/0000/0000\x1b\\",
	"\x1b[6n": "\x1b[1;1R",
}

func (w *work) onKitty(args ...string) *kitty {
	w.t.Helper()
	k := &kitty{cmd: exec.Command(filepath.Join(w.bin, "cco"), args...)} //nolint:forbidigo // on a terminal
	k.cmd.Dir, k.cmd.Env = w.repo, append(append(append([]string(nil), w.stage.env...), w.env...), "TERM=xterm-kitty",
		"TERM_PROGRAM=kitty", "KITTY_WINDOW_ID=1")
	var err error
	if k.File, err = pty.StartWithSize(k.cmd, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		buf, terminal := make([]byte, 32<<10), agenttest.Terminal{Answers: answers}
		for {
			n, err := k.Read(buf)
			k.mu.Lock()
			k.all = append(k.all, buf[:n]...)
			k.mu.Unlock()
			_, _ = k.WriteString(terminal.Hear(buf[:n]))
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() { _ = k.Close() })
	return k
}

func (k *kitty) shown() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.all)
}

var (
	pushed = regexp.MustCompile(`\x1b\[>[0-9]*u`)
	popped = regexp.MustCompile(`\x1b\[<[0-9]*u`)
)

// The real CLI switches kitty's keyboard protocol on. Its keys are seen, the terminal is given back, and logs are text.
func TestClaudeOnATerminalWithKittysKeyboard(t *testing.T) {
	w := newWork(t, "claude", agenttest.Shell("tail -f /dev/null"))
	k := w.onKitty("box", "push", "plan.md", "--agent", "claude")
	w.waitFor("claude at work", func() bool { return w.model.Turns() > 0 && pushed.MatchString(k.shown()) })
	id := w.newestID()
	_, _ = k.WriteString("\x1b[93;5u\x1b[93;5:3u")
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("leaving: %v\n%q", err, k.shown())
	}
	w.waitFor("the last words", func() bool { return strings.Contains(k.shown(), "goes on; come back with") })
	all := k.shown()
	if n, m := len(pushed.FindAllString(all, -1)), len(popped.FindAllString(all, -1)); m == 0 || n == 0 {
		t.Errorf("%d times on the keyboard's stack, %d times off it", n, m)
	}
	if s := w.session(id); s.State != "running" {
		t.Fatalf("session %+v", s)
	}
	out := ""
	w.waitFor("its task in the logs", func() bool { // it asks its model before it shows what it was told
		out = w.run(0, "--quiet", "box", "logs", id)
		return strings.Contains(out, "executing-plans-in-sandbox plan.md")
	})
	if strings.Contains(out, "\x1b") {
		t.Errorf("logs:\n%q", out)
	}
	k = w.onKitty("box", "attach", id)
	w.waitFor("claude's screen", func() bool { return strings.Contains(k.shown(), "tail -f /dev/null") })
	_, _ = k.WriteString("\x1b[99;5u\x1b[99;5:3u\x1b[99;5u\x1b[99;5:3u")
	if code := exitCode(k.cmd.Wait()); code != 130 {
		t.Errorf("killed with %d\n%q", code, k.shown())
	}
	if s := w.session(id); s.State != "killed" {
		t.Errorf("session %+v", s)
	}
}

func exitCode(err error) int {
	if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // exec gives it bare
		return e.ExitCode()
	}
	return proc.Code(err)
}

// newestID is the session that was begun last.
func (w *work) newestID() string {
	w.t.Helper()
	out, err := w.cco(context.Background(), w.repo, w.env, "box", "sessions")
	m := regexp.MustCompile(`(?m)^([0-9a-f]{8}) `).FindStringSubmatch(out)
	if err != nil || m == nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	return m[1]
}

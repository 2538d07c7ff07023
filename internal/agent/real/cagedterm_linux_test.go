//go:build heavy

package real

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/vt"
)

// task is what a person types.
const task = "Do what the script says."

// press is what a person does who sees something on the screen.
type press struct {
	sees *regexp.Regexp
	keys string
}

// seat is how a person begins with an agent, and by which word the agent is left. What comes first counts.
type seat struct {
	begin []press
	leave string
}

var seats = map[string]seat{
	"claude": {[]press{sees(`❯ No, exit\s+Yes, I trust`, "\x1b[B"), sees(`❯ Yes, I trust`, "\r"), typed,
		sees(`(?m)^❯[\s\x{a0}]*$`, task)}, "/exit"},
	"codex":    {[]press{sees(`› 1\. Trust and continue`, "\r"), typed, sees(`Ask Codex to do anything`, task)}, "/quit"},
	"gemini":   {[]press{typed, sees(`Type your message`, task)}, "/quit"},
	"opencode": {[]press{typed, sees(`Ask anything`, task)}, "/exit"},
}

var typed = sees(regexp.QuoteMeta(task), "\r")

func sees(pattern, keys string) press { return press{regexp.MustCompile(pattern), keys} }

// headless are the words by which agents are started without a person.
var headless = []string{"exec", "--json", "--skip-git-repo-check", "-p", "--output-format", "stream-json", "--verbose",
	"run", "--format", "json"}

// The real CLIs work in a cage on the user's terminal: they ask what they ask everybody, are told what to do and to
// leave, their commit comes over, and the terminal is given back as it was.
func TestAgentsOnATerminalInACage(t *testing.T) {
	each(t, append(agents, slow), func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Say("The lamp is lit."))
		argv := w.atHome()
		argv = slices.DeleteFunc(argv[:len(argv)-1], func(arg string) bool { return slices.Contains(headless, arg) })
		p := w.sitDown(append([]string{"guard", "run", "--"}, argv...)...)
		seat := seats[agent]
		p.until("the task", seat.begin, func() bool { return w.model.Turns() > 0 })
		p.until("the answer", nil, func() bool { return strings.Contains(p.shown(), "The lamp is lit.") })
		p.until("the end", []press{sees(seat.leave, "\r"), sees(``, seat.leave)}, p.over)
		if code := proc.Code(p.Wait()); code != 0 {
			t.Errorf("it ended with %d", code)
		}
		p.isRestored()
		w.pulled("hello.txt", "hello")
		if text := must.Get(os.ReadFile(filepath.Join(w.repo, "hello.txt")))(t); string(text) != "hello\n" {
			t.Errorf("hello.txt holds %q", text)
		}
	})
}

// person sits at a terminal with cco on it.
type person struct {
	*proc.Process
	w        *work
	terminal *os.File
	was      *unix.Termios
	read     chan struct{} // closed when everything is on the screen

	mu     sync.Mutex
	screen *vt.Screen
	all    strings.Builder
}

func (w *work) sitDown(args ...string) *person {
	w.t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	must.Do(w.t, pty.Setsize(master, &pty.Winsize{Cols: 120, Rows: 40}))
	p := &person{w: w, terminal: master, screen: vt.NewScreen(120, 40, 0, nil), read: make(chan struct{})}
	p.was = must.Get(unix.IoctlGetTermios(int(master.Fd()), unix.TCGETS))(w.t)
	ctx, cancel := context.WithTimeout(w.t.Context(), 6*time.Minute)
	p.Process, err = proc.Start(ctx, proc.Cmd{Argv: append([]string{filepath.Join(w.bin, "cco")}, args...), Dir: w.repo,
		Env:   append(append(append([]string(nil), w.stage.env...), w.env...), "TERM=xterm-256color"),
		Stdin: slave, Stdout: slave, Stderr: slave, Attr: func(a *syscall.SysProcAttr) {
			a.Setpgid, a.Setsid, a.Setctty = false, true, true
		}})
	must.Do(w.t, slave.Close())
	if err != nil {
		w.t.Fatal(err)
	}
	go p.watch()
	w.t.Cleanup(func() {
		cancel()
		<-p.Done()
		_ = master.Close()
	})
	return p
}

func (p *person) watch() {
	defer close(p.read)
	terminal := agenttest.Xterm()
	for buf := make([]byte, 4096); ; {
		n, err := p.terminal.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		_, _ = p.screen.Write(buf[:n])
		p.all.Write(buf[:n])
		p.mu.Unlock()
		_, _ = p.terminal.WriteString(terminal.Hear(buf[:n]))
	}
}

func (p *person) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.screen.Lines(), "\n")
}

func (p *person) over() bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// until presses keys until something is so, as fast as a person: agents take for a paste what comes faster, and a
// return in it for a new line. A CLI that is busy shows late what was pressed, or misses it: the same is not pressed
// again soon.
func (p *person) until(what string, presses []press, so func() bool) {
	p.w.t.Helper()
	last, each := time.Time{}, make([]time.Time, len(presses))
	for deadline := time.Now().Add(5 * time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
		if p.over() || time.Now().After(deadline) {
			p.w.t.Fatalf("%s never came; the screen:\n%s\n%s", what, p.shown(), p.w.model.Summary())
		}
		shown := p.shown()
		i := slices.IndexFunc(presses, func(one press) bool { return one.sees.MatchString(shown) })
		if i < 0 || time.Since(last) < 500*time.Millisecond || time.Since(each[i]) < 15*time.Second {
			continue
		}
		last, each[i] = time.Now(), time.Now()
		_, _ = p.terminal.WriteString(presses[i].keys)
	}
}

var (
	privateMode  = regexp.MustCompile(`\x1b\[\?([0-9;]+)([hl])`)
	modesAtFirst = map[string]bool{"7": true, "8": true, "12": true, "25": true} // those that a terminal begins with
)

// isRestored checks that the terminal is as it was: its discipline, its modes and its keyboard.
func (p *person) isRestored() {
	p.w.t.Helper()
	<-p.read
	if is := must.Get(unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS))(p.w.t); *is != *p.was {
		p.w.t.Errorf("the terminal is left as %+v, and was %+v", is, p.was)
	}
	now := map[string]bool{}
	for _, m := range privateMode.FindAllStringSubmatch(p.all.String(), -1) {
		for n := range strings.SplitSeq(m[1], ";") {
			now[n] = m[2] == "h"
		}
	}
	if len(now) == 0 {
		p.w.t.Error("it never used the terminal")
	}
	for n, on := range now {
		if on != modesAtFirst[n] {
			p.w.t.Errorf("the terminal's mode %s is left %v", n, on)
		}
	}
	if n, m := len(pushed.FindAllString(p.all.String(), -1)), len(popped.FindAllString(p.all.String(), -1)); m < n {
		p.w.t.Errorf("%d times on the keyboard's stack, %d times off it", n, m)
	}
}

//go:build heavy

package agent_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against an agent that stops at a question of its own: before it begins on a terminal they ask for trust, a
// theme, a login, and after the work whether they may change something, which the word by which a person leaves would
// answer.
func TestRealInteractive(t *testing.T) {
	leave := map[string]string{"claude": "/exit", "codex": "/quit", "gemini": "/quit", "opencode": "/exit"}
	for _, name := range clis() {
		t.Run(name, func(t *testing.T) {
			var over atomic.Bool
			last := agenttest.Say("over")
			last.Before = func() { over.Store(true) }
			s := newStage(t, name, agenttest.Shell("echo done > worked"), last)
			s.task.Interactive = true
			screen, left := s.onTerminal(t, leave[name], func(string) bool { return over.Load() })
			if _, err := os.Lstat(filepath.Join(s.task.Workspace, "worked")); err != nil {
				t.Errorf("it did nothing\n%s\n%q", s.model.Summary(), screen)
			}
			if strings.Contains(screen, "The rules are here") {
				t.Errorf("the rules are on the screen\n%q", screen)
			}
			if !s.model.Saw("The rules are here") {
				t.Errorf("the model never saw the rules")
			}
			if name != "claude" && !s.model.Saw("The plan to carry out is: plan.md") {
				t.Errorf("the model never saw the skill")
			}
			if !left {
				t.Errorf("it asks something when it is left with %s\n%q", leave[name], screen[max(0, len(screen)-6000):])
			}
		})
	}
}

// onTerminal runs the agent on a terminal until done, or for minutes; then it leaves the agent as a person does, by a
// word, when the screen is still, or kills it if there is none. It gives what was shown, and whether the agent ended.
func (s *stage) onTerminal(t *testing.T, leave string, done func(screen string) bool) (string, bool) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	must.Do(t, pty.Setsize(master, &pty.Winsize{Cols: 100, Rows: 40}))
	cmd := s.a.Command(s.task)
	for _, f := range cmd.Etc {
		s.put(t, filepath.Join(s.etc, f.Path), string(f.Data))
	}
	for _, f := range cmd.Home {
		s.put(t, filepath.Join(s.task.State, f.Path), string(f.Data))
	}
	argv := append([]string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount --bind "$0" /etc && exec unshare --user --map-user=1000 --map-group=1000 "$@"`, s.etc}, cmd.Argv...)
	env := slices.Concat([]string{"HOME=" + s.task.Home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color",
		"LANG=C.UTF-8", "TMPDIR=" + s.root}, cmd.Env)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	p, err := proc.Start(ctx, proc.Cmd{Argv: argv, Dir: s.task.Workspace, Env: env, Stdin: slave, Stdout: slave,
		Stderr: slave,
		Attr:   func(a *syscall.SysProcAttr) { a.Setpgid, a.Setsid, a.Setctty = false, true, true }})
	_ = slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var screen bytes.Buffer
	go func() {
		buf, terminal := make([]byte, 4096), agenttest.Xterm()
		for {
			n, err := master.Read(buf)
			_, _ = master.WriteString(terminal.Hear(buf[:n]))
			mu.Lock()
			screen.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	shown := func() string {
		mu.Lock()
		defer mu.Unlock()
		return screen.String()
	}
	ended := await(ctx, p.Done(), func() bool { return done(shown()) })
	if leave != "" {
		before := 0 // what was typed shows: a program that is slow to read it would take both for one paste
		for _, keys := range []string{leave, "\r"} {
			if quiet := still(shown); !ended {
				ended = await(ctx, p.Done(), func() bool { return quiet() && len(shown()) > before })
				before = len(shown())
				_, _ = master.WriteString(keys)
			}
		}
		ended = ended || await(ctx, p.Done(), func() bool { return false })
	}
	cancel()
	_ = p.Wait() // it may have been killed
	return shown(), ended
}

// await waits until something is so, or says that the program has ended before.
func await(ctx context.Context, ended <-chan struct{}, is func() bool) bool {
	for tick := time.Tick(100 * time.Millisecond); !is(); {
		select {
		case <-ended:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		case <-tick:
		}
	}
	return false
}

// still says whether a screen has not grown for as long as a person would wait. Clocks and spinners move, and are
// short.
func still(shown func() string) func() bool {
	size, since := 0, time.Now()
	return func() bool {
		if n := len(shown()); n > size+100 {
			size, since = n, time.Now()
		}
		return time.Since(since) > 5*time.Second
	}
}

//go:build heavy

package agent_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against an agent that stops at a question of its own before it begins: on a terminal they ask for trust, a
// theme, a login.
func TestRealInteractive(t *testing.T) {
	for _, name := range clis() {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, name, agenttest.Shell("echo done > worked"), agenttest.Say("over"))
			s.task.Interactive = true
			screen := s.onTerminal(t, func() bool {
				_, err := os.Lstat(filepath.Join(s.task.Workspace, "worked"))
				return err == nil
			})
			if _, err := os.Lstat(filepath.Join(s.task.Workspace, "worked")); err != nil {
				t.Errorf("it did nothing\n%s\n%q", s.model.Summary(), screen)
			}
		})
	}
}

// onTerminal runs the agent on a terminal until done, or for minutes, and gives what it has shown.
func (s *stage) onTerminal(t *testing.T, done func() bool) string {
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
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
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
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			for ask, answer := range map[string]string{"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?62;22c", "\x1b[?u": "\x1b[?0u"} {
				if bytes.Contains(buf[:n], []byte(ask)) { // as a terminal would
					_, _ = master.WriteString(answer)
				}
			}
			mu.Lock()
			screen.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	for tick := time.Tick(100 * time.Millisecond); !done() && ctx.Err() == nil; {
		select {
		case <-p.Done():
			cancel()
		case <-tick:
		}
	}
	cancel()
	_ = p.Wait() // it was killed
	mu.Lock()
	defer mu.Unlock()
	return screen.String()
}

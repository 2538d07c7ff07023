package cli_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec" // tmux, and the program under test
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/must"
)

// desk is a user at a terminal: a shell in tmux, cco, a repository and a box.
type desk struct {
	t    *testing.T
	dir  string
	env  []string
	sock string
}

// newDesk sets the table with plans, by their names.
func newDesk(t *testing.T, plans map[string]string) *desk {
	t.Helper()
	bin, dir := build(t), t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // boxes show it to a user of their own
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "cco-tmux-") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	d := &desk{t: t, dir: dir, sock: filepath.Join(short, "s")}
	d.env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + bin + ":" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"NO_COLOR=1", "PS1=prompt> ", "ENV=",
		"XDG_DATA_HOME=" + filepath.Join(dir, "data"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "TERM=xterm",
		"SHELL=/bin/sh"}
	d.write("home/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
	d.write("repo/.keep", "")
	for name, fence := range plans {
		d.write("repo/"+name, "## Task 1: Work\n\n```sh\n"+fence+"\n```\n")
	}
	d.run("git", "init", "-q")
	d.run("git", "add", ".")
	d.run("git", "commit", "-qm", "start")
	d.run("cco", "box", "create")
	d.tmux("new-session", "-d", "-x", "80", "-y", "24", "/bin/sh")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", d.screen())
		}
		_ = d.command("tmux", "-S", d.sock, "kill-server").Run()
		sessions, _ := filepath.Glob(filepath.Join(dir, "data/cco/sessions/*"))
		for _, s := range sessions {
			_ = d.command("cco", "box", "kill", filepath.Base(s)).Run() // most have ended
		}
	})
	d.await("a prompt", d.atPrompt)
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	must.Do(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(d.t, os.WriteFile(path, []byte(text), 0o644))
}

func (d *desk) command(name string, args ...string) *exec.Cmd {
	for _, dir := range strings.Split(d.env[1][len("PATH="):], ":") {
		if path := filepath.Join(dir, name); fileExists(path) {
			name = path
			break
		}
	}
	c := exec.Command(name, args...) //nolint:forbidigo // tmux, and the program under test
	c.Dir, c.Env = filepath.Join(d.dir, "repo"), d.env
	return c
}

func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

func (d *desk) run(name string, args ...string) string {
	d.t.Helper()
	out, err := d.command(name, args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %q (scripts/tools installs what tests need): %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (d *desk) tmux(args ...string) string {
	d.t.Helper()
	return d.run("tmux", append([]string{"-f", "/dev/null", "-S", d.sock}, args...)...)
}

// types sends a line to the shell.
func (d *desk) types(line string) {
	d.t.Helper()
	d.tmux("send-keys", "-l", line)
	d.tmux("send-keys", "Enter")
}

// presses sends bytes as they are; each string is a write of its own.
func (d *desk) presses(parts ...string) {
	d.t.Helper()
	for _, p := range parts {
		args := []string{"send-keys", "-H"}
		for _, b := range []byte(p) {
			args = append(args, hex.EncodeToString([]byte{b}))
		}
		d.tmux(args...)
	}
}

// pressesTwice presses a key twice, quickly enough to count as such; a busy machine may need more than one try.
func (d *desk) pressesTwice(key, again string) {
	d.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		begun := time.Now()
		d.presses(key)
		d.presses(again)
		if time.Since(begun) < time.Second {
			return
		}
	}
	d.t.Error("this machine is too slow to press a key twice")
}

func (d *desk) screen() string {
	out, _ := d.command("tmux", "-S", d.sock, "capture-pane", "-p", "-S", "-").Output()
	return strings.TrimRight(string(out), "\n ")
}

func (d *desk) await(what string, is func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("%s: never came\n%s", what, d.screen())
		}
	}
}

func (d *desk) shows(text string) func() bool {
	return func() bool { return strings.Contains(d.screen(), text) }
}

func (d *desk) atPrompt() bool { return strings.HasSuffix(d.screen(), "prompt>") }

// clear empties the shell's screen, so that what is looked for is new.
func (d *desk) clear() {
	d.t.Helper()
	d.await("a prompt", d.atPrompt)
	d.types("echo o''ld")                                  // an empty screen would look cleared before it is
	d.await("something to clear", d.shows("old\nprompt>")) // behind a prompt if it was typed ahead of one
	d.types("clear")
	d.await("an empty screen", func() bool { return d.screen() == "prompt>" })
	d.tmux("clear-history")
}

// state is what tmux knows of a terminal's modes.
func (d *desk) state() string {
	return d.tmux("display", "-p", "alternate #{alternate_on}, mouse "+
		"#{mouse_any_flag}#{mouse_sgr_flag}#{mouse_all_flag}, cursor #{cursor_flag}, keys "+
		"#{keypad_cursor_flag}#{keypad_flag}, wrap #{wrap_flag}, insert #{insert_flag}, origin #{origin_flag}, region "+
		"#{scroll_region_upper}-#{scroll_region_lower}, title #{pane_title}")
}

var newest = regexp.MustCompile(`(?m)^([0-9a-f]{8}) +(\S+)`)

// newest gives the session that was begun last, and its state.
func (d *desk) newest() (id, state string) {
	d.t.Helper()
	m := newest.FindStringSubmatch(d.run("cco", "box", "sessions"))
	if m == nil {
		d.t.Fatal("no session")
	}
	return m[1], m[2]
}

// fill fills the screen with lines of the user's.
func (d *desk) fill() {
	d.t.Helper()
	d.clear()
	d.types("seq -f 'user line %g' 1 40")
	d.await("the user's lines", d.shows("\nuser line 40\nprompt>"))
}

// filled looks for the user's lines.
func (d *desk) filled() {
	d.t.Helper()
	lines := strings.Split(d.screen(), "\n")
	for n := range 40 {
		if line := fmt.Sprint("user line ", n+1); !slices.Contains(lines, line) {
			d.t.Errorf("%s is gone:\n%s", line, strings.Join(lines, "\n"))
			return
		}
	}
}

// stillWorks types at the prompt, where nothing may stand that nobody typed, and pastes.
func (d *desk) stillWorks() {
	d.t.Helper()
	d.types("echo al''ive; cat -v")
	d.await("the shell", d.shows("alive"))
	d.tmux("set-buffer", "pasted")
	d.tmux("paste-buffer", "-p")
	d.presses("\r")
	d.await("the paste", d.shows("\npasted\npasted")) // the terminal's, and then cat's: before, it may not have begun
	d.presses("\x1b[A")
	d.tmux("send-keys", "C-]")
	d.presses("\r")
	d.await("a key", d.shows("^]\n^[[A^]"))
	screen := d.screen()
	screen = screen[strings.LastIndex(screen, "prompt>"):]
	d.presses("\x03")
	d.await("a prompt", d.atPrompt)
	if !strings.HasPrefix(screen, "prompt> echo al''ive; cat -v\nalive\n") {
		d.t.Errorf("something was typed that nobody typed:\n%s", screen)
	}
	for _, trace := range []string{"200~", "rgb:", "[?1;2c", "[0n", "not found", "93;5"} {
		if strings.Contains(screen, trace) {
			d.t.Errorf("%s was left to the shell:\n%s", trace, screen)
		}
	}
	if out := d.tmux("capture-pane", "-p", "-e"); strings.Contains(out, "\x1b[31m") &&
		strings.Contains(out, "\x1b[31malive") {
		d.t.Errorf("the colour stays: %q", out)
	}
}

// typed is what has reached the agent.
func (d *desk) typed(id string) string {
	data, _ := os.ReadFile(filepath.Join(d.dir, "data/cco/exchange", id, "typed"))
	return string(data)
}

// onPty runs a program on a terminal that nobody watches, and gives every byte that reaches it.
func (d *desk) onPty(name string, args ...string) string {
	d.t.Helper()
	master := must.Get(pty.StartWithSize(d.command(name, args...), &pty.Winsize{Cols: 80, Rows: 24}))(d.t)
	defer func() { _ = master.Close() }()
	out, _ := io.ReadAll(master) // ends with an error when the other end is closed
	return string(out)
}

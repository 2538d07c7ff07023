package cli_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/must"
)

// foreground lets a plan's commands use their terminal as an agent's own program does.
const foreground = `perl -MPOSIX -e '$SIG{TTOU}="IGNORE"; open(T,"+<","/dev/tty") or die;
	POSIX::tcsetpgrp(fileno(T),getpgrp()) or die "$!"'
stty raw -echo </dev/tty
`

// mess does everything to a terminal that has to be undone, writes ten lines, and asks questions without an end.
const mess = foreground + `cat </dev/tty >/dev/null &
printf '\033]0;stolen\007\033[?1000;1003;1006;1004;2004;1;2026h\033[?25l\033=\033[>1u\033[>4;2m\033[4 q\033[31m'
printf '%s'
printf '\033[?2026l\033[H\033[J'
for i in 1 2 3 4 5 6 7 8 9 10; do printf 'line %%s of it\r\n' $i; done
printf '\033[4;9r\033[?6h\033[?7l\033)0\016\033[2;3HREADY'
while :; do printf '\033[c\033[5n\033[6n\033]11;?\007'; sleep 0.02; done`

// Guards against a terminal that is left as the agent had it: in every way of leaving, with everything changed.
func TestTheTerminalIsGivenBack(t *testing.T) {
	d := newDesk(t, map[string]string{"main.md": fmt.Sprintf(mess, ""),
		"alt.md": fmt.Sprintf(mess, `before it\r\n\033[?1049h`)})
	d.tmux("set-option", "-s", "extended-keys", "on")
	leave := map[string]func(id string){
		"detached": func(string) { d.presses("\x1d") },
		"double":   func(string) { d.pressesTwice("\x03", "\x03") },
		"killed":   func(id string) { d.run("cco", "box", "kill", id) },
		"lost":     func(id string) { d.run("pkill", "-KILL", "-f", "^cco keeper "+id) },
	}
	words := map[string]string{"detached": "goes on; come back with", "double": "killed (by the user)",
		"killed": "killed (by the user)", "lost": "failed (interrupted)"}
	for _, plan := range []string{"main.md", "alt.md"} {
		for _, way := range []string{"detached", "double", "killed", "lost"} {
			t.Run(way+"-"+plan, func(t *testing.T) {
				d.t = t
				d.fill()
				before := d.state()
				d.types("cco box push " + plan + " --agent script")
				d.await("the agent", d.shows("READY"))
				id, _ := d.newest()
				leave[way](id)
				d.await("its last words", d.shows(words[way]))
				d.await("a prompt", d.atPrompt)
				if after := d.state(); after != before {
					t.Errorf("before %safter  %s", before, after)
				}
				lines := strings.Split(d.screen(), "\n")
				last := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, words[way]) })
				if plan == "main.md" && slices.Index(lines, "line 10 of it") > last {
					t.Errorf("the last words stand in the agent's:\n%s", strings.Join(lines, "\n"))
				}
				if plan == "alt.md" && strings.Contains(d.screen(), "of it") {
					t.Errorf("the alternate screen was left standing")
				}
				if at := slices.Index(lines, "before it"); plan == "alt.md" && (at < 0 || at > last) {
					t.Errorf("what the agent wrote before is gone:\n%s", strings.Join(lines, "\n"))
				}
				d.filled()
				d.stillWorks()
			})
		}
	}
}

// Guards against the user's lines being erased where a program leaves the alternate screen itself.
func TestAShellLeavesTheUsersScreenAlone(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": "true"})
	for _, text := range []string{
		`\033[?1049h\033[2J\033[Htext\033[24;1Hstatus\033[?1049l`, // an editor
		`\033[?47h\033[2J\033[Htext\033[?47l`,                     // an old one, which leaves the cursor there
		`\0337\033[999;999H\0338\033[3;20r`,                       // a question for the size
		`\033[8A`, `\0338`, `\033[?1049l`,                         // places that the program never was at
	} {
		d.fill()
		before := d.state()
		d.types("cco box shell -- printf 'first\\r\\nlast" + text + "'; echo do''ne")
		d.await("its end", d.shows("done\nprompt>"))
		if d.filled(); t.Failed() {
			t.Fatalf("after %s", text)
		}
		if after := d.state(); after != before || !d.shows("\nfirst\nlast\n")() {
			t.Fatalf("after %s: before %safter  %s%s", text, before, after, d.screen())
		}
	}
}

// echoes keeps what is typed into it.
const echoes = foreground + `echo READY
cat </dev/tty >$CCO_EXCHANGE/typed`

// Guards against keys that are not seen under the protocols that agents switch on, and against keys in a paste.
func TestLeavingWithEveryKeyboard(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": echoes})
	d.types("cco box push plan.md --agent script")
	d.await("the agent", d.shows("READY"))
	id, _ := d.newest()
	d.await("its file", func() bool {
		return fileExists(filepath.Join(d.dir, "data/cco/exchange", id, "typed"))
	})
	var sent string
	for i, keys := range [][]string{{"\x1d"}, {"\x1b[93;5u"}, {"\x1b[93;69u"}, {"\x1b[93;133u"}, {"\x1b[1098::93;5:1u"},
		{"\x1b[27;5;93~"}, {"\x1b[9", "3;5", "u"}, {"\x1b", "[93;5u"}} {
		mark := fmt.Sprintf("<%d>", i)
		sent += mark
		d.presses(mark)
		d.await("what was typed", func() bool { return strings.HasSuffix(d.typed(id), mark) })
		if len(keys) > 1 && keys[0] == "\x1b" {
			d.presses(strings.Join(keys, "")) // tmux is not quick enough to split it there
		} else {
			d.presses(keys...)
		}
		d.await("the end of following", d.shows("goes on; come back with"))
		d.clear()
		d.types("cco box attach " + id)
		d.await("the agent", d.shows("READY"))
	}
	if got := d.typed(id); got != sent {
		t.Errorf("the agent read %q, want %q", got, sent)
	}

	// In a paste they are text.
	paste := "\x1b[200~a\x1d\x03\x03\x1b[93;5u\x1b[99;5u\x1b[201~"
	d.presses(paste)
	d.await("the paste", func() bool { return d.typed(id) == sent+paste })
	if _, state := d.newest(); state != "running" {
		t.Errorf("a paste has made it %s", state)
	}

	// A key that is let go, or held down, is not pressed.
	d.presses("\x1b[99;5:2u\x1b[99;5:3u\x1b[99;5:2u\x1b[93;5:3u!")
	d.await("the keys", func() bool { return strings.HasSuffix(d.typed(id), "!") })
	d.pressesTwice("\x1b[99;5u\x1b[99;5:3u", "\x1b[99;5:1u")
	d.await("its end", d.shows("killed (by the user)"))
}

func TestTheDetachKeyIsASetting(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": echoes})
	d.write("config/cco/config.toml", "[terminal]\ndetach_key = \"ctrl-q\"\n")
	d.types("cco box push plan.md --agent script")
	d.await("the agent", d.shows("READY"))
	id, _ := d.newest()
	d.presses("\x1d", "!")
	d.await("what was typed", func() bool { return d.typed(id) == "\x1d!" })
	d.presses("\x1b[113;5u")
	d.await("the end of following", d.shows("goes on; come back with"))
	d.write("config/cco/config.toml", "[terminal]\ndetach_key = \"ctrl-c\"\n")
	d.clear()
	d.types("cco box attach " + id)
	d.await("a refusal", d.shows("ctrl-c interrupts"))
	d.write("config/cco/config.toml", "")
	d.run("cco", "box", "kill", id)
}

// Guards against a look at a session that ends it.
func TestLeavingAHeadlessSessionNeverStopsIt(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": "echo READY\nsleep 1000"})
	d.types("cco box push plan.md --agent script --detach")
	d.await("a start", d.shows("Pull with"))
	id, _ := d.newest()
	for _, key := range []string{"\x03", "\x1d", "\x03\x03\x03", "x\x1b[93;5u"} {
		d.clear()
		d.types("cco box attach " + id)
		d.await("the agent", d.shows("READY"))
		d.presses(key)
		d.await("the end of following", d.shows("goes on; come back with"))
		d.await("a prompt", d.atPrompt)
		if screen := d.screen(); strings.ContainsAny(screen, "^") || strings.Contains(screen, "asking the agent to stop") {
			t.Errorf("%q:\n%s", key, screen)
		}
		if _, state := d.newest(); state != "running" {
			t.Fatalf("%q has made it %s", key, state)
		}
	}
	d.types("echo he''re")
	d.await("an echo", d.shows("echo he''re"))
	d.await("a shell", d.shows("\nhere"))
}

// Guards against keys that the terminal itself takes for signals or for holding its output.
func TestEveryDetachKeyLeavesAHeadlessSession(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": "echo READY\nsleep 1000"})
	d.types("cco box push plan.md --agent script --detach")
	d.await("a start", d.shows("Pull with"))
	id, _ := d.newest()
	d.types("stty -a >stty.before")
	for _, c := range []struct {
		setting, keys string
		status        int
	}{
		{`ctrl-\\`, "\x1c", 0}, {"ctrl-z", "\x1a", 0}, {"ctrl-s", "\x13", 0}, {"ctrl-q", "\x11", 0}, {"ctrl-v", "\x16", 0},
		{"ctrl-o", "\x0f", 0},
		{"ctrl-]", "\x1c\x1a\x13\x16\x1d", 0}, {"ctrl-]", "\x1c\x1a\x13\x03", 130},
	} {
		d.write("config/cco/config.toml", "[terminal]\ndetach_key = \""+c.setting+"\"\n")
		d.clear()
		d.types("cco box attach " + id + "; echo status $?; stty -a >stty.after; cmp stty.before stty.after")
		d.await("the agent", d.shows("READY"))
		d.presses(c.keys)
		d.await("the end of following", d.shows("goes on; come back with"))
		d.await("a prompt", d.atPrompt)
		if screen := d.screen(); !strings.Contains(screen, fmt.Sprint("\nstatus ", c.status, "\nprompt>")) {
			t.Errorf("%s, %q:\n%s", c.setting, c.keys, screen)
		}
	}
	for _, signal := range []string{"QUIT", "TSTP"} { // as others send them
		d.clear()
		d.types("cco box attach " + id + "; stty -a >stty.after; cmp stty.before stty.after && echo sa''me")
		d.await("the agent", d.shows("READY"))
		d.run("pkill", "-"+signal, "-f", "^cco box attach "+id)
		if signal == "TSTP" {
			d.presses("\x1d")
		}
		d.await("the end of following", d.shows("goes on; come back with"))
		d.await("the terminal as it was", d.shows("same\nprompt>"))
	}
}

// hostile asks, writes the clipboard, and hides it in other sequences.
const hostile = `printf 'one\r\ntwo \033[1mbold\033[0m\r\n'
printf '\033[c\033[6n\033]11;?\007\033]52;c;c3RvbGVu\007\033]0;stolen\007\005'
printf '\302\2350;t\302\234\033Ptmux;\033\033]52;c;c3RvbGVu\007\033\\last \302\233words'`

// Guards against logs that replay a terminal's raw bytes: answers typed into the user's shell, a clipboard that is
// written.
func TestLogsOfATerminalAreText(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": hostile + "\nfor i in $(seq 1 40); do echo number $i; done"})
	d.tmux("set-option", "-s", "set-clipboard", "on")
	d.types("cco box push plan.md --agent script")
	d.await("its end", d.shows("ended and changed nothing"))
	id, _ := d.newest()
	for _, args := range [][]string{{}, {"--json"}, {"-f"}, {"-f", "--json"}} {
		args = append([]string{"--quiet", "box", "logs", id}, args...)
		piped := d.run("cco", args...)
		shown := d.onPty("cco", args...)
		if strings.ReplaceAll(shown, "\r\n", "\n") != piped && !slices.Contains(args, "-f") {
			t.Errorf("%q: a terminal is shown %q, a file %q", args, shown, piped)
		}
		for _, text := range []string{piped, shown} {
			if strings.ContainsAny(text, "\x1b\a\x05\u009b\u009d") || strings.Contains(text, "c3RvbGVu") ||
				strings.Contains(text, `"data"`) {
				t.Errorf("%q: raw bytes: %q", args, text)
			}
			for _, want := range []string{"one", "two bold", "number 1", "number 40"} {
				if strings.Count(text, want) == 0 {
					t.Errorf("%q: %q is missing:\n%s", args, want, text)
				}
			}
		}
	}
	d.clear()
	d.types("cco box logs " + id)
	d.await("the log", d.shows("number 40"))
	d.await("a prompt", d.atPrompt)
	d.stillWorks()
	if out, err := d.command("tmux", "-S", d.sock, "show-buffer", "-b", "buffer0").Output(); err == nil &&
		strings.Contains(string(out), "stolen") {
		t.Errorf("the clipboard was written: %q", out)
	}
}

// Guards against answers that are typed into the user's shell, because the terminal is far away.
func TestLateAnswersAreDropped(t *testing.T) {
	d := newDesk(t, nil)
	master := must.Get(pty.StartWithSize(d.command("sh", "-c",
		`cco box shell -- printf '\033[c\033[c\033[6n'; echo OVER; read -r line; printf 'got %s\n' "$line" | cat -v`),
		&pty.Winsize{Cols: 80, Rows: 24}))(t)
	defer func() { _ = master.Close() }()
	shown, answered := "", 0
	var answers sync.WaitGroup
	for buf := make([]byte, 4096); ; {
		n, err := master.Read(buf)
		if err != nil {
			break // the other end is closed
		}
		shown += string(buf[:n])
		for ; answered < strings.Count(shown, "\x1b[c"); answered++ {
			answers.Go(func() {
				time.Sleep(400 * time.Millisecond) // longer than an answer is waited for that nobody owes
				_, _ = master.WriteString("\x1b[?1;2c")
			})
		}
		if strings.Contains(string(buf[:n]), "OVER") {
			go func() { // what comes too late is before it in the line
				answers.Wait()
				_, _ = master.WriteString("typed\r")
			}()
		}
	}
	if !strings.Contains(shown, "got typed\r\n") || answered < 2 {
		t.Errorf("%d answers: %q", answered, shown)
	}
}

// Guards against the clipboard in every disguise, on the terminals of sessions and of shells.
func TestTheClipboardIsWrittenOnlyIfTheUserWantsIt(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": hostile + "\nsleep 0.1\necho END"})
	d.tmux("set-option", "-s", "set-clipboard", "on")
	d.tmux("set-option", "-g", "allow-passthrough", "on")
	buffers := func() string { return d.tmux("list-buffers") }
	for _, line := range []string{"cco box push plan.md --agent script", "cco box shell -- sh -c '" +
		strings.ReplaceAll(hostile, "'", `'\''`) + "; echo E''ND'",
		"cco box shell -- sh -c '" + strings.ReplaceAll(hostile, "'", `'\''`) + "; echo E''ND' </dev/null"} {
		d.clear()
		d.write("repo/line.sh", line)
		d.types("sh line.sh")
		d.await("its end", d.shows("END"))
		d.await("a prompt", d.atPrompt)
		if got := buffers(); got != "" {
			t.Errorf("%s: %s", line, got)
		}
		d.stillWorks()
		d.tmux("delete-buffer")
	}
	d.write("config/cco/config.toml", "[terminal]\nclipboard = true\n")
	d.clear()
	d.types("cco box push plan.md --agent script")
	d.await("its end", d.shows("ended and changed nothing"))
	if got := buffers(); !strings.Contains(got, `"stolen"`) {
		t.Errorf("the user wants it, and it was not written: %q", got)
	}
}

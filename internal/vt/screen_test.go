package vt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// drawn are things that programs do to a screen of 20 columns and 6 lines.
var drawn = []string{
	"hello\r\nworld",
	"one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\nseven\r\neight",
	"a line that is longer than the screen is wide, twice over",
	"a line of twenty col\r\nnext",
	"abc\b\bX\tY\tZ\rW",
	"\x1b[3;5Hhere\x1b[Htop\x1b[6;1Hend",
	"aaaa\r\nbbbb\r\ncccc\x1b[A\x1b[2DXX\x1b[1;1H\x1b[Ky",
	"11111\r\n22222\r\n33333\r\n44444\x1b[2;3H\x1b[J",
	"11111\r\n22222\r\n33333\r\n44444\x1b[2;3H\x1b[1J",
	"11111\x1b[3D\x1b[1K\r\n22222\x1b[2K\r\n33333\x1b[3D\x1b[0K",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[1;4r\x1b[4;1H\r\nx\r\ny",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;5r\x1b[2;1H\x1bMa\x1bMb",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;5r\x1b[3;1H\x1b[Lx\x1b[5;1H\x1b[M",
	"1\r\n2\r\n3\r\n4\x1b[2S\x1b[T",
	"abcdef\x1b[3G\x1b[2@XY\x1b[5G\x1b[P\x1b[2X",
	"abcdef\x1b[2G\x1b[4hZZ\x1b[4l",
	"main\x1b[?1049h\x1b[2;2Halt",
	"main\x1b[?1049h\x1b[2;2Halt\x1b[?1049lback",
	"日本語日本語日本語日本語",
	"e\u0301a\u0308 x",
	"\x1b[?7labcdefghijklmnopqrstuvwxyz\x1b[?7h",
	"\x1b[3;3Hsave\x1b7\x1b[H\x1b8d",
	"\x1b[2;5r\x1b[?6h\x1b[1;1Hin\x1b[9;1Hlast\x1b[?6l",
	"ab\x1b[5b",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\x1b[2J\x1b[3J\x1b[Hfresh",
	"\x1b[31mred\x1b[0m \x1b]0;title\abc\x1b[5m",
	"\x1b[3g\x1b[5G\x1bH\r\ta\x1b[20G\x1b[Zb",
	"x\x1b[99;99Hy\x1b[99A\x1b[99DZ",
	"one\x1b[2Etwo\x1b[Fthree\x1b[4d\x1b[6`four",
	"\x1b[?2026hx\x1b[?2026l\x1b[>1u\x1b[?25l",
}

func showOn(s *Screen, text string) []string {
	_, _ = s.Write([]byte(text))
	return s.Lines()
}

// The screen is compared with a real terminal's: tmux draws the same and reports what it shows.
func TestAScreenShowsWhatTmuxShows(t *testing.T) {
	dir := t.TempDir()
	tmux := func(args ...string) string {
		out, err := proc.Output(t.Context(), proc.Cmd{Argv: append([]string{"tmux", "-f", "/dev/null", "-S",
			filepath.Join(dir, "tmux")}, args...),
			Env: []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm", "HOME=" + dir}})
		if err != nil {
			t.Fatalf("tmux (scripts/tools installs it): %v", err)
		}
		return string(out)
	}
	defer tmux("kill-server")
	for i, text := range drawn {
		file := filepath.Join(dir, fmt.Sprint(i))
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		name := fmt.Sprintf("s%d", i)
		tmux("new-session", "-d", "-s", name, "-x", "20", "-y", "6",
			fmt.Sprintf("stty raw; cat %s; tmux -S %s/tmux wait-for -S %s; exec sleep 1000", file, dir, name))
		tmux("wait-for", name)
		got := strings.Join(showOn(NewScreen(20, 6, 100, nil), text), "\n")
		var want string
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // what was written is on its way
			want = strings.TrimRight(tmux("capture-pane", "-p", "-t", name, "-S", "-"), "\n ")
			if want == got || time.Now().After(deadline) {
				break
			}
		}
		if got != want {
			t.Fatalf("%q\nshows\n%s\ntmux has\n%s", text, got, want)
		}
		tmux("set-option", "-g", "exit-empty", "off")
		tmux("kill-session", "-t", name)
	}
}

// tmux shows these differently: line-drawing characters, and the halves of wide characters.
func TestAScreenDrawsLinesAndWholeCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b(0lqqk\x1b(B\x1b)0\x0ex\x0fx": "┌──┐│x",
		"日本\x1b[2Gx":                       " x本",
		"日本\x1b[3Gy":                       "日y",
		"日本\x1b[2G\x1b[P":                  " 本",
		"日本\x1b[2G\x1b[X!":                 " !本",
		"日本\x1b[2G\x1b[K":                  "",
	} {
		if got := strings.Join(showOn(NewScreen(20, 6, 100, nil), in), "\n"); got != want {
			t.Errorf("%q shows %q, want %q", in, got, want)
		}
	}
}

func TestAScreenKeepsWhatScrollsOff(t *testing.T) {
	var gone []string
	s := NewScreen(10, 2, 3, func(line string) { gone = append(gone, line) })
	lines := showOn(s, "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7")
	if want := []string{"3", "4", "5", "6", "7"}; !slices.Equal(lines, want) || !slices.Equal(gone, []string{"1", "2"}) {
		t.Errorf("%q, and gone are %q", lines, gone)
	}
	if lines := showOn(s, "\x1b[3J"); !slices.Equal(lines, []string{"6", "7"}) {
		t.Errorf("erased: %q", lines)
	}
}

func TestAScreenLosesNothingWhenItsSizeChanges(t *testing.T) {
	s := NewScreen(20, 6, 100, nil)
	showOn(s, "a long line of text\r\n2\r\n3\r\n4")
	s.Resize(5, 2)
	s.Resize(40, 10)
	if lines := showOn(s, "!"); !slices.Equal(lines, []string{"a long line of text", "2", "3", "4!"}) {
		t.Errorf("%q", lines)
	}
	s.Resize(-1, 1<<30)
	if s.cols != 1 || s.rows != maxRows {
		t.Errorf("%d × %d", s.cols, s.rows)
	}
}

// worked is how long this process has worked, whatever else the machine does.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var use syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// Guards against an agent whose few bytes cost much work.
func TestAScreenIsBounded(t *testing.T) {
	fill := func(s *Screen, piece string) time.Duration {
		text := []byte(strings.Repeat(piece, 1<<18/len(piece)))
		start := worked(t)
		_, _ = s.Write(text)
		return worked(t) - start
	}
	letters := fill(NewScreen(200, 60, 1000, nil), "x")
	for _, piece := range []string{"\x1b[J", "\x1b[999S", "\x1b[999T", "\x1b[999L", "x\x1b[999b", "\x1b[999C\x1b[999@x",
		"\u0301", "日", "\x1b[?1049h\x1b[?1049l", "\r\n", "\x1b]"} {
		s := NewScreen(200, 60, 1000, nil)
		if d := fill(s, piece); d > 500*letters {
			t.Errorf("%q: a quarter of a MiB of it takes %v, and of letters %v", piece, d, letters)
		}
		var size int
		for _, l := range s.Lines() {
			size += len(l)
		}
		if size > maxHistory+200*60*16 {
			t.Errorf("%q: %d bytes are kept", piece, size)
		}
	}
}

// Whatever the input, a screen shows text within its bounds.
func FuzzScreen(f *testing.F) {
	for _, text := range drawn {
		f.Add([]byte(text), uint8(20), uint8(6))
	}
	f.Fuzz(func(t *testing.T, in []byte, cols, rows uint8) {
		s := NewScreen(int(cols), int(rows), 50, nil)
		_, _ = s.Write(in[:len(in)/2])
		s.Resize(int(rows), int(cols))
		_, _ = s.Write(in[len(in)/2:])
		if s.cursor.row < 0 || s.cursor.row >= s.rows || s.cursor.col < 0 || s.cursor.col >= s.cols ||
			len(s.lines) != s.rows {
			t.Fatalf("the cursor is at %d, %d of %d × %d", s.cursor.row, s.cursor.col, s.rows, s.cols)
		}
		for _, l := range s.Lines() {
			if strings.ContainsFunc(l, unicode.IsControl) {
				t.Fatalf("%q", l)
			}
		}
	})
}

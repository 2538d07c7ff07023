// Package term holds the streams that a command reads and writes, and shows progress on them.
package term

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	xterm "golang.org/x/term"

	"github.com/cco-dev/cco/internal/safetext"
)

// Streams are a command's input and output. Results go to Out, messages to Err.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	Quiet, Verbose        bool
	Color                 bool
	Plain                 bool // the terminal's locale has only ASCII characters

	mu    sync.Mutex
	live  bool // there is an unfinished progress line on Err
	wrote bool // something was written to Out
}

// System returns the process's own streams.
func System() *Streams {
	s := &Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	s.InTTY = xterm.IsTerminal(int(os.Stdin.Fd()))
	s.OutTTY = xterm.IsTerminal(int(os.Stdout.Fd()))
	s.ErrTTY = xterm.IsTerminal(int(os.Stderr.Fd()))
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.Plain = plainLocale(os.Getenv)
	return s
}

// plainLocale says whether the user has chosen a locale without UTF-8. If none is set, most terminals have UTF-8.
func plainLocale(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// asciiSigns replace the few characters beyond ASCII in cco's own messages.
var asciiSigns = strings.NewReplacer("…", "...", "»", ">", "✗", "x", "·", "-", "─", "-", "×", "x", "→", "->",
	safetext.Replacement, "?")

// signs replaces characters that the terminal can't show.
func (s *Streams) signs(words string) string {
	if !s.Plain {
		return words
	}
	return asciiSigns.Replace(words)
}

// Test returns streams that a test can read.
func Test(in string) (s *Streams, out, err *bytes.Buffer) {
	out, err = new(bytes.Buffer), new(bytes.Buffer)
	return &Streams{In: strings.NewReader(in), Out: out, Err: err}, out, err
}

// Line reads one line that a person types, without its end. Nothing after it is read, so that the next reader has it.
// If the context ends first nobody waits for the line any more: the command is about to end.
func (s *Streams) Line(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		var line []byte
		for one := make([]byte, 1); ; {
			n, err := s.In.Read(one)
			if n > 0 && one[0] != '\n' {
				line = append(line, one[0])
			}
			if err != nil || n > 0 && one[0] == '\n' {
				done <- read{string(line), err}
				return
			}
		}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Printf writes a result.
func (s *Streams) Printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.wrote = true
	_, _ = io.WriteString(s.Out, s.signs(fmt.Sprintf(format, args...)))
}

// Results is Out for output in pieces or from others: each write first removes an unfinished progress line.
func (s *Streams) Results() io.Writer { return settled{s} }

type settled struct{ s *Streams }

func (w settled) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.clear()
	w.s.wrote = true
	return w.s.Out.Write(p)
}

// JSON writes a result as indented JSON.
func (s *Streams) JSON(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = s.Results().Write(append(safetext.JSON(text), '\n'))
	}
	return err
}

// JSONLine writes a result as one line of JSON.
func (s *Streams) JSONLine(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = s.Results().Write(append(safetext.JSON(text), '\n'))
	}
	return err
}

// FailJSON writes an error as a result, unless there is a result: what reads that wants one value.
func (s *Streams) FailJSON(v any) {
	s.mu.Lock()
	wrote := s.wrote
	s.mu.Unlock()
	if !wrote {
		_ = s.JSON(v)
	}
}

// Say tells the user something that is not the result. --quiet silences it.
func (s *Streams) Say(format string, args ...any) {
	if !s.Quiet {
		s.line(fmt.Sprintf(format, args...))
	}
}

// Detail is like Say, but only with --verbose.
func (s *Streams) Detail(format string, args ...any) {
	if s.Verbose && !s.Quiet {
		s.line(fmt.Sprintf(format, args...))
	}
}

// Warn always tells the user something.
func (s *Streams) Warn(format string, args ...any) {
	s.line("warning: " + fmt.Sprintf(format, args...))
}

// WarnOf warns under a heading. The paint comes last: what is cleaned after it shows the paint as text.
func (s *Streams) WarnOf(c Colour, head, words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if head = safetext.Line(head); s.ErrTTY {
		head = s.Paint(c, head)
	}
	_, _ = fmt.Fprintf(s.Err, "cco: warning: %s%s\n", head, s.signs(safetext.Text(words)))
}

// Fail always says why a command failed.
func (s *Streams) Fail(err error) { s.line(err.Error()) }

func (s *Streams) line(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, _ = fmt.Fprintf(s.Err, "cco: %s\n", s.signs(safetext.Text(words)))
}

// Progress shows what is going on: on a terminal it rewrites one line, otherwise it writes a line each. If the output
// is a pipe, its reader may write to the same terminal, and would continue an unfinished line.
func (s *Streams) Progress(format string, args ...any) {
	if s.Quiet {
		return
	}
	words := fmt.Sprintf(format, args...)
	if !s.ErrTTY || !s.OutTTY {
		s.line(words)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, _ = io.WriteString(s.Err, s.Paint(Dim, s.fit(words)))
	s.live = true
}

// Live shows changing figures (per cent, seconds) on a terminal and nothing otherwise.
func (s *Streams) Live(format string, args ...any) {
	if s.ErrTTY && s.OutTTY {
		s.Progress(format, args...)
	}
}

// Settle removes an unfinished progress line.
func (s *Streams) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

// Secret reads what nobody may see: typed on the terminal without being shown, or from standard input.
func (s *Streams) Secret(ctx context.Context, prompt string, most int64) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok || !s.InTTY {
		data, err := io.ReadAll(io.LimitReader(s.In, most))
		return string(data), err
	}
	s.Settle()
	// The echo ends before anybody is asked: what is pasted at once would be shown.
	shown, err := hush(f)
	if err != nil {
		return "", err
	}
	defer shown()
	_, _ = io.WriteString(s.Err, prompt)
	line, err := s.Line(ctx)
	_, _ = io.WriteString(s.Err, "\n")
	return line, err
}

// Bell rings the terminal's bell, for a person who may be away.
func (s *Streams) Bell() {
	if s.ErrTTY && !s.Quiet {
		_, _ = io.WriteString(s.Err, "\a")
	}
}

func (s *Streams) clear() {
	if s.live {
		_, _ = io.WriteString(s.Err, "\r\x1b[K")
		s.live = false
	}
}

func (s *Streams) fit(words string) string {
	width := 80
	if f, ok := s.Err.(*os.File); ok {
		if w, _, err := xterm.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	return s.signs(safetext.Fit(safetext.Text(s.signs(words)), width-3))
}

// Sign writes a line of cco's own to w, in characters that the terminal can show.
func (s *Streams) Sign(w io.Writer, line string) { _, _ = io.WriteString(w, s.signs(line)+"\n") }

// Paint colours words if the output is a terminal that shows colours.
func (s *Streams) Paint(c Colour, words string) string {
	if !s.Color {
		return words
	}
	return string(c) + words + "\x1b[0m"
}

// Colour is an ANSI style.
type Colour string

// The few styles that cco uses.
const (
	Red    Colour = "\x1b[31m"
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Dim    Colour = "\x1b[2m"
	Bold   Colour = "\x1b[1m"
)

// Package term holds the streams that a command reads and writes, and shows progress on them.
package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	xterm "golang.org/x/term"
)

// Streams is what a command talks to. Results go to Out, words to Err.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	Quiet, Verbose        bool
	Color                 bool

	mu   sync.Mutex
	live bool // a progress line stands unfinished on Err
}

// System gives the process's own streams.
func System() *Streams {
	s := &Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	s.InTTY = xterm.IsTerminal(int(os.Stdin.Fd()))
	s.OutTTY = xterm.IsTerminal(int(os.Stdout.Fd()))
	s.ErrTTY = xterm.IsTerminal(int(os.Stderr.Fd()))
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// Test gives streams that a test can read.
func Test(in string) (s *Streams, out, err *bytes.Buffer) {
	out, err = new(bytes.Buffer), new(bytes.Buffer)
	return &Streams{In: strings.NewReader(in), Out: out, Err: err}, out, err
}

// Printf writes a result.
func (s *Streams) Printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, _ = fmt.Fprintf(s.Out, format, args...)
}

// JSON writes a result as indented JSON.
func (s *Streams) JSON(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	enc := json.NewEncoder(s.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Say tells the user something that is not the result. --quiet silences it.
func (s *Streams) Say(format string, args ...any) {
	if !s.Quiet {
		s.line(fmt.Sprintf(format, args...))
	}
}

// Detail is said only with --verbose.
func (s *Streams) Detail(format string, args ...any) {
	if s.Verbose && !s.Quiet {
		s.line(fmt.Sprintf(format, args...))
	}
}

// Warn is said always.
func (s *Streams) Warn(format string, args ...any) {
	s.line("warning: " + fmt.Sprintf(format, args...))
}

// Fail says why a command went wrong, always.
func (s *Streams) Fail(err error) { s.line(err.Error()) }

func (s *Streams) line(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, _ = fmt.Fprintf(s.Err, "cco: %s\n", words)
}

// Progress shows what is going on: a line that is rewritten on a terminal, a line each otherwise.
func (s *Streams) Progress(format string, args ...any) {
	if s.Quiet {
		return
	}
	words := fmt.Sprintf(format, args...)
	if !s.ErrTTY {
		s.line(words)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, _ = fmt.Fprintf(s.Err, "\x1b[2m%s\x1b[0m", s.fit(words))
	s.live = true
}

// Live shows passing figures (per cent, seconds) on a terminal and nothing otherwise.
func (s *Streams) Live(format string, args ...any) {
	if s.ErrTTY {
		s.Progress(format, args...)
	}
}

// Settle removes an unfinished progress line.
func (s *Streams) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

// Bell rings where a person may be away from a terminal.
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
	runes := []rune(Clean(words))
	if len(runes) >= width {
		runes = append(runes[:max(0, width-2)], '…')
	}
	return string(runes)
}

// Paint colours words where the output is a terminal that shows colours.
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

// Clean makes text from a box fit to be shown: control characters, which could drive the user's terminal, become '?'.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return '?'
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '?' // these turn the reading direction around and can make text lie
		default:
			return r
		}
	}, text)
}

package git

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Progress is one step of something that takes long: "Compressing objects", 10 of 200. Total is 0 when it isn't known.
type Progress struct {
	Step        string
	Done, Total int64
}

// ProgressFunc receives progress, from one goroutine at a time. It must not block.
type ProgressFunc func(Progress)

// Meter reads git's standard error: progress goes to report, everything else is kept for the error message.
type Meter struct {
	report ProgressFunc
	words  proc.Tail
	line   []byte
}

// NewMeter gives one that reports to report, which may be nil.
func NewMeter(report ProgressFunc) *Meter {
	return &Meter{report: report, words: proc.Tail{Max: 4096}}
}

// Write never fails.
func (m *Meter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			break
		}
		m.readLine(append(m.line, p[:i]...))
		m.line, p = m.line[:0], p[i+1:]
	}
	// A line without an end must not grow without bound.
	if room := 4096 - len(m.line); room > 0 {
		m.line = append(m.line, p[:min(room, len(p))]...)
	}
	return n, nil
}

func (m *Meter) readLine(line []byte) {
	if p, ok := parseProgress(string(line)); ok {
		if m.report != nil {
			m.report(p)
		}
		return
	}
	if len(bytes.TrimSpace(line)) > 0 {
		_, _ = m.words.Write(append(bytes.Clone(line), '\n'))
	}
}

// Words is git's output other than progress.
func (m *Meter) Words() string { return m.words.String() }

// Explain adds git's message to its error.
func (m *Meter) Explain(err error) error {
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		return err
	}
	if len(m.line) > 0 {
		m.readLine(m.line)
		m.line = nil
	}
	with := *exit
	with.Stderr = m.Words()
	return &with
}

// parseProgress reads "Counting objects:  50% (10/20), done." and "Enumerating objects: 20, done."
func parseProgress(line string) (Progress, bool) {
	step, rest, ok := strings.Cut(line, ": ")
	if !ok || step == "" || step[0] < 'A' || step[0] > 'Z' || !strings.Contains(step, " ") {
		return Progress{}, false
	}
	rest = strings.TrimSpace(rest)
	if _, pair, ok := strings.Cut(rest, "% ("); ok {
		pair, _, _ = strings.Cut(pair, ")")
		a, b, ok := strings.Cut(pair, "/")
		done, err := strconv.ParseInt(a, 10, 64)
		total, err2 := strconv.ParseInt(b, 10, 64)
		return Progress{step, done, total}, ok && err == nil && err2 == nil
	}
	number, _, _ := strings.Cut(rest, ",")
	done, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	return Progress{Step: step, Done: done}, err == nil
}

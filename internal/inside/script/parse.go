package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Task is one step of a plan: the text below a heading `Task N`, up to the next task or to a heading that is no deeper.
type Task struct {
	Number int
	Title  string // the whole heading
	Line   int    // the line of the heading in the plan
	Fences []Fence
}

// Fence is one block of shell.
type Fence struct {
	Line   int // the line of its first line of shell in the plan
	Script string
}

// ErrNoTasks says that a plan has nothing to carry out.
var ErrNoTasks = errors.New("the plan has no task: a task is a heading like `## Task 1: …`")

// Parse reads the tasks of a plan. Text that could be meant as shell but would not run is an error.
func Parse(markdown []byte) ([]Task, error) {
	if bytes.IndexByte(markdown, 0) >= 0 {
		return nil, errors.New("the plan holds a NUL, so it is not text")
	}
	text := strings.TrimPrefix(string(markdown), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	p := &parser{lines: strings.Split(text, "\n")}
	for p.at < len(p.lines) {
		if err := p.block(); err != nil {
			return nil, err
		}
	}
	if len(p.tasks) == 0 {
		return nil, ErrNoTasks
	}
	return p.tasks, nil
}

// mark identifies a task by its shell: a new title or a change to another task does not change it.
func (t Task) mark() string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, t.Number)
	for _, f := range t.Fences {
		_, _ = fmt.Fprintf(h, "%d\n%s", len(f.Script), f.Script)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// parser knows as much of CommonMark as it needs to find headings and fences. It works line by line.
type parser struct {
	lines []string
	at    int
	tasks []Task
	level int // the heading level of the current task, 0 outside

	para   []string // the paragraph so far, which an underline makes a heading
	inList bool     // in a list item or a quotation, where it does not
}

// The patterns are compiled when a plan is first read: every program in a box has this package linked in.
var (
	atx       = pattern(`^ {0,3}(#{1,6})(?:[ \t]+(.*))?$`)
	closing   = pattern(`(?:^|[ \t]+)#+[ \t]*$`)
	underline = pattern(`^ {0,3}(=+|-+)[ \t]*$`)
	fence     = pattern("^([ \t]*)(`{3,}|~{3,})(.*)$")
	rule      = pattern(`^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	container = pattern(`^ {0,3}(?:>|[-+*](?:[ \t]|$)|[0-9]{1,9}[.)](?:[ \t]|$))`)
	comment   = pattern(`^ {0,3}<!--`)
	taskLike  = pattern(`^(?i:task)[ \t]+([0-9]\S*)`)
	taskName  = pattern(`^([0-9]{1,9})(?:[^0-9A-Za-z_.]|\.?$)`)
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// block reads the next line, or the whole block that begins there.
func (p *parser) block() error {
	line := p.lines[p.at]
	if m := fence().FindStringSubmatch(line); m != nil && (m[2][0] == '~' || !strings.Contains(m[3], "`")) {
		return p.fence(m[1], m[2], m[3])
	}
	if comment().MatchString(line) {
		return p.comment()
	}
	defer func() { p.at++ }()
	if m := atx().FindStringSubmatch(line); m != nil {
		p.endParagraph()
		return p.heading(len(m[1]), closing().ReplaceAllString(m[2], ""), p.at+1)
	}
	if m := underline().FindStringSubmatch(line); m != nil && len(p.para) > 0 {
		text, first := strings.Join(p.para, " "), p.at+1-len(p.para)
		p.endParagraph()
		level := 1
		if m[1][0] == '-' {
			level = 2
		}
		return p.heading(level, text, first)
	}
	switch {
	case strings.TrimSpace(line) == "", rule().MatchString(line):
		p.endParagraph()
	case container().MatchString(line):
		p.para, p.inList = nil, true
	case p.inList: // a lazy continuation
	case len(p.para) == 0 && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")): // indented code
	default:
		p.para = append(p.para, strings.TrimSpace(line))
	}
	return nil
}

func (p *parser) endParagraph() { p.para, p.inList = nil, false }

func (p *parser) heading(level int, text string, line int) error {
	text = strings.TrimSpace(text)
	m := taskLike().FindStringSubmatch(text)
	if m == nil {
		if level <= p.level {
			p.level = 0
		}
		return nil
	}
	n := taskName().FindStringSubmatch(m[1])
	if n == nil {
		return fmt.Errorf("plan line %d: heading %q: a task has a whole number", line, text)
	}
	number, err := strconv.Atoi(n[1])
	if err != nil {
		return fmt.Errorf("plan line %d: heading %q: %w", line, text, err)
	}
	for _, t := range p.tasks {
		if t.Number == number {
			return fmt.Errorf("plan line %d: a second task %d, the first is at line %d", line, number, t.Line)
		}
	}
	p.tasks = append(p.tasks, Task{Number: number, Title: text, Line: line})
	p.level = level
	return nil
}

// comment skips an HTML comment: shell that is commented out must not run.
func (p *parser) comment() error {
	p.endParagraph()
	for i := p.at; i < len(p.lines); i++ {
		if strings.Contains(p.lines[i], "-->") {
			p.at = i + 1
			return nil
		}
	}
	return fmt.Errorf("plan line %d: the comment that begins here has no end", p.at+1)
}

// fence reads a fenced block, whose content is only text, and keeps it if it is the current task's shell.
func (p *parser) fence(indent, marks, info string) error {
	first := p.at + 1
	lang, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(info), "\t", " "), " ")
	shell := p.level > 0 && (strings.EqualFold(lang, "sh") || strings.EqualFold(lang, "bash"))
	if len(indent) > 3 || strings.Contains(indent, "\t") {
		if shell {
			return fmt.Errorf("plan line %d: a fence that is indented by more than 3 spaces can't be run", first)
		}
		p.at++ // indented code, or deep in a list: text in either case
		return nil
	}
	p.endParagraph()
	var body []string
	for p.at++; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if closes(line, marks) {
			p.at++
			if shell {
				t := &p.tasks[len(p.tasks)-1]
				t.Fences = append(t.Fences, Fence{Line: first + 1, Script: strings.Join(body, "")})
			}
			return nil
		}
		body = append(body, unindent(line, len(indent))+"\n")
	}
	return fmt.Errorf("plan line %d: the fence that begins here has no end", first)
}

func closes(line, marks string) bool {
	m := fence().FindStringSubmatch(line)
	return m != nil && len(m[1]) <= 3 && !strings.Contains(m[1], "\t") &&
		strings.HasPrefix(m[2], marks) && strings.TrimSpace(m[3]) == ""
}

func unindent(line string, n int) string {
	for range n {
		line = strings.TrimPrefix(line, " ")
	}
	return line
}

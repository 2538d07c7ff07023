package gate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// change is what happened to one file.
type change struct {
	path           string
	was, is        string // modes, "" where there is no file
	wasOID, isOID  string
	commit         string
	binary         bool
	cut            bool  // it has more lines than were kept
	plus, minus    int   // lines
	size           int64 // bytes of the lines that were added
	added, removed []line
	hunk           int
	begun, keep    bool // it was told of; its lines are kept
}

type line struct {
	no, hunk int
	sign     string
	text     string
}

// isLink says that a change makes, changes or removes something that stands for files elsewhere.
func (c *change) isLink() bool {
	return c.is == git.ModeLink || c.is == git.ModeGitlink || c.was == git.ModeLink || c.was == git.ModeGitlink
}

func (c *change) gone() bool  { return c.is == "" }
func (c *change) fresh() bool { return c.was == "" }

// sink takes a patch, file by file. The text of a line is only valid during the call.
type sink interface {
	file(c *change)
	line(c *change, added bool, no int, text []byte)
	end(c *change)
}

// maxLine is how much of one line is looked at.
const maxLine = 1 << 20

// readPatch runs a git that writes patches without context, and hands them over as they come. The output may have
// lines with a NUL and the id of the commit that follows.
func readPatch(ctx context.Context, h git.Host, to sink, stdin io.Reader, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	c := h.Cmd(args...)
	c.Stdin, c.Stdout = stdin, pw
	p, err := h.Start(ctx, c)
	if err != nil {
		return err
	}
	go func() { _ = pw.CloseWithError(p.Wait()) }()
	r := &patchReader{in: bufio.NewReaderSize(pr, 256<<10), to: to}
	if err = r.all(); err != nil {
		_ = pr.CloseWithError(err)
	}
	return err
}

type patchReader struct {
	in     *bufio.Reader
	to     sink
	long   []byte
	commit string
	now    *change
}

// next reads a line, and leaves out what is beyond maxLine.
func (r *patchReader) next() ([]byte, error) {
	b, more, err := r.in.ReadLine()
	if !more {
		return b, err
	}
	r.long = append(r.long[:0], b...)
	for more && err == nil {
		if b, more, err = r.in.ReadLine(); len(r.long) < maxLine {
			r.long = append(r.long, b...)
		}
	}
	return r.long, err
}

func (r *patchReader) all() error {
	for {
		b, err := r.next()
		if errors.Is(err, io.EOF) {
			r.flush()
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case len(b) > 0 && b[0] == 0:
			r.flush()
			r.commit = string(b[1:])
		case bytes.HasPrefix(b, []byte("diff --git ")):
			r.flush()
			r.now = &change{path: bothNames(string(b[len("diff --git "):])), commit: r.commit}
		case r.now == nil:
		case bytes.HasPrefix(b, []byte("@@ ")):
			if err := r.hunk(string(b)); err != nil {
				return err
			}
		default:
			r.header(string(b))
		}
	}
}

func (r *patchReader) flush() {
	if c := r.now; c != nil {
		r.begin(c)
		r.to.end(c)
	}
	r.now = nil
}

// begin tells of a file once, when its header is complete.
func (r *patchReader) begin(c *change) {
	if !c.begun {
		c.begun = true
		r.to.file(c)
	}
}

// header reads a line between "diff" and the first hunk.
func (r *patchReader) header(s string) {
	c := r.now
	for prefix, mode := range map[string]*string{"new file mode ": &c.is, "deleted file mode ": &c.was,
		"old mode ": &c.was, "new mode ": &c.is} {
		if is, ok := strings.CutPrefix(s, prefix); ok {
			*mode = is
			return
		}
	}
	switch word, rest, _ := strings.Cut(s, " "); word {
	case "index":
		oids, mode, _ := strings.Cut(rest, " ")
		if c.wasOID, c.isOID, _ = strings.Cut(oids, ".."); mode != "" {
			c.was, c.is = mode, mode
		}
	case "---", "+++":
		if name := unquote(strings.TrimSuffix(rest, "\t")); len(name) > 2 && name != "/dev/null" {
			c.path = name[2:]
		}
	case "Binary":
		c.binary = true
	}
}

var hunkHead = expr(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunk reads the lines that "@@ -a,b +c,d @@" announces.
func (r *patchReader) hunk(head string) error {
	m := hunkHead().FindStringSubmatch(head)
	if m == nil {
		return fmt.Errorf("git wrote %s", git.Quote(git.Clip(head)))
	}
	var n [4]int
	for i, text := range m[1:] {
		n[i], _ = strconv.Atoi(cmp.Or(text, "1")) // digits, or nothing; what is too large runs into the end
	}
	minusAt, minus, plusAt, plus := n[0], n[1], n[2], n[3]
	c := r.now
	r.begin(c)
	c.hunk++
	for minus > 0 || plus > 0 {
		b, err := r.next()
		if err != nil {
			return err
		}
		switch {
		case len(b) > 0 && b[0] == '+':
			c.plus++
			c.size += int64(len(b))
			r.to.line(c, true, plusAt, b[1:])
			plusAt++
			plus--
		case len(b) > 0 && b[0] == '-':
			c.minus++
			r.to.line(c, false, minusAt, b[1:])
			minusAt++
			minus--
		case len(b) > 0 && b[0] == '\\': // no newline at the end of the file
		default:
			return fmt.Errorf("git wrote %s in a hunk", git.Quote(git.Clip(string(b))))
		}
	}
	return nil
}

// bothNames takes the name out of "a/NAME b/NAME", which are equal because renames are not looked for.
func bothNames(s string) string {
	if strings.HasPrefix(s, `"`) {
		if q, err := strconv.QuotedPrefix(s); err == nil {
			return strings.TrimPrefix(unquote(q), "a/")
		}
	}
	if n := len(s) / 2; len(s) > 4 {
		return s[2:n]
	}
	return s
}

// unquote undoes git's quotes, which are C's.
func unquote(s string) string {
	if plain, err := strconv.Unquote(s); err == nil && s[0] == '"' && len(plain) > 2 {
		return plain
	}
	return s
}

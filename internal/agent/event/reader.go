package event

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is how much of one line is kept. It is more than agents really write: a model's longest answer and a picture
// fit in.
const MaxLine = 4 << 20

// gather puts one line together, up to a size.
type gather struct {
	buf []byte
	max int
	cut bool
}

func (g *gather) add(part []byte) {
	if room := g.max - len(g.buf); len(part) > room {
		g.cut, part = true, part[:room]
	}
	g.buf = append(g.buf, part...)
}

func (g *gather) empty() bool { return len(g.buf) == 0 && !g.cut }

// reset forgets the line, and the memory too if the line was far longer than usual.
func (g *gather) reset() {
	const usual = 256 << 10
	g.buf, g.cut = g.buf[:0], false
	if cap(g.buf) > usual {
		g.buf = nil
	}
}

// Reader splits any stream into lines with bounded memory.
type Reader struct {
	in    *bufio.Reader
	line  gather
	at    int64
	whole bool
}

// NewReader reads the lines of r, of each at most MaxLine bytes.
func NewReader(r io.Reader) *Reader { return newReader(r, MaxLine) }

func newReader(r io.Reader, most int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), line: gather{max: most}}
}

// Next gives the next line without its end, valid until the next call. Cut says that there was more of it. After the
// last line, which need not have an end, the error is io.EOF.
func (r *Reader) Next() (line []byte, cut bool, err error) {
	r.line.reset()
	for {
		part, err := r.in.ReadSlice('\n')
		ended := err == nil
		r.at, r.whole = r.at+int64(len(part)), ended
		if ended {
			part = part[:len(part)-1]
			if r.line.empty() && len(part) <= r.line.max {
				return chomp(part), false, nil // nothing had to be copied
			}
		}
		r.line.add(part)
		switch {
		case ended:
			return chomp(r.line.buf), r.line.cut, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case r.line.empty():
			return nil, false, err
		default:
			return chomp(r.line.buf), r.line.cut, nil // the error comes again with the next call
		}
	}
}

// Offset is where the next line begins.
func (r *Reader) Offset() int64 { return r.at }

// Whole says whether the last line had an end.
func (r *Reader) Whole() bool { return r.whole }

func chomp(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

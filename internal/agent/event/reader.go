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

// Reader splits any stream into lines with bounded memory.
type Reader struct {
	in    *bufio.Reader
	buf   []byte // a line that is longer than what in holds
	most  int
	at    int64
	whole bool
}

// NewReader reads the lines of r, of each at most MaxLine bytes.
func NewReader(r io.Reader) *Reader { return newReader(r, MaxLine) }

func newReader(r io.Reader, most int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), most: most}
}

// Next gives the next line without its end, valid until the next call. Cut says that there was more of it. After the
// last line, which need not have an end, the error is io.EOF.
func (r *Reader) Next() (line []byte, cut bool, err error) {
	const usual = 256 << 10
	if r.buf = r.buf[:0]; cap(r.buf) > usual {
		r.buf = nil
	}
	for {
		part, err := r.in.ReadSlice('\n')
		r.at, r.whole = r.at+int64(len(part)), err == nil
		part = bytes.TrimSuffix(part, []byte{'\n'})
		first := len(r.buf) == 0 && !cut
		if r.whole && first && len(part) <= r.most {
			return chomp(part), false, nil // nothing has to be copied
		}
		if room := r.most - len(r.buf); len(part) > room {
			cut, part = true, part[:room]
		}
		r.buf = append(r.buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && first && len(part) == 0 && !cut:
			return nil, false, err
		default:
			return chomp(r.buf), cut, nil // an error comes again with the next call
		}
	}
}

// Offset is where the next line begins.
func (r *Reader) Offset() int64 { return r.at }

// Whole says whether the last line had an end.
func (r *Reader) Whole() bool { return r.whole }

func chomp(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/cco-dev/cco/internal/agent/event"
)

// Record is a transcript that is read in parts.
type Record struct {
	file *os.File
	size int64
}

// OpenRecord opens a session's transcript as it is now.
func (s *Service) OpenRecord(id string) (*Record, error) {
	if !ValidID(id) {
		return nil, noID(id)
	}
	f, err := os.Open(s.TranscriptFile(id))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Record{file: f, size: info.Size()}, nil
}

// Close closes the transcript.
func (r *Record) Close() error { return r.file.Close() }

// Size is that of the transcript.
func (r *Record) Size() int64 { return r.size }

// Skip passes over up to n events, and says how many there were and where it is then.
func (r *Record) Skip(n int64) (events, at int64, err error) {
	in := bufio.NewReaderSize(r.Section(0), 256<<10)
	for events < n {
		part, err := in.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case err == nil:
			events++
		case errors.Is(err, io.EOF):
			return events, at, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return events, at, err
		}
	}
	return events, at, nil
}

// Line is one event of a record, and where it is.
type Line struct {
	Event
	Offset, Next int64 // where its line begins, and the one after it
}

// Read calls each for the events from an offset on, and says where it stopped: before a line that is not whole yet.
func (r *Record) Read(from int64, each func(Line) (more bool)) (int64, error) {
	return ReadLines(r.file, from, r.size, each)
}

// buffers are used again: who follows many transcripts reads a few bytes of each, many times a second.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// ReadLines reads the events of a transcript between an offset and the size that it had.
func ReadLines(in io.ReaderAt, from, size int64, each func(Line) (more bool)) (int64, error) {
	buf := buffers.Get().(*bufio.Reader)
	defer buffers.Put(buf)
	buf.Reset(io.NewSectionReader(in, from, max(0, size-from)))
	lines := event.NewReader(buf)
	for {
		at := from + lines.Offset()
		line, cut, err := lines.Next()
		next := from + lines.Offset()
		if errors.Is(err, io.EOF) || err == nil && !lines.Whole() {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		l := Line{Offset: at, Next: next}
		if cut || json.Unmarshal(line, &l.Event) != nil {
			continue
		}
		if !each(l) {
			return next, nil
		}
	}
}

// Section is the transcript's bytes from an offset on.
func (r *Record) Section(from int64) io.Reader {
	return io.NewSectionReader(r.file, from, max(0, r.size-from))
}

package session

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
)

// markEvery is how many events lie between two marks of an index.
const markEvery = 1000

// markSize is that of a mark on disk: the offset of an event, and its time in milliseconds.
const markSize = 16

// indexFile is beside its transcript.
func indexFile(transcript string) string { return strings.TrimSuffix(transcript, ".jsonl") + ".index" }

// index marks where each thousandth event of a transcript begins. It is only an aid: a reader does without what is
// missing, so that a failure to write it harms nothing.
type index struct {
	file  *os.File
	count int64 // events so far
}

func (x *index) open(path string, transcript *os.File, size int64) {
	f, err := os.OpenFile(indexFile(path), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	marks := readMarks(f, size)
	if f.Truncate(int64(len(marks))*markSize) != nil { // what a killed keeper left half written
		_ = f.Close()
		return
	}
	x.file = f
	var from int64
	if len(marks) > 0 {
		x.count = int64(len(marks)-1) * markEvery
		from = marks[len(marks)-1]
	}
	// Count on from the last mark, and make marks that are missing.
	_ = eachLine(io.NewSectionReader(transcript, from, size-from), func(offset int64, line []byte) error {
		if from+offset == from && len(marks) > 0 {
			x.count++
			return nil
		}
		var e struct {
			At time.Time `json:"at"`
		}
		if x.count%markEvery == 0 {
			_ = json.Unmarshal(line, &e) // without a time it is still a place
		}
		x.note(from+offset, e.At)
		return nil
	})
}

// note counts an event that begins at an offset.
func (x *index) note(offset int64, at time.Time) {
	if x.file == nil {
		return
	}
	if x.count%markEvery == 0 {
		var mark [markSize]byte
		binary.BigEndian.PutUint64(mark[:8], uint64(offset))
		binary.BigEndian.PutUint64(mark[8:], uint64(at.UnixMilli()))
		if n, err := x.file.Write(mark[:]); err != nil || n != markSize {
			_ = x.file.Close()
			x.file = nil
			return
		}
	}
	x.count++
}

func (x *index) close() {
	if x.file != nil {
		_ = x.file.Close()
		x.file = nil
	}
}

// readMarks reads the offsets of an index, as far as they can be true.
func readMarks(f io.Reader, size int64) (marks []int64) {
	// A line has two bytes at least, so there are no more marks than this.
	data, err := io.ReadAll(io.LimitReader(f, (size/(2*markEvery)+1)*markSize))
	if err != nil {
		return nil
	}
	for ; len(data) >= markSize; data = data[markSize:] {
		at := int64(binary.BigEndian.Uint64(data))
		if at < 0 || at >= size || len(marks) > 0 && at <= marks[len(marks)-1] || len(marks) == 0 && at != 0 {
			break
		}
		marks = append(marks, at)
	}
	return marks
}

// eachLine calls each for every whole line with its offset.
func eachLine(r io.Reader, each func(offset int64, line []byte) error) error {
	lines := event.NewReader(r)
	for {
		at := lines.Offset()
		line, _, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(at, line); err != nil {
			return err
		}
	}
}

// Record is a transcript that is read in parts.
type Record struct {
	file  *os.File
	size  int64
	marks []int64
}

// OpenRecord opens a session's transcript as it is now.
func (s *Service) OpenRecord(id string) (*Record, error) {
	if !validID(id) {
		return nil, &InvalidIDError{ID: id}
	}
	f, err := os.Open(s.TranscriptFile(id))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &Record{file: f, size: info.Size()}
	if x, err := os.Open(indexFile(s.TranscriptFile(id))); err == nil {
		r.marks = readMarks(x, r.size)
		_ = x.Close()
	}
	if len(r.marks) == 0 && r.size > 0 {
		r.marks = []int64{0}
	}
	return r, nil
}

// Close closes the transcript.
func (r *Record) Close() error { return r.file.Close() }

// Size is that of the transcript.
func (r *Record) Size() int64 { return r.size }

// Count counts the events.
func (r *Record) Count() (int64, error) {
	if len(r.marks) == 0 {
		return 0, nil
	}
	n, _, err := r.skip(r.marks[len(r.marks)-1], 1<<62)
	return int64(len(r.marks)-1)*markEvery + n, err
}

// Offset is where event n begins, or the end where there are fewer.
func (r *Record) Offset(n int64) (int64, error) {
	if len(r.marks) == 0 || n <= 0 {
		return 0, nil
	}
	m := min(n/markEvery, int64(len(r.marks)-1))
	_, at, err := r.skip(r.marks[m], n-m*markEvery)
	return at, err
}

// skip passes over up to n whole lines, and says how many there were and where it is then.
func (r *Record) skip(from, n int64) (lines, at int64, err error) {
	at = from
	buf := make([]byte, 256<<10)
	for lines < n && at < r.size {
		chunk := buf[:min(int64(len(buf)), r.size-at)]
		got, err := r.file.ReadAt(chunk, at)
		chunk = chunk[:got]
		if got == 0 {
			return lines, at, err
		}
		if need := n - lines; int64(bytes.Count(chunk, []byte{'\n'})) < need {
			lines += int64(bytes.Count(chunk, []byte{'\n'}))
			at += int64(got)
			continue
		}
		for ; lines < n; lines++ {
			i := bytes.IndexByte(chunk, '\n') + 1
			chunk, at = chunk[i:], at+int64(i)
		}
	}
	return lines, at, nil
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

// ReadLines reads the events of a transcript between an offset and the size that it had.
func ReadLines(in io.ReaderAt, from, size int64, each func(Line) (more bool)) (int64, error) {
	lines := event.NewReader(io.NewSectionReader(in, from, max(0, size-from)))
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

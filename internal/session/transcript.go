package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
)

// Event is one line of a transcript.
type Event struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	Text string    `json:"text,omitempty"`
	Data []byte    `json:"data,omitempty"` // what a terminal showed, as it was
	Raw  bool      `json:"raw,omitempty"`  // a line that the events beside it already explain
	Cols uint16    `json:"cols,omitempty"` // a terminal's size
	Rows uint16    `json:"rows,omitempty"`

	Writer string `json:"writer,omitempty"` // the client that has the keyboard of a terminal; "" is nobody

	Agent *event.Event `json:"agent,omitempty"`
}

// Kind says what an event is.
type Kind string

// The kinds of events.
const (
	KindStep   Kind = "step"   // the keeper begins something
	KindOut    Kind = "out"    // the agent's standard output
	KindErr    Kind = "err"    // the agent's standard error
	KindTTY    Kind = "tty"    // the agent's terminal
	KindSize   Kind = "size"   // the agent's terminal has the size that Cols and Rows say
	KindWriter Kind = "writer" // the client that Writer names has the keyboard of the agent's terminal
	KindAgent  Kind = "agent"  // the agent has started
	KindEvent  Kind = "event"  // something that the agent did, in Agent
	// KindRecord is what the CLI of an agent on a terminal wrote down of its conversation, in Agent: the terminal shows
	// the same in its own way.
	KindRecord Kind = "record"
	KindDoor   Kind = "door" // something that did not leave the box, and why
	KindNote   Kind = "note" // something that a person may ignore
	// KindReply is the keeper's word to the client that Writer names: Text says why it does not do what was asked for, or
	// not yet.
	KindReply Kind = "reply"
	KindEnd   Kind = "end" // the session has ended in the state that Text names
)

// maxChunk bounds one event, so that a line without an end fills neither memory nor a reader's buffer.
const maxChunk = 64 << 10

// maxTranscript bounds a transcript, which an agent fills.
const maxTranscript = 256 << 20

// Transcript appends events to a file and lets any number of readers follow it.
type Transcript struct {
	now  func() time.Time
	most int64

	mu     sync.Mutex
	file   *os.File
	size   int64
	more   chan struct{} // closed and replaced at each append
	closed bool
	full   bool
}

// OpenTranscript opens a transcript to append to it.
func OpenTranscript(path string, now func() time.Time) (*Transcript, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	size, err := endLine(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Transcript{now: now, most: maxTranscript, file: f, size: size, more: make(chan struct{})}, nil
}

// endLine ends the last line of a keeper that was killed while it wrote: the next event would be lost with it.
func endLine(f *os.File) (size int64, err error) {
	if size, err = f.Seek(0, io.SeekEnd); err != nil || size == 0 {
		return size, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	n, err := f.Write([]byte{'\n'})
	return size + int64(n), err
}

// Step records what the keeper is doing.
func (t *Transcript) Step(format string, args ...any) { t.Add(KindStep, fmt.Sprintf(format, args...)) }

func (t *Transcript) Add(kind Kind, text string) { t.Append(Event{Kind: kind, Text: text}) }

// AddLine keeps a line of the agent's output as it was. Raw says that its meaning is in the events beside it.
func (t *Transcript) AddLine(kind Kind, line []byte, raw bool) {
	for {
		n := min(len(line), maxChunk)
		t.Append(Event{Kind: kind, Text: string(line[:n]), Raw: raw})
		if line = line[n:]; len(line) == 0 {
			return
		}
	}
}

// AddEvent keeps what the agent did. A reader's buffer must hold it, so an event that is too long keeps only its kind.
func (t *Transcript) AddEvent(e event.Event) { t.add(KindEvent, e) }

// AddRecord keeps what a CLI wrote down.
func (t *Transcript) AddRecord(e event.Event) { t.add(KindRecord, e) }

func (t *Transcript) add(kind Kind, e event.Event) {
	if len(e.Text)+len(e.Input)+len(e.Raw) > 2*maxChunk {
		e.Input, e.Raw, e.Cut = nil, "", true
	}
	t.Append(Event{Kind: kind, Agent: &e})
}

func (t *Transcript) Append(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.size > t.most && !e.matters() {
		return
	}
	if t.size > t.most && !t.full {
		t.full = true
		t.write(Event{Kind: KindStep, Text: "the transcript is full: only what matters is kept from here on"})
	}
	t.write(e)
	close(t.more)
	t.more = make(chan struct{})
}

// matters says whether an event is kept even in a full transcript.
func (e Event) matters() bool {
	switch e.Kind {
	case KindOut, KindErr, KindTTY, KindSize, KindRecord:
		return false
	case KindEvent:
		return e.Agent != nil && (e.Agent.Kind == event.KindFinished || e.Agent.Kind == event.KindQuestion ||
			e.Agent.Kind == event.KindStarted)
	}
	return true
}

func (t *Transcript) write(e Event) {
	e.At = t.now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	n, _ := t.file.Write(append(line, '\n'))
	t.size += int64(n)
}

func (t *Transcript) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	close(t.more)
	return t.file.Sync()
}

// CopyTo writes the transcript to w from the beginning, and goes on as it grows until it is closed.
func (t *Transcript) CopyTo(w io.Writer, stop <-chan struct{}) error {
	var at int64
	for {
		t.mu.Lock()
		size, more, closed := t.size, t.more, t.closed
		t.mu.Unlock()
		if at < size {
			n, err := io.Copy(w, io.NewSectionReader(t.file, at, size-at))
			at += n
			if err != nil {
				return err
			}
			continue
		}
		if closed {
			return nil
		}
		select {
		case <-more:
		case <-stop:
			return nil
		}
	}
}

// ReadEvents calls each for the events in r, until it ends. It skips lines that are no events.
func ReadEvents(r io.Reader, each func(Event) error) error {
	lines := event.NewReader(r)
	for {
		line, _, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var e Event
		if json.Unmarshal(line, &e) != nil { // or cut short
			continue
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

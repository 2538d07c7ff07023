package keep

import (
	"bytes"
	"sync"

	"github.com/cco-dev/cco/internal/session"
)

// lines is a writer that makes an event of each line, or of each session.MaxChunk of a longer one.
type lines struct {
	kind session.Kind
	raw  bool
	to   *session.Transcript
	each func(line []byte) // hears them too, if set

	mu   sync.Mutex
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		switch {
		case i >= 0 && i <= session.MaxChunk:
			l.add(l.rest[:i])
			l.rest = l.rest[i+1:]
		case len(l.rest) > session.MaxChunk:
			l.add(l.rest[:session.MaxChunk])
			l.rest = l.rest[session.MaxChunk:]
		default:
			l.rest = bytes.Clone(l.rest)
			return len(p), nil
		}
	}
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.add(l.rest)
		l.rest = nil
	}
}

func (l *lines) add(line []byte) {
	l.to.Append(session.Event{Kind: l.kind, Text: string(line), Raw: l.raw})
	if l.each != nil {
		l.each(line)
	}
}

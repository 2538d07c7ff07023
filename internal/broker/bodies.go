package broker

import (
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// bodies records what passes on model routes, if the user asked for it.
type bodies struct {
	to io.Writer
	mu sync.Mutex
	n  atomic.Int64
}

// bodyLine is one line of it: a piece of one body.
type bodyLine struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Body    int64     `json:"body"` // the same for all pieces of one
	What    string    `json:"what"` // "request" or "response"
	Path    string    `json:"path"`
	Data    string    `json:"data"`
}

// bodyLog records one body. A nil one writes nothing.
type bodyLog struct {
	b    *bodies
	line bodyLine
	now  func() time.Time
	key  string
	tail []byte // the last bytes, which may be the beginning of the key
}

func (b *bodies) open(x *exchange, what string) *bodyLog {
	if b.to == nil {
		return nil
	}
	d := x.rt.door
	return &bodyLog{b: b, now: d.cfg.Now, key: x.rt.up.Key.mask(),
		line: bodyLine{Session: d.cfg.Session, Body: b.n.Add(1), What: what, Path: x.entry.Path}}
}

// write records the next piece; an empty one is the end.
func (l *bodyLog) write(p []byte) {
	if l == nil {
		return
	}
	data := append(l.tail, p...)
	m := masker{secret: []byte(l.key)}
	keep := 0
	if l.key != "" {
		if keep = m.cover(data); len(p) == 0 {
			keep = 0
		}
	}
	l.tail = append([]byte(nil), data[len(data)-keep:]...)
	if data = data[:len(data)-keep]; len(data) == 0 {
		return
	}
	l.line.Time, l.line.Data = l.now(), string(data)
	text, err := json.Marshal(l.line)
	if err != nil {
		return
	}
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	_, _ = l.b.to.Write(append(text, '\n'))
}

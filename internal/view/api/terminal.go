package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/view/entry"
	"github.com/cco-dev/cco/internal/vt"
)

// Keys is what a terminal's page sends.
type Keys struct {
	Take bool   `json:"take,omitempty" doc:"this page wants the keyboard; another page or attach that had it loses it"`
	Data string `json:"data,omitempty" doc:"what was typed, if this page has the keyboard"`
	Cols int    `json:"cols,omitempty" doc:"the page's size, which the terminal takes on if this page has the keyboard"`
	Rows int    `json:"rows,omitempty" doc:"likewise"`
}

// Screen is what a terminal's page gets, beside the bytes of the screen, which come as binary messages.
type Screen struct {
	Kind string `json:"kind" doc:"size, writer, reader or ended"`
	Cols int    `json:"cols,omitempty" doc:"the terminal's size"`
	Rows int    `json:"rows,omitempty" doc:"likewise"`
}

// pageTerminal is one page that shows a terminal. Which page or attach has the keyboard is for its keeper to say: in
// the transcript, by the name that it was taken with.
type pageTerminal struct {
	id   string
	name string
	conn *websocket.Conn

	mu   sync.Mutex
	link *session.Link // while this page has, or has asked for, the keyboard
	has  bool
}

// wrote notes who has the keyboard now, and says whether that changes anything for this page.
func (p *pageTerminal) wrote(name string) (s Screen, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	has := name == p.name
	changed, p.has = has != p.has, has
	return Screen{Kind: map[bool]string{true: "writer", false: "reader"}[has]}, changed
}

// maxKeys bounds one message of a page: a paste.
const maxKeys = 256 << 10

// terminal shows an agent's terminal, and lets one page at a time type into it.
func (d *Desk) terminal(w http.ResponseWriter, r *http.Request) {
	rec, err := d.Sessions.Get(r.Context(), r.PathValue("id"))
	if err == nil && !d.Sessions.OnTerminal(rec.ID) {
		err = &session.StateError{ID: rec.ID, State: rec.State, Why: "its agent has no terminal"}
	}
	if err != nil {
		d.fail(w, err)
		return
	}
	// Who may come in was decided before: origins of tunnels are others than the Host that we see.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
		Subprotocols: []string{entry.SocketProtocol}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxKeys)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p := &pageTerminal{id: rec.ID, name: rand.Text(), conn: conn}
	defer p.hangUp()
	go func() {
		defer cancel()
		d.typed(ctx, p, r)
	}()
	d.show(ctx, p)
	_ = conn.Close(websocket.StatusNormalClosure, "")
}

func (p *pageTerminal) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link != nil {
		_ = p.link.Close()
	}
}

func (p *pageTerminal) tell(ctx context.Context, s Screen) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	return p.conn.Write(ctx, websocket.MessageText, data)
}

// show passes on what is on the terminal. A filter leaves only what draws: nothing sets a title or the clipboard, asks
// the browser something or hides where a link leads.
func (d *Desk) show(ctx context.Context, p *pageTerminal) {
	filter := vt.NewFilter(80, 24)
	filter.Deaf, filter.Draws = true, true
	t := &tail{file: d.Sessions.TranscriptFile(p.id)}
	defer t.close()
	var out []byte
	flush := func() error {
		if len(out) == 0 {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, slow)
		defer cancel()
		err := p.conn.Write(ctx, websocket.MessageBinary, out)
		out = out[:0]
		return err
	}
	const chunk = 64 << 10
	_ = t.each(ctx, func(l session.Line) error {
		switch l.Kind {
		case session.KindTTY:
			if out = append(out, filter.Pass(l.Data)...); len(out) > chunk {
				return flush()
			}
		case session.KindSize:
			if err := flush(); err != nil {
				return err
			}
			filter.Resize(int(l.Cols), int(l.Rows))
			return p.tell(ctx, Screen{Kind: "size", Cols: int(l.Cols), Rows: int(l.Rows)})
		case session.KindWriter:
			if s, changed := p.wrote(l.Writer); changed {
				return p.tell(ctx, s)
			}
		case session.KindEnd:
			if err := flush(); err != nil {
				return err
			}
			return p.tell(ctx, Screen{Kind: "ended"})
		}
		return nil
	}, flush)
}

// typed takes what a page sends. What one types that has not heard yet that it lost the keyboard is dropped by the
// keeper.
func (d *Desk) typed(ctx context.Context, p *pageTerminal, r *http.Request) {
	for {
		kind, data, err := p.conn.Read(ctx)
		if err != nil || kind != websocket.MessageText {
			return
		}
		var in Keys
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if dec.Decode(&in) != nil {
			return
		}
		if in.Take {
			err := p.take(ctx, d.Sessions)
			result := "done"
			if err != nil {
				result = err.Error()
			}
			d.Note(entry.From(r.Context()), "take the keyboard", p.id, nil, result)
			if err != nil && p.tell(ctx, Screen{Kind: "reader"}) != nil { // its keeper is gone
				return
			}
		}
		p.mu.Lock()
		link, may := p.link, p.has || in.Take
		p.mu.Unlock()
		if link == nil || !may {
			continue // it may look
		}
		if in.Cols > 0 && in.Rows > 0 && in.Cols <= 1000 && in.Rows <= 1000 {
			_ = link.Resize(in.Cols, in.Rows)
		}
		switch in.Data {
		case "":
		case "\x03":
			_ = link.Interrupt([]byte(in.Data))
		default:
			_ = link.Input([]byte(in.Data))
		}
	}
}

// take asks the keeper for the keyboard. What the keeper sends of the transcript is read elsewhere.
func (p *pageTerminal) take(ctx context.Context, s *session.Service) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link != nil {
		return p.link.Take(p.name)
	}
	dialled, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	link, err := s.Dial(dialled, p.id)
	if err != nil {
		return err
	}
	p.link = link
	go func() {
		_ = link.Follow(func(session.Event) error { return nil })
		_ = link.Close()
		p.mu.Lock()
		p.link = nil // the next keeper is asked again
		p.mu.Unlock()
		if s, changed := p.wrote(""); changed {
			_ = p.tell(ctx, s)
		}
	}()
	return link.Take(p.name)
}

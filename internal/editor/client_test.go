package editor_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// message is one of the protocol, from either side.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// update is what a test reads of an update.
type update struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"`
	ID      string          `json:"toolCallId"`
	Title   string          `json:"title"`
	Tool    string          `json:"kind"`
	Status  string          `json:"status"`
	Entries []struct {
		Content string `json:"content"`
	} `json:"entries"`
	Cost *struct {
		Amount float64 `json:"amount"`
	} `json:"cost"`
	at time.Time
}

func (u update) text() string {
	var b struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(u.Content, &b)
	return b.Text
}

// client is an editor that is held to the protocol's own schema, and holds cco to it.
type client struct {
	t    *testing.T
	in   *os.File
	p    *proc.Process
	held *schema
	// ask answers what cco asks the user.
	ask func(method string, params json.RawMessage) any

	mu      sync.Mutex
	next    int
	sent    map[string]string // methods by id
	answers map[string]chan message
	said    []update
	asked   []string // what was put before the user
	askedID json.RawMessage
	changed chan struct{}
	over    chan struct{}
}

// start starts `cco acp` in the rig's repository.
func start(t *testing.T, r *viewtest.Rig, args ...string) *client {
	t.Helper()
	c := &client{t: t, held: theSchema(t), sent: map[string]string{}, answers: map[string]chan message{},
		changed: make(chan struct{}), over: make(chan struct{})}
	theirs, ours := pipe(t)
	from, to := pipe(t)
	c.in = ours
	var err error
	c.p, err = proc.Start(t.Context(), proc.Cmd{Argv: append([]string{"cco", "acp"}, args...),
		Path: filepath.Join(r.Bin, "cco"), Dir: r.Path("repo"), Env: r.Env, Stdin: theirs, Stdout: to, Stderr: os.Stderr})
	must.Do(t, err)
	_, _ = theirs.Close(), to.Close()
	go c.read(from)
	t.Cleanup(c.leave)
	return c
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	return r, w
}

// leave hangs up, and waits until cco has noticed.
func (c *client) leave() {
	_ = c.in.Close()
	select {
	case <-c.p.Done():
	case <-time.After(patience):
		c.t.Error("cco does not end when its editor does")
	}
}

func (c *client) read(from io.Reader) {
	defer close(c.over)
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 {
				c.t.Errorf("cco wrote half a line: %q", line)
			}
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
			c.t.Errorf("cco wrote %q: %v", line, err)
			continue
		}
		c.take(m)
	}
}

func (c *client) take(m message) {
	switch {
	case m.Method == "session/update":
		c.held.check(c.t, m.Method, "Notification", m.Params)
		var p struct{ Update update }
		_ = json.Unmarshal(m.Params, &p)
		p.Update.at = time.Now()
		c.note(func() { c.said = append(c.said, p.Update) })
	case m.Method != "" && m.ID == nil:
		c.held.check(c.t, m.Method, "Notification", m.Params)
	case m.Method != "":
		c.held.check(c.t, m.Method, "Request", m.Params)
		c.note(func() { c.asked, c.askedID = append(c.asked, m.Method+" "+string(m.Params)), m.ID })
		if c.ask == nil {
			return // the user thinks
		}
		if answer := c.ask(m.Method, m.Params); answer != nil {
			result, _ := json.Marshal(answer)
			c.held.check(c.t, m.Method, "Response", result)
			c.write(message{Version: "2.0", ID: m.ID, Result: result})
		}
	default:
		c.mu.Lock()
		method, to := c.sent[string(m.ID)], c.answers[string(m.ID)]
		c.mu.Unlock()
		if m.Error == nil && method != "" {
			c.held.check(c.t, method, "Response", m.Result)
		}
		if to != nil {
			to <- m
		} else {
			c.note(func() { c.asked = append(c.asked, fmt.Sprintf("error %d", m.Error.Code)) })
		}
	}
}

func (c *client) note(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *client) write(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		c.t.Error(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.t.Error(err)
	}
}

// send asks something of cco, whose answer comes later.
func (c *client) send(method string, params any) <-chan message {
	raw, err := json.Marshal(params)
	if err != nil {
		c.t.Error(err)
	}
	to := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := fmt.Sprint(c.next)
	c.sent[id], c.answers[id] = method, to
	c.mu.Unlock()
	c.write(message{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: raw})
	return to
}

func (c *client) tell(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		c.t.Error(err)
	}
	c.held.check(c.t, method, "Notification", raw)
	c.write(message{Version: "2.0", Method: method, Params: raw})
}

// await waits for an answer.
func (c *client) await(to <-chan message) message {
	c.t.Helper()
	select {
	case m := <-to:
		return m
	case <-c.over:
	case <-time.After(patience):
	}
	c.t.Fatalf("no answer came; what was said:\n%s", c.words())
	return message{}
}

// call asks something, and gives the answer.
func (c *client) call(method string, params any) message {
	c.t.Helper()
	return c.await(c.send(method, params))
}

// hello begins, and gives a session on the repository.
func (c *client) hello(dir string, can map[string]any) (id string) {
	c.t.Helper()
	c.initialize(can)
	m := c.call("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}})
	var s struct{ SessionID string }
	if m.Error != nil || json.Unmarshal(m.Result, &s) != nil || s.SessionID == "" {
		c.t.Fatalf("session/new: %+v", m)
	}
	return s.SessionID
}

func (c *client) initialize(can map[string]any) {
	c.t.Helper()
	caps := map[string]any{"fs": map[string]bool{"readTextFile": true, "writeTextFile": true}, "terminal": true}
	for k, v := range can {
		caps[k] = v
	}
	if m := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps}); m.Error != nil {
		c.t.Fatalf("initialize: %+v", m.Error)
	}
}

func text(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

func prompt(id string, blocks ...any) map[string]any {
	return map[string]any{"sessionId": id, "prompt": blocks}
}

// turn has the agent do something, and says why it stopped.
func (c *client) turn(id string, words string) string {
	c.t.Helper()
	return c.stopped(c.call("session/prompt", prompt(id, text(words))))
}

func (c *client) stopped(m message) string {
	c.t.Helper()
	var r struct{ StopReason string }
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		c.t.Fatalf("session/prompt: %+v; what was said:\n%s", m.Error, c.words())
	}
	return r.StopReason
}

// words is all that was said, and by whom.
func (c *client) words() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, u := range c.said {
		fmt.Fprintf(&b, "[%s] %s%s\n", u.Kind, u.text(), u.Title)
	}
	return b.String()
}

// waitFor waits until something holds of what was said and asked.
func (c *client) waitFor(what string, holds func() bool) {
	c.t.Helper()
	late := time.After(patience)
	for {
		c.mu.Lock()
		changed, ok := c.changed, holds()
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			c.t.Fatalf("%s never came; what was said:\n%s", what, c.words())
		}
	}
}

// heard says whether words were said, by anybody.
func (c *client) heard(words string) func() bool {
	return func() bool {
		return slices.ContainsFunc(c.said, func(u update) bool { return strings.Contains(u.text(), words) })
	}
}

func (c *client) questions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

// schema is the protocol's own, as its library has it.
type schema struct {
	mu   sync.Mutex
	root map[string]json.RawMessage // the definitions
	by   map[string]*jsonschema.Resolved
	name map[string]string // of definitions, by method and part
}

var one struct {
	sync.Once
	schema *schema
	err    error
}

func theSchema(t *testing.T) *schema {
	t.Helper()
	one.Do(func() { one.schema, one.err = readSchema() })
	must.Do(t, one.err)
	return one.schema
}

func readSchema() (*schema, error) {
	out, err := proc.Output(bg(), proc.Cmd{Argv: []string{"go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/coder/acp-go-sdk"}})
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "schema", "schema.unstable.json"))
	if err != nil {
		return nil, err
	}
	var doc struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	s := &schema{root: doc.Defs, by: map[string]*jsonschema.Resolved{}, name: map[string]string{}}
	for name, raw := range doc.Defs {
		var d struct {
			Method string `json:"x-method"`
		}
		if json.Unmarshal(raw, &d) != nil || d.Method == "" {
			continue
		}
		for _, part := range []string{"Request", "Response", "Notification"} {
			if strings.HasSuffix(name, part) {
				s.name[d.Method+" "+part] = name
			}
		}
	}
	return s, nil
}

// check holds a part of a message to its definition.
func (s *schema) check(t *testing.T, method, part string, data json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.name[method+" "+part]
	if name == "" {
		t.Errorf("the protocol has no %s of %s", part, method)
		return
	}
	if s.by[name] == nil {
		var root jsonschema.Schema
		raw, err := json.Marshal(map[string]any{"$defs": s.root, "$ref": "#/$defs/" + name})
		if err == nil {
			err = json.Unmarshal(raw, &root)
		}
		if err == nil {
			s.by[name], err = root.Resolve(nil)
		}
		if err != nil {
			t.Errorf("read the schema of %s: %v", name, err)
			return
		}
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%s: %v", name, err)
	} else if err := s.by[name].Validate(v); err != nil {
		t.Errorf("%s is not as the protocol says: %.500v\n%s", name, err, data)
	}
}

// Package acp drives, inside a box, an agent that speaks the Agent Client Protocol: one turn, whose updates it passes
// on as they come. It decides nothing about the agent's work: who runs it reads its words as it reads any agent's.
//
// It asks for one thing after the other, and reads on until that is answered. So updates keep their order and come at
// the pace at which they are taken, which the protocol's library, whose names we use, does not promise.
package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/agent/wire"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/proc"
)

// How long an agent has to end its turn when it is asked to, and to end when its input has.
const (
	cancelTime = 8 * time.Second
	leaveTime  = 2 * time.Second
)

// Main is `cco-box acp`: its job is in the environment.
func Main() int {
	var job wire.Job
	err := json.Unmarshal([]byte(os.Getenv(wire.Variable)), &job)
	if err != nil || len(job.Argv) == 0 {
		fmt.Fprintln(os.Stderr, "cco-box: acp is started by cco, inside a box")
		return 2
	}
	_ = os.Unsetenv(wire.Variable)
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	return Drive(context.Background(), job, stop, os.Stdout, os.Stderr)
}

// driver is one turn under way.
type driver struct {
	job       wire.Job
	out, errs io.Writer
	said      *event.Reader // by the agent
	id        int           // of the last request
	session   string
	replay    bool // what comes was there before

	mu       sync.Mutex // of what follows
	in       io.Writer  // the agent's
	prompted bool
}

// Drive runs the agent for one turn. A signal asks it to end that turn.
func Drive(ctx context.Context, job wire.Job, stop <-chan os.Signal, out, errs io.Writer) int {
	d := &driver{job: job, out: out, errs: errs}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return d.fail(err)
	}
	said, saying, err := os.Pipe()
	if err != nil {
		return d.fail(err)
	}
	d.in, d.said = ours, event.NewReader(said)
	f := inside.Furniture{Dir: os.Getenv("HOME")} // settings that the agent's program reads
	for name, text := range job.Files {
		f.Files = append(f.Files, inside.FurnishedFile{Path: name, Data: []byte(text), Mode: 0o600})
	}
	var p *proc.Process
	if err = f.Put(); err == nil {
		p, err = proc.Start(ctx, proc.Cmd{Argv: job.Argv, Dir: job.Dir, Stdin: theirs, Stdout: saying, Stderr: errs,
			TiedToUs: true})
	}
	_, _ = theirs.Close(), saying.Close()
	if err != nil {
		return d.fail(err)
	}
	var stopped atomic.Bool
	over := make(chan struct{})
	go func() {
		wait := leaveTime // for what somebody holds open who is left of it
		select {
		case <-p.Done():
		case <-stop:
			stopped.Store(true)
			wait = d.cancel()
		case <-over:
		}
		select {
		case <-time.After(wait):
		case <-over:
		}
		_ = said.Close()
	}()
	err = d.turn()
	close(over)
	_ = ours.Close()
	select {
	case <-p.Done():
	case <-time.After(leaveTime):
		_ = p.Signal(syscall.SIGKILL)
	}
	switch {
	case stopped.Load():
		return 130
	case err != nil:
		return d.fail(err)
	}
	return 0
}

// cancel asks the agent to end its turn, and says how long it has. What was not begun can't be lost.
func (d *driver) cancel() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.prompted {
		return 0
	}
	_ = d.send(message{Method: sdk.AgentMethodSessionCancel, Params: encode(map[string]any{"sessionId": d.session})})
	return cancelTime
}

func (d *driver) fail(err error) int {
	d.say(wire.Word{Say: wire.Failed, Text: err.Error()})
	return 1
}

// say writes a word of our own.
func (d *driver) say(w wire.Word) { d.line(encode(w)) }

func (d *driver) line(line []byte) {
	_, _ = fmt.Fprintf(d.out, "%s\n", line) // without a reader nobody is left to care
}

// encode writes what can always be written.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// message is one of the protocol.
type message struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *sdk.RequestError `json:"error,omitempty"`
}

func (d *driver) send(m message) error {
	m.Version = "2.0"
	_, err := fmt.Fprintf(d.in, "%s\n", encode(m))
	return err
}

// ask asks the agent for something, and reads what it says until it has answered.
func (d *driver) ask(method string, params, to any) error {
	d.mu.Lock()
	d.id++
	id := strconv.Itoa(d.id)
	d.prompted = method == sdk.AgentMethodSessionPrompt
	err := d.send(message{ID: json.RawMessage(id), Method: method, Params: encode(params)})
	d.mu.Unlock()
	if err != nil {
		return err
	}
	for {
		m, err := d.next()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%s: it ended before it had answered", method)
		case err != nil:
			return err
		case string(m.ID) != id:
		case m.Error != nil:
			return fmt.Errorf("%s: %w", method, m.Error)
		default:
			return json.Unmarshal(m.Result, to)
		}
	}
}

// headSize is how far into a line that is too long its method is looked for.
const headSize = 4096

// next gives the next answer. What comes before it is passed on, or answered.
func (d *driver) next() (message, error) {
	for {
		line, cut, err := d.said.Next()
		var m message
		switch {
		case err != nil:
			return m, err
		case cut && bytes.Contains(line[:headSize], []byte(`"`+sdk.ClientMethodSessionUpdate+`"`)):
			d.say(wire.Word{Say: wire.Note, Text: fmt.Sprintf("an update of more than %d MiB is left out", event.MaxLine>>20)})
		case cut: // who waits for it would wait for ever
			return m, fmt.Errorf("it wrote a line of more than %d MiB", event.MaxLine>>20)
		case len(line) == 0 || !d.said.Whole():
		case json.Unmarshal(line, &m) != nil:
			_, _ = fmt.Fprintf(d.errs, "%s\n", line)
		case m.Method == "" && m.ID != nil:
			return m, nil
		case m.ID != nil:
			if err := d.answer(m); err != nil {
				return m, err
			}
		case m.Method == sdk.ClientMethodSessionUpdate && !d.replay:
			d.line(line)
		}
	}
}

// turn has the agent do its turn.
func (d *driver) turn() error {
	if err := d.begin(); err != nil {
		return err
	}
	var a struct {
		Stop string `json:"stopReason"`
	}
	err := d.ask(sdk.AgentMethodSessionPrompt, map[string]any{"sessionId": d.session,
		"prompt": []any{map[string]any{"type": "text", "text": d.job.Prompt}}}, &a)
	if err == nil {
		d.say(wire.Word{Say: wire.Ended, Stop: a.Stop})
	}
	return err
}

// begin gets the agent as far as a session in its mode.
func (d *driver) begin() error {
	var can struct {
		Capabilities struct {
			Load bool `json:"loadSession"`
		} `json:"agentCapabilities"`
	}
	err := d.ask(sdk.AgentMethodInitialize, map[string]any{"protocolVersion": sdk.ProtocolVersionNumber,
		// Its own tools work in the box. What it asks a person reaches one.
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false},
			"terminal": false, "elicitation": map[string]any{"form": map[string]any{}}},
		"clientInfo": map[string]string{"name": "cco", "version": "1"}}, &can)
	if err != nil {
		return err
	}
	method, params := sdk.AgentMethodSessionNew, map[string]any{"cwd": d.job.Dir,
		"mcpServers": append([]wire.Server{}, d.job.Servers...)}
	if d.job.Resume != "" {
		if !can.Capabilities.Load {
			return errors.New("it can't go on with a conversation")
		}
		method, params["sessionId"] = sdk.AgentMethodSessionLoad, d.job.Resume
	}
	var s state
	d.replay = true
	err = d.ask(method, params, &s)
	d.replay = false
	if err != nil {
		return err
	}
	d.session = cmp.Or(d.job.Resume, s.Session)
	d.say(wire.Word{Say: wire.Begun, Session: d.session})
	if err := d.choose(s, "mode", d.job.Mode); err != nil {
		return err
	}
	return d.choose(s, "model", d.job.Model)
}

// state is what an agent says of a new session. What can be chosen may stand in groups: only the names count.
type state struct {
	Session string `json:"sessionId"`
	Modes   struct {
		Available json.RawMessage `json:"availableModes"`
	} `json:"modes"`
	Options []struct {
		ID       string          `json:"id"`
		Category string          `json:"category"`
		Choices  json.RawMessage `json:"options"`
	} `json:"configOptions"`
}

// choose sets the mode or the model: as its mode, or as one of the agent's options. A model that it doesn't offer it
// has by its environment.
func (d *driver) choose(s state, what, value string) error {
	if value == "" {
		return nil
	}
	there := s.Modes.Available
	if what == "mode" && bytes.Contains(there, encode(value)) {
		return d.ask(sdk.AgentMethodSessionSetMode, map[string]any{"sessionId": d.session, "modeId": value}, new(any))
	}
	for _, o := range s.Options {
		if o.Category != what && o.ID != what {
			continue
		}
		if bytes.Contains(o.Choices, encode(value)) {
			return d.ask(sdk.AgentMethodSessionSetConfigOption,
				map[string]any{"sessionId": d.session, "configId": o.ID, "value": value}, new(any))
		}
		there = o.Choices
	}
	if what == "model" {
		return nil
	}
	return fmt.Errorf("it has no mode %q; there are %s", value, there)
}

// answer answers what the agent asks of us. Permission it has: the box is what holds it. What is no question about
// permission is one for a person.
func (d *driver) answer(m message) error {
	reply := message{ID: m.ID}
	switch m.Method {
	case sdk.ClientMethodSessionRequestPermission:
		reply.Result = encode(d.permit(m.Params))
	case sdk.ClientMethodElicitationCreate:
		var e struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(m.Params, &e) // then without words
		d.say(wire.Word{Say: wire.Question, Text: e.Message})
		reply.Result = encode(map[string]string{"action": "cancel"})
	default:
		reply.Error = sdk.NewMethodNotFound(m.Method)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.send(reply)
}

func (d *driver) permit(params json.RawMessage) sdk.RequestPermissionResponse {
	var ask struct {
		ToolCall struct{ Title string }
		Options  []sdk.PermissionOption
	}
	_ = json.Unmarshal(params, &ask) // then there is nothing to choose
	for _, kind := range []sdk.PermissionOptionKind{"allow_once", "allow_always"} {
		for _, o := range ask.Options {
			if o.Kind == kind {
				return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}
			}
		}
	}
	words := ask.ToolCall.Title
	for _, o := range ask.Options {
		words += "\n- " + o.Name
	}
	d.say(wire.Word{Say: wire.Question, Text: words})
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}
}

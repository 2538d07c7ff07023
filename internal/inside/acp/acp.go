// Package acp drives, inside a box, an agent that speaks the Agent Client Protocol: one turn, whose updates it passes
// on as they come. It decides nothing about the agent's work: who runs it reads its words as it reads any agent's.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/agent/wire"
	"github.com/cco-dev/cco/internal/proc"
)

// How long an agent has to end its turn when it is asked to, and to end when its input has.
const (
	cancelTime = 8 * time.Second
	leaveTime  = 2 * time.Second
)

// Main is `cco-box acp`: its job is in the environment.
func Main() int {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the library's
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
	job  wire.Job
	out  io.Writer
	errs io.Writer

	mu      sync.Mutex // of what follows, and of out
	session string
	replay  bool // what comes was there before
	cut     bool // a line was too long to be passed on
}

// Drive runs the agent for one turn. A signal asks it to end that turn.
func Drive(ctx context.Context, job wire.Job, stop <-chan os.Signal, out, errs io.Writer) int {
	d := &driver{job: job, out: out, errs: errs}
	if err := d.furnish(); err != nil {
		return d.fail(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return d.fail(err)
	}
	said, saying, err := os.Pipe()
	if err != nil {
		return d.fail(err)
	}
	p, err := proc.Start(ctx, proc.Cmd{Argv: job.Argv, Dir: job.Dir, Stdin: theirs, Stdout: saying, Stderr: errs,
		TiedToUs: true})
	_, _ = theirs.Close(), saying.Close()
	if err != nil {
		return d.fail(err)
	}
	rest, answers := io.Pipe()
	go func() { _ = answers.CloseWithError(d.read(said, answers)) }()
	err = d.turn(ctx, connect(d.answer, ours, rest), stop)
	_ = ours.Close()
	select {
	case <-p.Done():
	case <-time.After(leaveTime):
		_ = p.Signal(syscall.SIGKILL)
	}
	switch {
	case errors.Is(err, errStopped):
		return 130
	case err != nil:
		return d.fail(d.explain(err))
	}
	return 0
}

// explain says why the agent did not answer, if that is known.
func (d *driver) explain(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cut {
		return fmt.Errorf("it wrote a line of more than %d MiB", event.MaxLine>>20)
	}
	return err
}

func (d *driver) fail(err error) int {
	d.say(wire.Word{Say: wire.Failed, Text: err.Error()})
	return 1
}

// say writes a word of our own.
func (d *driver) say(w wire.Word) {
	line, err := json.Marshal(w)
	if err != nil {
		return // it holds nothing but text
	}
	d.line(line)
}

func (d *driver) line(line []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.out.Write(append(line, '\n')) // without a reader nobody is left to care
}

// furnish puts the agent's settings below its home.
func (d *driver) furnish() error {
	home := os.Getenv("HOME")
	for name, text := range d.job.Files {
		if home == "" || !filepath.IsLocal(name) {
			return fmt.Errorf("%s is no place below a home", name)
		}
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// read passes the agent's updates on as they come, in their order and at the pace at which they are taken, and gives
// the rest to the connection.
func (d *driver) read(said io.Reader, rest io.Writer) error {
	lines := event.NewReader(said)
	for {
		line, cut, err := lines.Next()
		if err != nil {
			return err
		}
		switch {
		case cut && isUpdate(line[:min(len(line), headSize)]):
			d.say(wire.Word{Say: wire.Note, Text: fmt.Sprintf("an update of more than %d MiB is left out",
				event.MaxLine>>20)})
		case cut:
			d.mu.Lock()
			d.cut = true
			d.mu.Unlock()
			return io.ErrUnexpectedEOF // whoever waits for it would wait for ever
		case len(line) == 0 || !lines.Whole():
		case line[0] != '{':
			_, _ = fmt.Fprintf(d.errs, "%s\n", line)
		case isUpdate(line[:min(len(line), headSize)]) && d.isNotice(line):
			if !d.replaying() {
				d.line(slices.Clone(line))
			}
		default:
			if _, err := rest.Write(append(slices.Clone(line), '\n')); err != nil {
				return err
			}
		}
	}
}

// headSize is how far into a line its method is looked for.
const headSize = 4096

func isUpdate(head []byte) bool { return strings.Contains(string(head), `"`+update+`"`) }

// isNotice says whether a line is an update, rather than something that speaks of one.
func (d *driver) isNotice(line []byte) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	return json.Unmarshal(line, &m) == nil && m.Method == update && m.ID == nil
}

func (d *driver) replaying() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replay
}

var errStopped = errors.New("stopped")

// turn has the agent do its turn.
func (d *driver) turn(ctx context.Context, p peer, stop <-chan os.Signal) error {
	type result struct {
		answer json.RawMessage
		err    error
	}
	done := make(chan result, 1)
	began := make(chan struct{})
	go func() {
		if err := d.begin(ctx, p); err != nil {
			done <- result{nil, err}
			return
		}
		close(began)
		answer, err := p.ask(ctx, doPrompt, map[string]any{"sessionId": d.session,
			"prompt": []any{map[string]any{"type": "text", "text": d.job.Prompt}}})
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		if r.err == nil {
			d.ended(r.answer)
		}
		return r.err
	case <-stop:
	}
	select {
	case <-began:
	default:
		return errStopped // nothing is under way that could be lost
	}
	_ = p.tell(ctx, cancelTurn, map[string]any{"sessionId": d.session})
	select {
	case r := <-done:
		if r.err == nil {
			d.ended(r.answer)
		}
	case <-time.After(cancelTime):
	}
	return errStopped
}

func (d *driver) ended(answer json.RawMessage) {
	var a struct {
		Stop  string      `json:"stopReason"`
		Usage *wire.Usage `json:"usage"`
	}
	if json.Unmarshal(answer, &a) != nil {
		a.Stop = ""
	}
	d.say(wire.Word{Say: wire.Ended, Stop: a.Stop, Usage: a.Usage})
}

// begin gets the agent as far as a session in its mode.
func (d *driver) begin(ctx context.Context, p peer) error {
	var can struct {
		Capabilities struct {
			Load bool `json:"loadSession"`
		} `json:"agentCapabilities"`
	}
	err := d.asked(ctx, p, initialize, map[string]any{"protocolVersion": version,
		// Its own tools work in the box. What it asks a person reaches one.
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false},
			"terminal": false, "elicitation": map[string]any{"form": map[string]any{}}},
		"clientInfo": map[string]string{"name": "cco", "version": "1"}}, &can)
	if err != nil {
		return err
	}
	var s state
	params := map[string]any{"cwd": d.job.Dir, "mcpServers": []any{}}
	if d.job.Resume != "" {
		if !can.Capabilities.Load {
			return errors.New("it can't go on with a conversation")
		}
		params["sessionId"] = d.job.Resume
		d.setReplay(true)
		err = d.asked(ctx, p, loadSession, params, &s)
		d.setReplay(false)
		s.Session = d.job.Resume
	} else {
		err = d.asked(ctx, p, newSession, params, &s)
	}
	if err != nil {
		return err
	}
	d.session = s.Session
	d.say(wire.Word{Say: wire.Begun, Session: s.Session})
	if err := d.choose(ctx, p, s, "mode", d.job.Mode); err != nil {
		return err
	}
	return d.choose(ctx, p, s, "model", d.job.Model)
}

func (d *driver) setReplay(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replay = on
}

// asked is ask, with the answer read as far as it is known.
func (d *driver) asked(ctx context.Context, p peer, method string, params, to any) error {
	answer, err := p.ask(ctx, method, params)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, to); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// state is what an agent says of a new session.
type state struct {
	Session string `json:"sessionId"`
	Modes   struct {
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Options []struct {
		ID       string          `json:"id"`
		Category string          `json:"category"`
		Choices  json.RawMessage `json:"options"` // in groups or not
	} `json:"configOptions"`
}

// choose sets the mode or the model: as one of the agent's options, or as its mode. A model that it doesn't offer it
// has by its environment.
func (d *driver) choose(ctx context.Context, p peer, s state, what, value string) error {
	if value == "" {
		return nil
	}
	var there []string
	for _, m := range s.Modes.Available {
		if what == "mode" && m.ID == value {
			_, err := p.ask(ctx, setMode, map[string]any{"sessionId": d.session, "modeId": value})
			return err
		}
		there = append(there, m.ID)
	}
	for _, o := range s.Options {
		if o.Category != what && o.ID != what {
			continue
		}
		values := values(o.Choices)
		if slices.Contains(values, value) {
			_, err := p.ask(ctx, setOption, map[string]any{"sessionId": d.session, "configId": o.ID, "value": value})
			return err
		}
		there = append(there, values...)
	}
	if what == "model" {
		return nil
	}
	return fmt.Errorf("it has no mode %q; there are %s", value, strings.Join(there, ", "))
}

// values are the choices of an option, which may stand in groups.
func values(raw json.RawMessage) (list []string) {
	var choices []struct {
		Value string          `json:"value"`
		Group json.RawMessage `json:"options"`
	}
	if json.Unmarshal(raw, &choices) != nil {
		return nil
	}
	for _, c := range choices {
		if c.Value != "" {
			list = append(list, c.Value)
		} else if len(c.Group) > 0 && len(list) < 1000 {
			list = append(list, values(c.Group)...)
		}
	}
	return list
}

// answer answers what the agent asks of us. Permission it has: the box is what holds it. What is no question about
// permission is one for a person.
func (d *driver) answer(method string, params json.RawMessage) (any, bool) {
	switch method {
	case permission:
		return d.permit(params), true
	case elicitation:
		var e struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(params, &e) // then without words
		d.say(wire.Word{Say: wire.Question, Text: e.Message})
		return map[string]string{"action": "cancel"}, true
	}
	return nil, false
}

func (d *driver) permit(params json.RawMessage) any {
	var ask struct {
		Call struct {
			Title string `json:"title"`
		} `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Name string `json:"name"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	_ = json.Unmarshal(params, &ask) // then there is nothing to choose
	words := ask.Call.Title
	for _, kind := range []string{"allow_once", "allow_always"} {
		for _, o := range ask.Options {
			if o.Kind == kind {
				return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": o.ID}}
			}
		}
	}
	for _, o := range ask.Options {
		words += "\n- " + o.Name
	}
	d.say(wire.Word{Say: wire.Question, Text: words})
	return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}
}

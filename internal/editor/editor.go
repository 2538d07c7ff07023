// Package editor is `cco acp`: cco as the agent of an editor that speaks the Agent Client Protocol. A conversation is a
// session, a prompt a turn of its agent in a box, and what a turn made passes quarantine and gate before it is offered.
// The editor's own files and terminals are never used. It is linked into cco-cruise alone, for the sake of its library.
package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
)

// Take says what becomes of work in which nothing was found that needs a person's consent.
type Take string

// The ways. Whatever is chosen, what needs consent waits for it at a terminal or on the page.
const (
	Ask      Take = "ask"       // the editor asks for each turn
	EachTurn Take = "each-turn" // into the branch, if nothing at all was found
	Never    Take = "never"     // it stays at its ref
)

// Takes are all ways.
func Takes() []string { return []string{string(Ask), string(EachTurn), string(Never)} }

// Options say who works, and where. What is empty the settings say.
type Options struct {
	Agent, Model, Box string
	Take              Take
	Version           string // of cco
}

// server is one editor.
type server struct {
	app  *app.App
	o    Options
	peer peer

	mu    sync.Mutex
	talks map[string]*talk
	forms bool // it can ask for more than a yes
}

// maxTalks bounds the conversations of one editor.
const maxTalks = 100

// leaveTime is how long turns have to notice that their editor is gone.
const leaveTime = 5 * time.Second

// Serve speaks with an editor until it hangs up. Agents that are at work then go on in their boxes.
func Serve(ctx context.Context, a *app.App, o Options, in io.Reader, out io.Writer) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the library's
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{app: a, o: o, talks: map[string]*talk{}}
	var turns sync.WaitGroup
	ready := make(chan struct{})
	s.peer = connect(func(asked context.Context, method string, params json.RawMessage) (any, error) {
		<-ready
		turns.Add(1)
		defer turns.Done()
		asked, stop := context.WithCancel(asked)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		return s.answer(asked, method, params)
	}, in, out)
	close(ready)
	select {
	case <-s.peer.gone():
	case <-ctx.Done():
	}
	cancel()
	over := make(chan struct{})
	go func() { turns.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(leaveTime):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.talks {
		t.close()
	}
	return nil
}

// answer answers one request.
func (s *server) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var in struct {
		Session string        `json:"sessionId"`
		Dir     string        `json:"cwd"`
		Prompt  []promptBlock `json:"prompt"`
		Servers []struct {
			Name string `json:"name"`
		} `json:"mcpServers"`
		Can struct {
			Elicitation *struct {
				Form *struct{} `json:"form"`
			} `json:"elicitation"`
		} `json:"clientCapabilities"`
	}
	if err := json.Unmarshal(params, &in); err != nil && len(params) > 0 {
		return nil, &paramsError{method + ": " + err.Error()}
	}
	var servers []string
	for _, v := range in.Servers {
		servers = append(servers, v.Name)
	}
	switch method {
	case initialize:
		s.mu.Lock()
		s.forms = in.Can.Elicitation != nil && in.Can.Elicitation.Form != nil
		s.mu.Unlock()
		return s.hello(), nil
	case authenticate:
		return struct{}{}, nil
	case newSession:
		t, err := s.begin(ctx, in.Dir, "", servers)
		if err != nil {
			return nil, err
		}
		return map[string]any{"sessionId": t.id}, nil
	case loadSession:
		t, err := s.begin(ctx, in.Dir, in.Session, servers)
		if err != nil {
			return nil, err
		}
		return struct{}{}, t.replay(ctx)
	}
	s.mu.Lock()
	t := s.talks[in.Session]
	s.mu.Unlock()
	switch {
	case method != doPrompt && method != cancelTurn:
		return nil, &unknownError{method}
	case t == nil:
		return nil, &paramsError{"no session " + safetext.Quote(in.Session) + " was begun or loaded here"}
	case method == cancelTurn:
		t.cancel()
		return nil, nil
	}
	stop, err := t.prompt(ctx, s.peer.gone(), promptText(in.Prompt, t.top))
	if err != nil {
		return nil, err
	}
	return map[string]any{"stopReason": stop}, nil
}

// hello says what we can. Keys are the door's: there is nothing to log in to.
func (s *server) hello() any {
	return map[string]any{
		"protocolVersion": version,
		"agentInfo":       map[string]string{"name": "cco", "title": "cco", "version": s.o.Version},
		"authMethods":     []any{},
		"agentCapabilities": map[string]any{
			"loadSession":        true,
			"promptCapabilities": map[string]bool{"embeddedContext": true, "image": false, "audio": false},
			"mcpCapabilities":    map[string]bool{"http": false, "sse": false},
		},
	}
}

// begin begins a conversation in the repository that the editor shows, or goes on with a session of that repository.
func (s *server) begin(ctx context.Context, dir, id string, servers []string) (*talk, error) {
	if !filepath.IsAbs(dir) {
		return nil, &paramsError{"cwd is no absolute path"}
	}
	own := *s.app
	a := &own
	a.Dir = filepath.Clean(dir)
	repo, err := a.OpenRepo(ctx, a.Dir)
	if err != nil {
		return nil, err
	}
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	service, done, err := a.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	t := &talk{server: s, app: a, s: service, close: done, id: id, top: repo.Top, servers: servers}
	err = t.open(ctx, repo.Key(), s.o.agent(cfg.Agent.Default))
	if err == nil {
		err = s.add(t)
	}
	if err != nil {
		done()
		return nil, err
	}
	return t, nil
}

func (o Options) agent(usual string) string {
	if o.Agent != "" {
		return o.Agent
	}
	return usual
}

// add remembers a conversation. One that is loaded again takes the place of the first, unless that has a turn.
func (s *server) add(t *talk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.talks[t.id]; was != nil {
		if !was.busy.TryLock() {
			return errBusy
		}
		was.close()
	} else if len(s.talks) >= maxTalks {
		return fmt.Errorf("no more than %d conversations can be open: close the editor's others", maxTalks)
	}
	s.talks[t.id] = t
	return nil
}

var errBusy = errors.New("a turn of this session is under way")

// promptBlock is a part of what a user says.
type promptBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	URI      string `json:"uri"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

// promptText is what is handed over. What a link names is not opened here: the agent has its own copy of the
// repository, and finds a file of it by its path there.
func promptText(blocks []promptBlock, top string) string {
	var b strings.Builder
	for _, p := range blocks {
		switch p.Type {
		case "text":
			b.WriteString(p.Text)
		case "resource_link":
			b.WriteString(within(p.URI, top))
		case "resource":
			fmt.Fprintf(&b, "\n%s as my editor has it:\n````\n%s\n````\n", within(p.Resource.URI, top), p.Resource.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// within names a file of the repository by its path there, anything else by its address.
func within(uri, top string) string {
	path, ok := strings.CutPrefix(uri, "file://")
	if rel, err := filepath.Rel(top, path); ok && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return uri
}

// quiet is a service that says nothing by itself: there is no terminal, and the editor is told otherwise.
func quiet(s *session.Service) {
	s.Report, s.Warn = func(string, ...any) {}, func(string, ...any) {}
}

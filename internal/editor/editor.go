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
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/rpc"
	"github.com/cco-dev/cco/internal/safetext"
)

// What becomes of work in which nothing needs a person's consent. What does waits for it in any case, at a
// terminal or on the page.
const (
	Ask      = "ask"       // the editor asks for each turn
	EachTurn = "each-turn" // into the branch, if nothing at all was found
	Never    = "never"     // it stays at its ref
)

// Options say who works, where, and what becomes of it. What is empty the settings say.
type Options struct {
	Agent, Model, Box, Take string
	Version                 string // of cco
}

// server is one editor.
type server struct {
	app   *app.App
	o     Options
	forms atomic.Bool // it can ask for more than a yes

	mu    sync.Mutex // of what follows
	conn  *sdk.Connection
	talks map[sdk.SessionId]*talk
}

// Serve speaks with an editor until it hangs up. Agents that are at work then go on in their boxes.
func Serve(ctx context.Context, a *app.App, o Options, in io.Reader, out io.Writer) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the library's
	s := &server{app: a, o: o, talks: map[sdk.SessionId]*talk{}}
	lines := rpc.Bound(in, out)
	defer context.AfterFunc(ctx, func() { _ = lines.Close() })()
	s.mu.Lock()
	s.conn = sdk.NewConnection(s.handle, out, lines)
	s.mu.Unlock()
	<-s.conn.Done()
	s.mu.Lock()
	talks := slices.Collect(maps.Values(s.talks))
	s.mu.Unlock()
	for _, t := range talks {
		t.busy.Lock() // until its turn has noticed
		t.close()
	}
	return nil
}

// handle answers one request.
func (s *server) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	switch method {
	case sdk.AgentMethodInitialize:
		return answer(params, s.initialize)
	case sdk.AgentMethodSessionNew:
		return answer(params, func(in sdk.NewSessionRequest) (any, error) {
			t, err := s.begin(ctx, in.Cwd, "", in.McpServers)
			if err != nil {
				return nil, err
			}
			return sdk.NewSessionResponse{SessionId: sdk.SessionId(t.id)}, nil
		})
	case sdk.AgentMethodSessionLoad:
		return answer(params, func(in sdk.LoadSessionRequest) (any, error) {
			t, err := s.begin(ctx, in.Cwd, string(in.SessionId), in.McpServers)
			if err != nil {
				return nil, err
			}
			return sdk.LoadSessionResponse{}, t.replay(ctx)
		})
	case sdk.AgentMethodSessionPrompt:
		return answer(params, func(in sdk.PromptRequest) (any, error) {
			t, err := s.talk(in.SessionId)
			if err != nil {
				return nil, err
			}
			stop, err := t.prompt(ctx, promptText(in.Prompt, t.top))
			return sdk.PromptResponse{StopReason: stop}, err
		})
	case sdk.AgentMethodSessionCancel:
		return answer(params, func(in sdk.CancelNotification) (any, error) {
			t, err := s.talk(in.SessionId)
			if err == nil {
				t.cancel()
			}
			return nil, err
		})
	}
	return nil, sdk.NewMethodNotFound(method)
}

// answer reads what a method is given, and words an error for people: editors show nothing else of it.
func answer[In any](params json.RawMessage, do func(In) (any, error)) (any, *sdk.RequestError) {
	var in In
	var result any
	err := json.Unmarshal(params, &in)
	if err != nil {
		err = bad{err}
	} else if result, err = do(in); err == nil {
		return result, nil
	}
	no := sdk.NewInternalError(nil)
	if errors.As(err, new(bad)) {
		no = sdk.NewInvalidParams(nil)
	}
	no.Message = safetext.Text(err.Error())
	return nil, no
}

// bad is the error of a request that makes no sense.
type bad struct{ error }

// initialize says what we can. Keys are the door's: there is nothing to log in to.
func (s *server) initialize(in sdk.InitializeRequest) (any, error) {
	can := in.ClientCapabilities.Elicitation
	s.forms.Store(can != nil && can.Form != nil)
	return sdk.InitializeResponse{
		ProtocolVersion:   sdk.ProtocolVersionNumber,
		AgentInfo:         &sdk.Implementation{Name: "cco", Title: sdk.Ptr("cco"), Version: s.o.Version},
		AuthMethods:       []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{LoadSession: true},
	}, nil
}

func (s *server) talk(id sdk.SessionId) (*talk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.talks[id]; t != nil {
		return t, nil
	}
	return nil, bad{fmt.Errorf("no session %s was begun or loaded here", safetext.Quote(string(id)))}
}

// begin begins a conversation in the repository that the editor shows, or goes on with a session of that repository.
func (s *server) begin(ctx context.Context, dir, id string, servers []sdk.McpServer) (*talk, error) {
	if !filepath.IsAbs(dir) {
		return nil, bad{errors.New("cwd is no absolute path")}
	}
	if t, err := s.talk(sdk.SessionId(id)); err == nil {
		return t, nil // it was begun before
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
	service.Report, service.Warn = func(string, ...any) {}, func(string, ...any) {} // there is no terminal
	t := &talk{server: s, app: a, s: service, close: done, id: id, top: repo.Top, repo: repo}
	t.servers, t.refused = allowed(servers, cfg.Editor)
	if err := t.open(ctx, repo, cfg.Agent.Default); err != nil {
		done()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.talks[sdk.SessionId(t.id)] = t
	return t, nil
}

// allowed gives the servers that the user's settings name, with the variables that they list, and the names of the
// others. None is started here: the agent starts them, in its box.
func allowed(servers []sdk.McpServer, named config.Editor) (list event.Servers, refused []string) {
	list = event.Servers{}
	for _, m := range servers {
		switch w := m.Stdio; {
		case w == nil:
			refused = append(refused, "one that is an address")
		case !slices.Contains(named.Servers, w.Name):
			refused = append(refused, w.Name)
		default:
			env := map[string]string{}
			for _, v := range w.Env {
				if slices.Contains(named.Variables, v.Name) {
					env[v.Name] = v.Value
				}
			}
			list[w.Name] = event.Server{Command: w.Command, Args: append([]string{}, w.Args...), Env: env}
		}
	}
	return list, refused
}

// promptText is what is handed over. What a link names is not opened here: the agent has its own copy of the
// repository, and finds a file of it by its path there.
func promptText(blocks []sdk.ContentBlock, top string) string {
	var b strings.Builder
	for _, p := range blocks {
		switch {
		case p.Text != nil:
			b.WriteString(p.Text.Text)
		case p.ResourceLink != nil:
			b.WriteString(within(p.ResourceLink.Uri, top))
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

// Package agenttest lets the real agent CLIs run without a model's provider: a server on loopback plays the model by a
// script, in the protocols that they speak, and fails in the ways that providers do.
package agenttest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Server plays a model. The step that it serves is the number of the model's own turns that the request already holds:
// it keeps no state of a conversation, so that a retry gets the same answer and a resumed session goes on.
type Server struct {
	// URL is the address that CLIs are told. Any path before the protocol's own is ignored.
	URL string

	steps  []Step
	decide func(Request) (Step, bool) // instead of steps
	http   *httptest.Server
	gone   chan struct{} // closed when the server ends

	mu       sync.Mutex
	requests []Request
	turns    int // requests of conversations that were answered or failed
	faults   map[int]Fault
	released chan struct{} // closed by Release
	heard    []string
}

// Serve starts a server that ends with the test.
func Serve(t testing.TB, steps ...Step) *Server {
	t.Helper()
	s := Start(steps...)
	t.Cleanup(s.Close)
	return s
}

// Play starts a server whose answers are decided by what is asked, for tests in which several agents talk with one
// model. Where decide says false the answer is the usual one. It is called by several requests at once.
func Play(t testing.TB, decide func(Request) (Step, bool)) *Server {
	t.Helper()
	s := Start()
	s.decide = decide
	t.Cleanup(s.Close)
	return s
}

// Start starts a server for programs that are no tests. Its user closes it.
func Start(steps ...Step) *Server {
	s := &Server{steps: steps, faults: map[int]Fault{}, gone: make(chan struct{}), released: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server and everything that hangs in it.
func (s *Server) Close() {
	close(s.gone)
	s.http.CloseClientConnections()
	s.http.Close()
}

// maxBody bounds a request, so that a client gone wild doesn't take the test's memory with it.
const maxBody = 256 << 20

// protocol is one way to talk with a model.
type protocol interface {
	name() string
	// read takes a request apart.
	read(body []byte, path string) (asked, error)
	// answer gives a turn as the events of a stream, and whole.
	answer(turn) (stream []event, whole any)
	// mishap gives the body of an error.
	mishap(Fault) any
}

// asked is what a server must know of a request.
type asked struct {
	model  string
	turns  int      // of the model, so far
	tools  []string // that it may call
	heard  []string // what tools answered
	stream bool
}

// turn is a step as one protocol will tell it.
type turn struct {
	asked
	Step
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p := speaks(r)
	if p == nil {
		s.record(r, body, "", asked{}, false)
		s.aside(w, r)
		return
	}
	q, err := p.read(body, r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// CLIs ask for titles, summaries and the like beside the conversation, without tools.
	beside := len(q.tools) == 0
	request, fault := s.record(r, body, p.name(), q, !beside)
	step := Step{Text: besides}
	if !beside {
		step = s.step(q.turns)
	}
	if s.decide != nil {
		if decided, ok := s.decide(request); ok {
			step = decided
		}
	}
	s.reply(w, r, p, turn{asked: q, Step: step}, fault)
}

// besides answers requests outside the conversation: how hard a task is, what to call it, whose turn it is.
const besides = `{"title":"Scripted","reasoning":"scripted","complexity_reasoning":"scripted","complexity_score":90,` +
	`"next_speaker":"user"}`

// speaks finds the protocol of a request by the end of its path.
func speaks(r *http.Request) protocol {
	path := r.URL.Path
	switch {
	case r.Method != http.MethodPost:
		return nil
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	}
	return nil
}

// aside answers what CLIs want to know beside a model's words.
func (s *Server) aside(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	text := `{"object":"list","data":[],"models":[],"has_more":false}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		text = `{"input_tokens":10}`
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		text = `{"totalTokens":10}`
	case strings.HasSuffix(r.URL.Path, ":embedContent"), r.Method == http.MethodPost &&
		!strings.Contains(r.URL.Path, "models"):
		text = `{}`
	}
	_, _ = io.WriteString(w, text)
}

// step is the nth turn; after the script's end the model says that it is done.
func (s *Server) step(n int) Step {
	if n >= len(s.steps) {
		return Step{Text: "done"}
	}
	if s.steps[n].Before != nil {
		s.steps[n].Before()
	}
	return s.steps[n]
}

// Request is what a CLI, or a proxy in between, has sent.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
	// Protocol is "anthropic", "responses", "chat" or "gemini", and "" for what is no question to the model.
	Protocol string
	Model    string
	// Turn is whether it belongs to the conversation, and Step which step it asks for.
	Turn bool
	Step int
	// Heard is what tools answered, as far as this request tells it.
	Heard string
}

// Key is the key or token of the request, in any form that the protocol sends.
func (r Request) Key() string {
	for _, k := range []string{
		r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"), r.Query.Get("key"),
		strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
	} {
		if k != "" {
			return k
		}
	}
	return ""
}

// Text is every string in the request's body, so that words are found however they are quoted.
func (r Request) Text() string { return stringsIn(r.Body) }

// record keeps a request and says what is to go wrong with it.
func (s *Server) record(r *http.Request, body []byte, protocol string, q asked, conversation bool) (Request, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body,
		Protocol: protocol, Model: q.model, Turn: conversation, Step: q.turns, Heard: strings.Join(q.heard, "\n"),
	}
	s.requests = append(s.requests, got)
	if !conversation {
		return got, Fault{}
	}
	s.turns++
	s.heard = append(s.heard, q.heard...)
	return got, s.faults[s.turns]
}

// Requests is everything that was received until now.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Turns is how many requests of conversations there were, those that were made to fail included.
func (s *Server) Turns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns
}

// Heard is everything that tools answered, as the model was told it.
func (s *Server) Heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.heard, "\n")
}

// Saw says whether a text was ever sent to the model.
func (s *Server) Saw(text string) bool {
	for _, r := range s.Requests() {
		if strings.Contains(r.Text(), text) {
			return true
		}
	}
	return false
}

// Summary is a line for each request, to show when a test fails.
func (s *Server) Summary() string {
	var b strings.Builder
	for _, r := range s.Requests() {
		_, _ = fmt.Fprintf(&b, "%s %s %s turn=%v step=%d %d bytes\n", r.Method, r.Path, r.Model, r.Turn, r.Step, len(r.Body))
	}
	return b.String()
}

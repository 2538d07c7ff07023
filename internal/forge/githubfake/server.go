// Package githubfake is a GitHub for tests: real git over http, and the part of the REST and GraphQL interfaces that
// cco uses. Every request and every answer is checked against GitHub's own schemas; Broken lists the violations.
package githubfake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/proc"
)

// token is what a token may do.
type token struct {
	login    string
	readOnly bool
}

// Server is the fake. It answers as an Enterprise server does: pages and git at its root, REST at /api/v3, GraphQL at
// /api/graphql.
type Server struct {
	http     *httptest.Server
	dir      string
	backend  string // git-http-backend
	now      func() time.Time
	contract *contract
	routes   []route
	posting  sync.WaitGroup // webhooks on their way

	mu     sync.Mutex
	repos  map[string]*repo
	tokens map[string]token
	apps   []fakeApp
	nextID int64
	limits map[string]*limit
	counts Counts
	minute map[int64]int
}

type limit struct {
	max, used int
	reset     time.Time
}

// Counts counts the fake's requests.
type Counts struct {
	Requests    int // all, including those answered with 304
	Counted     int // against the limit of REST
	Points      int // of GraphQL
	MostAMinute int
}

// hourly is the limit of one user, for REST and for GraphQL each.
const hourly = 5000

// New starts a fake that keeps its repositories in dir. Now is its clock; nil is the real one.
func New(ctx context.Context, dir string, now func() time.Time) (*Server, error) {
	if now == nil {
		now = time.Now
	}
	rules, err := load()
	if err != nil {
		return nil, err
	}
	path, err := proc.Output(ctx, proc.Cmd{Argv: []string{"git", "--exec-path"}})
	if err != nil {
		return nil, err
	}
	s := &Server{
		dir: dir, now: now, contract: &contract{schemas: rules},
		backend: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		nextID:  3_000_000_000,
		repos:   map[string]*repo{}, tokens: map[string]token{}, limits: map[string]*limit{}, minute: map[int64]int{},
	}
	if _, err := os.Stat(s.backend); err != nil {
		return nil, fmt.Errorf("git has no http-backend: %w", err)
	}
	s.routes = s.table()
	s.http = httptest.NewServer(s)
	return s, nil
}

// Close stops the server when everything under way is done.
func (s *Server) Close() {
	s.posting.Wait()
	s.http.Close()
}

// URL is the address of the server.
func (s *Server) URL() string { return s.http.URL }

// Remote names a repository of the server.
func (s *Server) Remote(owner, name string) forge.Remote {
	return forge.Remote{Scheme: "http", Host: s.http.Listener.Addr().(*net.TCPAddr).String(), Owner: owner, Name: name}
}

// Broken lists requests and answers that violated GitHub's schemas.
func (s *Server) Broken() []string {
	s.contract.mu.Lock()
	defer s.contract.mu.Unlock()
	return slices.Clone(s.contract.broken)
}

// Counts gives the counts so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	for _, n := range s.minute {
		c.MostAMinute = max(c.MostAMinute, n)
	}
	return c
}

// Reset forgets the counts.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts, s.minute = Counts{}, map[int64]int{}
}

// AddUser makes an account with a token.
func (s *Server) AddUser(login, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[secret] = token{login: login}
}

// Revoke takes a token back.
func (s *Server) Revoke(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, secret)
}

// AddReader makes a token that may only read.
func (s *Server) AddReader(login, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[secret] = token{login: login, readOnly: true}
}

// Exhaust uses up what is left of a user's hourly limit for core or graphql.
func (s *Server) Exhaust(login, resource string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits[login+"/"+resource] = &limit{max: hourly, used: hourly, reset: until}
}

// AddRepo makes an empty repository whose writers may push.
func (s *Server) AddRepo(ctx context.Context, owner, name string, writers ...string) error {
	dir := filepath.Join(s.dir, owner, name+".git")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r := &repo{owner: owner, name: name, dir: dir, writers: writers, checks: map[string][]object{},
		statuses: map[string][]object{},
		diffs:    map[string]forge.Diff{}, patches: map[string][]object{}, lists: map[string]listed{}}
	if _, err := r.git(ctx, "init", "-q", "--bare", "-b", "main"); err != nil {
		return err
	}
	if _, err := r.git(ctx, "config", "http.receivepack", "true"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos[r.full()] = r
	return nil
}

// change changes a repository.
func (s *Server) change(owner, name string, do func(*repo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[owner+"/"+name]
	r.version++
	do(r)
}

// Dir is where a repository is, for tests that look at what was pushed.
func (s *Server) Dir(owner, name string) string { return filepath.Join(s.dir, owner, name+".git") }

// time is GitHub's: whole seconds.
func (s *Server) time() time.Time { return s.now().UTC().Truncate(time.Second) }

func (s *Server) id() int64 {
	s.nextID += 7
	return s.nextID
}

// call is one request on its way.
type call struct {
	r      *http.Request
	ctx    context.Context
	body   []byte
	who    token
	params map[string]string
	base   string // of the addresses in answers
	header http.Header

	// What the path names.
	repo    *repo
	pull    *pull
	comment *comment
	line    *lineComment // the same, if it is on a line
	review  *review
	job     *job
}

// answer is a status and a value that the schema completes.
type answer struct {
	status int
	value  any
}

func fail(status int, message string) answer { return answer{status, object{"message": message}} }

// posted reads a body, whose form the contract has checked.
func posted[T any](c *call) (in T) {
	_ = json.Unmarshal(c.body, &in)
	return in
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, "/api/v3/"), path == "/api/graphql":
		s.api(w, r)
	case strings.HasPrefix(path, "/joblogs/"):
		s.serveLog(w, r)
	default:
		s.serveGit(w, r)
	}
}

func (s *Server) who(r *http.Request) (token, bool) {
	_, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if user, password, ok := r.BasicAuth(); ok && user != "" {
		secret = password
	}
	t, ok := s.tokens[secret]
	return t, ok && secret != ""
}

// api answers REST and GraphQL, one at a time.
func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Requests++
	s.minute[s.time().Unix()/60]++
	who, ok := s.who(r)
	rt, params := s.match(r)
	if rt != nil && rt.app {
		who, ok = s.appToken(r)
	}
	if !ok {
		s.send(w, r, rt, params, fail(http.StatusUnauthorized, "Bad credentials"), nil)
		return
	}
	c := &call{r: r, ctx: r.Context(), body: body, who: who, params: params, base: "http://" + r.Host,
		header: http.Header{}}
	resource := "core"
	if r.URL.Path == "/api/graphql" {
		resource = "graphql"
	}
	l := s.limitOf(who.login, resource)
	if l.used >= l.max {
		s.limitHeader(c.header, resource, l)
		refusal := fail(http.StatusForbidden, "API rate limit exceeded for user.")
		if resource == "graphql" {
			refusal = refuse("API rate limit exceeded for user.") // with status 200, as GitHub does
		}
		s.send(w, r, nil, nil, refusal, c.header)
		return
	}
	if resource == "graphql" {
		l.used++
		s.counts.Points++
		s.limitHeader(c.header, resource, l)
		s.send(w, r, nil, nil, s.graphql(c), c.header)
		return
	}
	s.send(w, r, rt, params, s.handle(c, rt), c.header)
}

func (s *Server) limitOf(login, resource string) *limit {
	l := s.limits[login+"/"+resource]
	if l == nil || !s.now().Before(l.reset) {
		l = &limit{max: hourly, reset: s.now().Add(time.Hour)}
		s.limits[login+"/"+resource] = l
	}
	return l
}

func (s *Server) limitHeader(h http.Header, resource string, l *limit) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.max))
	h.Set("X-RateLimit-Used", strconv.Itoa(l.used))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(l.max-l.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(l.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", resource)
}

// handle finds the repository and lets the route answer.
func (s *Server) handle(c *call, rt *route) answer {
	if rt == nil {
		return fail(http.StatusNotFound, "Not Found")
	}
	if name, ok := c.params["repo"]; ok {
		c.repo = s.repos[c.params["owner"]+"/"+name]
		if c.repo == nil || c.repo.private && !c.repo.canWrite(c.who.login) {
			return fail(http.StatusNotFound, "Not Found")
		}
		for _, p := range c.repo.pulls {
			s.refresh(c.ctx, c.repo, p)
		}
	}
	if !c.find() {
		return fail(http.StatusNotFound, "Not Found")
	}
	if len(c.body) > 0 && !json.Valid(c.body) {
		return fail(http.StatusBadRequest, "Problems parsing JSON")
	}
	if c.who.readOnly && c.r.Method != http.MethodGet {
		c.header.Set("X-Accepted-GitHub-Permissions", "pull_requests=write")
		return fail(http.StatusForbidden, "Resource not accessible by personal access token")
	}
	if c.repo != nil && c.r.Method != http.MethodGet {
		c.repo.version++
	}
	key := c.r.Host + c.r.URL.String()
	if rt.list {
		if l, ok := c.repo.lists[key]; ok && l.version == c.repo.version {
			if l.link != "" {
				c.header.Set("Link", l.link)
			}
			return l.answer
		}
	}
	s.contract.checkRequest(c.r, c.body, rt.path, c.params)
	a := rt.do(c)
	if rt.list && a.status == http.StatusOK {
		// Completed and checked once, and then sent again as it is.
		a.value = s.contract.complete(c.r, rt.path, a.status, a.value)
		s.contract.checkResponse(c.r, rt.path, c.params, a.status,
			http.Header{"Content-Type": {"application/json; charset=utf-8"}}, encode(a.value))
		reallyNull(a.value)
		a = answer{a.status, json.RawMessage(encode(a.value))}
		if len(c.repo.lists) > 64 {
			clear(c.repo.lists)
		}
		c.repo.lists[key] = listed{c.repo.version, a, c.header.Get("Link")}
	}
	return a
}

// send writes an answer: completed, checked, tagged, and counted unless nothing has changed.
func (s *Server) send(w http.ResponseWriter, r *http.Request, rt *route, params map[string]string, a answer,
	header http.Header) {
	for k, v := range header {
		w.Header()[k] = v
	}
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	var body []byte
	_, ready := a.value.(json.RawMessage)
	if a.value != nil {
		if rt != nil && !ready {
			a.value = s.contract.complete(r, rt.path, a.status, a.value)
		}
		body = encode(a.value)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	if rt != nil && !ready && a.status != http.StatusUnauthorized {
		s.contract.checkResponse(r, rt.path, params, a.status, w.Header(), body)
	}
	if reallyNull(a.value) {
		body = encode(a.value)
	}
	if r.Method == http.MethodGet && a.status == http.StatusOK {
		sum := sha256.Sum256(body)
		etag := `W/"` + hex.EncodeToString(sum[:16]) + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			a.status, body = http.StatusNotModified, nil
			w.Header().Del("Content-Type")
		}
	}
	if rt != nil && !rt.app {
		if who, ok := s.who(r); ok {
			l := s.limitOf(who.login, "core")
			if a.status != http.StatusNotModified {
				l.used++
				s.counts.Counted++
			}
			s.limitHeader(w.Header(), "core", l)
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}

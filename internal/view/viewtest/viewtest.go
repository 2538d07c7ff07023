// Package viewtest runs the real programs with a home of their own: a repository, a box, sessions, and the page.
package viewtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// Rig is a user's machine.
type Rig struct {
	t       testing.TB
	Dir     string
	Bin     string
	Env     []string
	Address string // of the page
	repo    string
	listen  string
	server  *proc.Process
	routes  *http.ServeMux // of the document that the page serves
}

// Build builds the programs into a directory of their own.
func Build(t testing.TB) string {
	t.Helper()
	bin := t.TempDir()
	must.Do(t, os.Chmod(bin, 0o755)) // boxes show it to a user of their own
	must.Do(t, programs.Build(t.Context(), bin, "cco", "cco-box", "cco-guard", "cco-cruise"))
	return bin
}

// Over is a machine that is there already: the page alone is added to it, and the repository is a directory in dir.
func Over(t testing.TB, dir, bin, repo string, env []string) *Rig {
	r := &Rig{t: t, Dir: dir, Bin: bin, Env: env, repo: repo, listen: "127.0.0.1:0"}
	t.Cleanup(r.Kill)
	return r
}

// New makes one, with a box.
func New(t testing.TB) *Rig {
	t.Helper()
	return With(t, Build(t))
}

// With makes one with programs that were built.
func With(t testing.TB, bin string) *Rig {
	t.Helper()
	r := &Rig{t: t, Dir: t.TempDir(), Bin: bin, repo: "repo", listen: "127.0.0.1:0"}
	must.Do(t, os.Chmod(r.Dir, 0o755)) // as the programs
	r.Env = []string{"HOME=" + r.Path("home"), "PATH=" + r.Bin + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1",
		"TERM=xterm", "XDG_DATA_HOME=" + r.Path("data"), "XDG_CONFIG_HOME=" + r.Path("config")}
	r.Write("home/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
	r.Write("repo/README.md", "# Sample\n")
	r.Run("git", "init", "-q")
	r.Run("git", "add", ".")
	r.Run("git", "commit", "-qm", "start")
	r.Run("cco", "box", "create")
	t.Cleanup(func() {
		r.Kill()
		r.endEngine()
		sessions, _ := filepath.Glob(r.Path("data/cco/sessions/*"))
		for _, s := range sessions {
			_, _ = r.Try("cco", "box", "kill", filepath.Base(s)) // most have ended
		}
	})
	return r
}

// Path is below the machine's directory.
func (r *Rig) Path(name string) string { return filepath.Join(r.Dir, name) }

// Data is cco's data directory.
func (r *Rig) Data() string { return r.Path("data/cco") }

// Write writes a file.
func (r *Rig) Write(name, text string) {
	r.t.Helper()
	must.Do(r.t, os.MkdirAll(filepath.Dir(r.Path(name)), 0o755))
	must.Do(r.t, os.WriteFile(r.Path(name), []byte(text), 0o644)) // boxes' users read it
}

// Append adds to a file.
func (r *Rig) Append(name, text string) {
	r.t.Helper()
	f := must.Get(os.OpenFile(r.Path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))(r.t) // as Write
	_ = must.Get(f.WriteString(text))(r.t)
	must.Do(r.t, f.Close())
}

// Try runs a program in the repository.
func (r *Rig) Try(argv ...string) (string, error) {
	var words bytes.Buffer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), 8*time.Minute)
	defer cancel()
	out, err := proc.Output(ctx, proc.Cmd{Argv: argv, Path: r.find(argv[0]), Dir: r.Path(r.repo), Env: r.Env,
		Stderr: &words})
	return string(out) + words.String(), err
}

// find looks for a program of ours before the system's.
func (r *Rig) find(name string) string {
	own := filepath.Join(r.Bin, name)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	path, err := proc.LookPath(name)
	if err != nil {
		r.t.Fatalf("%v: scripts/tools installs what tests need", err)
	}
	return path
}

// Run runs a program that must succeed.
func (r *Rig) Run(argv ...string) string {
	r.t.Helper()
	out, err := r.Try(argv...)
	if err != nil {
		r.t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return out
}

var sessionID = regexp.MustCompile(`Session ([0-9a-f]{8}) started`)

// Push hands a plan of shell commands to the script agent, and gives the session's id.
func (r *Rig) Push(title, commands string, more ...string) string {
	r.t.Helper()
	r.Write("plan.md", "# "+title+"\n\n## Task 1: "+title+"\n\n```sh\n"+commands+"\n```\n")
	out := r.Run(append([]string{"cco", "box", "push", r.Path("plan.md"), "--agent", "script", "--detach"}, more...)...)
	m := sessionID.FindStringSubmatch(out)
	if m == nil {
		r.t.Fatalf("no session in %q", out)
	}
	return m[1]
}

// Serve starts the page, at the same address every time. Somebody else may have the port for a moment.
func (r *Rig) Serve() {
	r.t.Helper()
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := r.serve()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) || time.Now().After(until) {
			r.t.Fatal(err)
		}
	}
}

func (r *Rig) serve() error {
	r.t.Helper()
	in, out, err := os.Pipe()
	must.Do(r.t, err)
	errs := must.Get(os.Create(r.Path("view.err")))(r.t)
	r.server = must.Get(proc.Start(context.WithoutCancel(r.t.Context()), proc.Cmd{
		Argv: []string{"cco-cruise", "view", "--json", "--listen", r.listen}, Path: filepath.Join(r.Bin, "cco-cruise"),
		Dir: r.Path(r.repo), Env: r.Env, Stdout: out, Stderr: errs}))(r.t)
	_ = out.Close()
	_ = errs.Close()
	defer func() { _ = in.Close() }()
	words := bufio.NewReader(in)
	line, err := words.ReadString('\n')
	var found struct {
		Address string `json:"address"`
	}
	if err != nil || json.Unmarshal([]byte(line), &found) != nil {
		_ = r.server.Wait()
		rest, _ := io.ReadAll(words)
		said, _ := os.ReadFile(r.Path("view.err"))
		return errors.Join(fmt.Errorf("cco view says %s%s\n%s", line, rest, said), err)
	}
	r.Address, r.listen = found.Address, strings.TrimPrefix(found.Address, "http://")
	return nil
}

// endEngine ends an engine of phases that the page has started.
func (r *Rig) endEngine() {
	data, err := os.ReadFile(filepath.Join(r.Data(), "cruise.lock"))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || !strings.HasPrefix(exe, r.Bin) {
		return // it has ended, and another has its number
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// Kill ends the page as a crash would.
func (r *Rig) Kill() {
	if r.server != nil {
		_ = r.server.Signal(syscall.SIGKILL)
		_ = r.server.Wait()
		r.server = nil
	}
}

// PID is the page's process.
func (r *Rig) PID() int { return r.server.Pid() }

// Token is that of the page.
func (r *Rig) Token() string {
	r.t.Helper()
	return strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(r.Data(), "view", "token")))(r.t)))
}

// Request makes a request with the token.
func (r *Rig) Request(ctx context.Context, method, path string, body any) *http.Request {
	r.t.Helper()
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(must.Get(json.Marshal(body))(r.t))
	}
	req := must.Get(http.NewRequestWithContext(ctx, method, r.Address+"/api/v1"+path, in))(r.t)
	req.Header.Set("Authorization", "Bearer "+r.Token())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// Ask asks the page for something and reads it strictly: no field may come that out does not have.
func (r *Rig) Ask(method, path string, body, out any) (status int) {
	r.t.Helper()
	resp, err := http.DefaultClient.Do(r.Request(r.t.Context(), method, path, body))
	must.Do(r.t, err)
	defer func() { _ = resp.Body.Close() }()
	data := must.Get(io.ReadAll(resp.Body))(r.t)
	r.held(resp, data)
	if out != nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(out); err != nil {
			r.t.Fatalf("%s %s gives %d %s: %v", method, path, resp.StatusCode, data, err)
		}
	}
	return resp.StatusCode
}

// described is a route of the document, where a mux finds it.
type described struct {
	http.Handler
	route *routers.Route
}

// held makes sure that an answer is what the served document says of it.
func (r *Rig) held(resp *http.Response, body []byte) {
	r.t.Helper()
	if r.routes == nil {
		got, err := http.DefaultClient.Do(r.Request(r.t.Context(), http.MethodGet, "/openapi.json", nil))
		must.Do(r.t, err)
		defer func() { _ = got.Body.Close() }()
		doc := must.Get(openapi3.NewLoader().LoadFromData(must.Get(io.ReadAll(got.Body))(r.t)))(r.t)
		r.routes = http.NewServeMux()
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				r.routes.Handle(method+" "+path, described{http.NotFoundHandler(), &routers.Route{Spec: doc, Path: path,
					PathItem: item, Method: method, Operation: op}})
			}
		}
	}
	h, _ := r.routes.Handler(resp.Request)
	is, ok := h.(described)
	if !ok {
		r.t.Errorf("%s %s is not in the document", resp.Request.Method, resp.Request.URL.Path)
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: resp.Request, Route: is.route}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode,
		Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body))}
	if err := openapi3filter.ValidateResponse(r.t.Context(), out); err != nil {
		r.t.Errorf("%s %s gives %d %.300s: %v", resp.Request.Method, resp.Request.URL.Path, resp.StatusCode, body, err)
	}
}

// Event is one of a stream.
type Event struct{ ID, Name, Data string }

// Stream reads events until each says that it has had enough.
func (r *Rig) Stream(path, last string, each func(Event) (more bool)) error {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 8*time.Minute)
	defer cancel()
	req := r.Request(ctx, http.MethodGet, path, nil)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s gives %d", path, resp.StatusCode)
	}
	var e Event
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.ID = value
		case "event":
			e.Name = value
		case "data":
			e.Data = value
		case "":
			if e.Data != "" && !each(e) {
				return nil
			}
			e = Event{}
		}
	}
	return lines.Err()
}

// Await waits for a session to be in a state.
func (r *Rig) Await(id string, states ...string) {
	r.t.Helper()
	until := time.Now().Add(8 * time.Minute) // only a failure waits long
	for {
		var list []struct{ ID, State, Reason string }
		must.Do(r.t, json.Unmarshal([]byte(r.Run("cco", "box", "sessions", "--all", "--json")), &list))
		for _, v := range list {
			if v.ID == id && slices.Contains(states, v.State) {
				return
			}
		}
		if time.Now().After(until) {
			r.t.Fatalf("session %s is not %v: %+v\n%s", id, states, list, r.Run("cco", "box", "logs", id))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

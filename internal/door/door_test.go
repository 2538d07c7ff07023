package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/socket"
)

// deep is a directory whose path is longer than the address of a socket can be.
func deep(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 30))
	must.Do(t, os.Mkdir(dir, 0o700))
	return dir
}

func open(t *testing.T, c Config) *Door {
	t.Helper()
	d := must.Get(Open(t.Context(), c))(t)
	t.Cleanup(d.Close)
	return d
}

func TestADoorLeadsAProgramToIt(t *testing.T) {
	dir := deep(t)
	c := Config{Config: broker.Config{Token: "t0", Mode: broker.ModeAllowlist}, Dir: dir, Inside: "/exchange/3f9c01aa"}
	d := open(t, c)
	e := box.Exec{Argv: []string{"claude", "-p"}, Env: []string{"A=1", "NO_PROXY=own"}, Way: d.Way()}.Led("/run/cco-box")
	if want := []string{"/run/cco-box", "relay", "/exchange/3f9c01aa/door.sock", "--", "claude",
		"-p"}; !slices.Equal(e.Argv, want) {
		t.Errorf("argv %q", e.Argv)
	}
	for _, want := range []string{"HTTPS_PROXY=http://cco:t0@@cco-door@", "https_proxy=http://cco:t0@@cco-door@",
		"ALL_PROXY=http://cco:t0@@cco-door@",
		"no_proxy=localhost,127.0.0.1,::1", "A=1"} {
		if !slices.Contains(e.Env, want) {
			t.Errorf("env %q lacks %s", e.Env, want)
		}
	}
	if e.Env[len(e.Env)-1] != "NO_PROXY=own" {
		t.Error("the agent's own settings must have the last word")
	}
	if len(e.Binds) > 0 {
		t.Errorf("it sees the socket already, and is shown %v", e.Binds)
	}
	d.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWithoutADoor(t *testing.T) {
	d, err := Open(t.Context(), Config{Dir: filepath.Join(t.TempDir(), "nowhere")})
	if d != nil || err != nil {
		t.Fatalf("a door by which nothing could leave: %v, %v", d, err)
	}
	if d.Way() != nil || d.Address() != "" || d.Token() != "" || d.Spent() != nil || d.Full() {
		t.Error("none is told of as one")
	}
	d.Close()
}

// A door that the program can't see yet is in a directory of its own, which is removed with it.
func TestADoorOfItsOwn(t *testing.T) {
	dir, log := filepath.Join(deep(t), "doors"), filepath.Join(t.TempDir(), LogFile)
	d := open(t, Config{Config: broker.Config{Mode: broker.ModeAllowlist, Session: "shell"}, Dir: dir, Log: log})
	e := box.Exec{Way: d.Way()}.Led("tool")
	if len(e.Binds) != 1 || filepath.Dir(e.Binds[0].Path) != dir || !e.Binds[0].Door {
		t.Fatalf("it is shown %v", e.Binds)
	}
	at := d.Way().Socket
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(at): 0o755, at: 0o666} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	c, err := socket.Dial(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"))
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || answer.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("without a token: %v, %v", answer, err)
	}
	_ = answer.Body.Close()
	_ = c.Close()
	d.Close()
	if data, err := os.ReadFile(LogFiles(log)[3]); err != nil || !strings.Contains(string(data), `"session":"shell"`) {
		t.Errorf("the record is %q, %v", data, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Guards against a user who is asked for a key twice, and against a door that opens without the key.
func TestAKeyIsFetchedOnceForADoor(t *testing.T) {
	p, err := broker.FindProvider("anthropic")
	if err != nil {
		t.Fatal(err)
	}
	fetched := 0
	c := Config{Dir: t.TempDir(), Inside: "/exchange"}
	c.Models = []broker.Upstream{{Provider: p, Fetch: func(context.Context) (broker.Key, error) {
		fetched++
		return broker.NewKey("sk-ant-nobody-knows", false)
	}}}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"key is `+r.Header.Get("X-Api-Key")+`":1}`)
	}))
	defer model.Close()
	if c.Models[0].Base, err = url.Parse(model.URL); err != nil {
		t.Fatal(err)
	}
	c.Bodies = filepath.Join(t.TempDir(), "bodies.jsonl")
	d := open(t, c)
	conn, err := socket.Dial(t.Context(), d.Way().Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	r := httptest.NewRequest(http.MethodPost, "/anthropic/v1/messages", strings.NewReader(`{"model":"m","question":1}`))
	r.Header.Set("X-Api-Key", d.Token())
	r.Header.Set("Content-Type", "application/json")
	must.Do(t, r.Write(conn))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", answer, err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	d.Close()
	bodies, err := os.ReadFile(c.Bodies)
	if err != nil || !strings.Contains(string(bodies), "question") || !strings.Contains(string(bodies), "key is ***") {
		t.Errorf("what passed, with the key masked: %s, %v", bodies, err)
	}
	if fetched != 1 {
		t.Errorf("the key was fetched %d times", fetched)
	}
	locked := errors.New("locked")
	c.Models[0].Fetch = func(context.Context) (broker.Key, error) { return broker.Key{}, locked }
	if d, err := Open(t.Context(), c); d != nil || !errors.Is(err, locked) {
		t.Errorf("without its key: %v, %v", d, err)
	}
}

func TestTokensAreRandom(t *testing.T) {
	c := Config{Config: broker.Config{Mode: broker.ModeOpen}, Dir: t.TempDir()}
	if a, b := open(t, c).Token(), open(t, c).Token(); a == b || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a) {
		t.Errorf("tokens %s, %s", a, b)
	}
}

// entries reads a record of a test.
func entries(t *testing.T, path string) (all []broker.Entry) {
	t.Helper()
	must.Do(t, ReadLog(path, 1<<20, func(e broker.Entry) { all = append(all, e) }))
	return all
}

// Guards against refused requests that push what left out of its record: 26,400 of them did.
func TestRefusalsPushNothingOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), LogFile)
	l := newRecord(path, 10_000)
	l.add(broker.Entry{Host: "left.example", Decision: broker.Allowed})
	same := broker.Entry{Time: time.Now(), Host: "evil.example", Decision: broker.Refused, Reason: "not allowed"}
	for range 3000 {
		same.Time, same.Millis = same.Time.Add(time.Second), same.Millis+1
		l.add(same)
	}
	l.flush()
	all, evil := entries(t, path), 0
	for _, e := range all[1:] {
		evil += max(1, e.Count)
	}
	if len(all) > 20 || evil != 3000 || !all[len(all)-1].Time.Equal(same.Time) {
		t.Errorf("3000 of the same refusal are %d lines that say %d, the last %+v", len(all)-1, evil, all[len(all)-1])
	}
	for i := range 3000 {
		l.add(broker.Entry{Host: fmt.Sprint(i, ".example"), Decision: broker.Refused})
	}
	if all := entries(t, path); all[0].Host != "left.example" {
		t.Errorf("what left is gone; first is %+v", all[0])
	}
}

// Guards against a record with a gap that nobody sees: of what can't be written, or had to make room, a line tells.
func TestALostEntryLeavesALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), LogFile)
	l := newRecord(path, 10_000)
	must.Do(t, os.Mkdir(path, 0o700)) // nothing can be written
	l.add(broker.Entry{Host: "lost.example", Decision: broker.Allowed})
	l.add(broker.Entry{Host: "lost.example", Decision: broker.Allowed})
	must.Do(t, os.Remove(path))
	l.add(broker.Entry{Host: "next.example", Decision: broker.Allowed})
	if all := entries(t, path); len(all) != 2 || all[0].Decision != broker.Lost || all[0].Count != 2 {
		t.Errorf("%+v", all)
	}
	for range 500 {
		l.add(broker.Entry{Host: "next.example", Decision: broker.Allowed})
	}
	lost, there := 0, 0
	for _, e := range entries(t, path) {
		if e.Decision == broker.Lost {
			lost += e.Count
		} else {
			there++
		}
	}
	if there == 501 || lost+there < 503 {
		t.Errorf("of 503 entries %d are there, and lines tell of %d", there, lost)
	}
}

// Guards against an agent that fills the disk by asking often.
func TestTheNetLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), LogFile)
	l := newRecord(path, 10_000)
	long := strings.Repeat("x", 1000)
	for range 35 {
		l.add(broker.Entry{Host: long, Decision: broker.Allowed})
	}
	for _, p := range []string{path, path + ".1"} {
		info, err := os.Stat(p)
		if err != nil || info.Size() > 12_000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %+v, %v", p, info, err)
		}
	}
	l.add(broker.Entry{Host: "again", Decision: broker.Allowed})
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"again"`) {
		t.Errorf("the last entry is lost: %v", err)
	}
}

package view_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec" // the program under test, on a terminal
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// onTerminal pushes a plan whose agent has a terminal of 80 by 24, leaves it there, and gives the session's id.
func onTerminal(t *testing.T, r *viewtest.Rig, title, commands string) string {
	t.Helper()
	r.Write("tty.md", "# "+title+"\n\n## Task 1: "+title+"\n\n```sh\n"+commands+"\n```\n")
	before := map[string]bool{}
	list := func() (ids []string) {
		// A session that its keeper writes of is recorded.
		files, _ := filepath.Glob(filepath.Join(r.Data(), "sessions", "*", "transcript.jsonl"))
		for _, f := range files {
			ids = append(ids, filepath.Base(filepath.Dir(f)))
		}
		return ids
	}
	for _, id := range list() {
		before[id] = true
	}
	argv := []string{"box", "push", r.Path("tty.md"), "--agent", "script"}
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "cco"), argv...) //nolint:forbidigo // on a terminal
	cmd.Dir, cmd.Env = r.Path("repo"), r.Env
	tty := must.Get(pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80}))(t)
	go func() { _, _ = io.Copy(io.Discard, tty) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = tty.Close() })
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		for _, id := range list() {
			if !before[id] {
				return id
			}
		}
	}
	t.Fatal("no session was made")
	return ""
}

// painted draws in colours, lies in every way that terminals know, and then reads keys.
const painted = `printf '\033]0;stolen title\007\033]8;;https://evil.example/\033\\bank\033]8;;\033\\'
printf '\033]52;c;c3RvbGVu\007\033[c\033[6n\033]11;?\007'
printf '\033[1;31mred\033[0m \033[42mgreen\033[0m READY\r\n'
perl -MPOSIX -e '$SIG{TTOU}="IGNORE"; open(T,"+<","/dev/tty") or die; POSIX::tcsetpgrp(fileno(T),getpgrp()) or die "$!"'
while read line </dev/tty; do echo "heard $line"; stty size </dev/tty; done`

// client is a page that shows a terminal.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	seen strings.Builder
	said []api.Screen
}

func dial(t *testing.T, r *viewtest.Rig, id string) *client {
	t.Helper()
	url := "ws" + strings.TrimPrefix(r.Address, "http") + "/api/v1/sessions/" + id + "/terminal"
	who := &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + r.Token()}}}
	conn, _, err := websocket.Dial(t.Context(), url, who) //nolint:bodyclose // the library closes it
	must.Do(t, err)
	conn.SetReadLimit(8 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{t: t, conn: conn}
}

// until reads until something was seen.
func (c *client) until(is func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for !is() {
		kind, data, err := c.conn.Read(ctx)
		if err != nil {
			c.t.Fatalf("%v; it has seen %q and heard %+v", err, c.seen.String(), c.said)
		}
		if kind == websocket.MessageBinary {
			c.seen.Write(data)
			continue
		}
		var s api.Screen
		must.Do(c.t, strictly(data, &s))
		c.said = append(c.said, s)
	}
}

func (c *client) sees(words string) func() bool {
	return func() bool { return strings.Contains(c.seen.String(), words) }
}

func (c *client) hears(kind string) func() bool {
	return func() bool { return len(c.said) > 0 && c.said[len(c.said)-1].Kind == kind }
}

func (c *client) send(k api.Keys) {
	c.t.Helper()
	must.Do(c.t, c.conn.Write(c.t.Context(), websocket.MessageText, must.Get(json.Marshal(k))(c.t)))
}

// strictly reads JSON that may have no other fields than out.
func strictly(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(out)
}

// attach is `cco box attach` on a terminal.
type attach struct {
	t    *testing.T
	tty  *os.File
	said chan string
}

func newAttach(t *testing.T, r *viewtest.Rig, id string) *attach {
	t.Helper()
	argv := []string{"box", "attach", id}
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "cco"), argv...) //nolint:forbidigo // on a terminal
	cmd.Dir, cmd.Env = r.Path("repo"), r.Env
	a := &attach{t: t, tty: must.Get(pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80}))(t),
		said: make(chan string, 1)}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = a.tty.Close() })
	go func() {
		all, _ := io.ReadAll(a.tty)
		a.said <- string(all)
	}()
	return a
}

// ended waits for its end, and gives what it said.
func (a *attach) ended() string {
	a.t.Helper()
	select {
	case said := <-a.said:
		return said
	case <-time.After(time.Minute):
		a.t.Fatal("attach goes on")
	}
	return ""
}

func TestATerminalHasOneWriter(t *testing.T) {
	r := viewtest.New(t)
	r.Serve()
	id := onTerminal(t, r, "Paint", painted)
	one, two := dial(t, r, id), dial(t, r, id)
	one.until(one.sees("READY"))
	two.until(two.sees("READY"))
	for _, bad := range []string{"stolen", "evil.example", "c3RvbGVu", "\x1b]", "\x1b[c", "\x1b[6n"} {
		if strings.Contains(one.seen.String(), bad) {
			t.Errorf("%q reaches the page: %q", bad, one.seen.String())
		}
	}
	if !strings.Contains(one.seen.String(), "\x1b[1;31mred") {
		t.Errorf("colours are lost: %q", one.seen.String())
	}
	one.send(api.Keys{Data: "unheard\r"}) // it may only look
	one.send(api.Keys{Take: true, Cols: 100, Rows: 30})
	one.until(one.hears("writer"))
	one.send(api.Keys{Data: "first\r"})
	one.until(one.sees("heard first"))
	one.until(one.sees("30 100"))
	if strings.Contains(one.seen.String(), "unheard") {
		t.Error("a page that only looks can type")
	}
	two.send(api.Keys{Take: true})
	two.until(two.hears("writer"))
	one.until(one.hears("reader"))
	one.send(api.Keys{Data: "lost\r"})
	two.send(api.Keys{Data: "second\r"})
	two.until(two.sees("heard second"))
	if strings.Contains(two.seen.String(), "lost") {
		t.Error("two pages type at once")
	}
	// Guards against a terminal that types beside the page.
	attach := newAttach(t, r, id)
	two.until(two.hears("reader"))
	two.send(api.Keys{Data: "unheard\r", Cols: 50, Rows: 20})
	must.Get(attach.tty.WriteString("third\r"))(t)
	two.until(two.sees("heard third"))
	one.send(api.Keys{Take: true, Cols: 90, Rows: 25})
	one.until(one.hears("writer"))
	if said := attach.ended(); !strings.Contains(said, "was taken elsewhere") {
		t.Errorf("an attach that lost the keyboard says %q", said)
	}
	one.send(api.Keys{Data: "fourth\r"})
	one.until(one.sees("heard fourth"))
	one.until(one.sees("25 90"))
	if strings.Contains(one.seen.String(), "unheard") || strings.Contains(one.seen.String(), "20 50") {
		t.Error("a page that lost the keyboard can type")
	}
	// Guards against messages that the document does not have.
	three := dial(t, r, id)
	must.Do(t, three.conn.Write(t.Context(), websocket.MessageText, []byte(`{"take": true, "paste": "x"}`)))
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := error(nil); err == nil; _, _, err = three.conn.Read(soon) {
	}
	if soon.Err() != nil {
		t.Error("a message with another field is taken")
	}
	one.send(api.Keys{Data: "fifth\r"})
	one.until(one.sees("heard fifth"))
	r.Run("cco", "box", "kill", id)
	two.until(two.hears("ended"))
	quiet := r.Push("No terminal", "true")
	if status := r.Ask(http.MethodGet, "/sessions/"+quiet+"/terminal", nil, nil); status != http.StatusConflict {
		t.Errorf("a session without a terminal gives %d", status)
	}
}

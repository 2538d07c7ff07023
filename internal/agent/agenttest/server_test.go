package agenttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// client is as much of a CLI as one protocol needs: how it asks, and how it tells what was answered.
type client struct {
	name, path, whole string
	request           func(turns int) string // that many turns of the model were, each with a tool's answer after it
	text              func(events []event, whole object) string
	call              func(events []event, whole object) (tool, input string)
	shell             string // the tool that runs commands
}

// reply is a response whose body is closed with the test.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

func post(t *testing.T, url, body string) reply {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "Bearer sesame")
	// a kept connection that is dropped would be tried again
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return reply{resp.StatusCode, resp.Header, resp.Body}
}

// events reads a stream as a strict client does: an unknown field or data that is no JSON is an error.
func events(t *testing.T, r io.Reader) (list []event, broken int, err error) {
	t.Helper()
	var e event
	s := bufio.NewScanner(r)
	for s.Scan() {
		field, value, _ := strings.Cut(s.Text(), ": ")
		switch {
		case s.Text() == "":
			if e.data != nil {
				list = append(list, e)
			}
			e = event{}
		case field == "event":
			e.name = value
		case field == "data" && value == "[DONE]":
			e.data = value
		case field == "data":
			var v object
			if json.Unmarshal([]byte(value), &v) != nil {
				broken++
				continue
			}
			e.data = v
		default:
			t.Errorf("no line of an event: %q", s.Text())
		}
	}
	return list, broken, s.Err()
}

func ask(t *testing.T, s *Server, c client, turns int) ([]event, error) {
	t.Helper()
	resp := post(t, s.URL+c.path, c.request(turns))
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("%s: content type %q, status %d", c.name, ct, resp.StatusCode)
	}
	list, _, err := events(t, resp.Body)
	return list, err
}

func askWhole(t *testing.T, s *Server, c client, turns int) (v object) {
	t.Helper()
	body := strings.Replace(c.request(turns), `"stream":true`, `"stream":false`, 1)
	resp := post(t, s.URL+c.whole, body)
	must.Do(t, json.NewDecoder(resp.Body).Decode(&v))
	return v
}

func eachProtocol(t *testing.T, test func(*testing.T, client)) {
	t.Helper()
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

func TestStepsAreServedByTheTurnsInTheRequest(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		s := Serve(t, Step{Thinking: "hm", Text: "I look."}, Shell("ls -l"), Say("größe"))
		for range 2 { // a retry gets the same
			for turns, want := range []string{"I look.", "", "größe", "done"} {
				list := must.Get(ask(t, s, c, turns))(t)
				whole := askWhole(t, s, c, turns)
				if got := c.text(list, nil); got != want {
					t.Errorf("step %d streams %q, want %q", turns, got, want)
				}
				if got := c.text(nil, whole); got != want {
					t.Errorf("step %d is %q, want %q", turns, got, want)
				}
				if turns != 1 {
					continue
				}
				for _, from := range []struct {
					list  []event
					whole object
				}{{list, nil}, {nil, whole}} {
					if tool, in := c.call(from.list, from.whole); tool != c.shell || !strings.Contains(in, "ls -l") {
						t.Errorf("call %s(%s), want %s", tool, in, c.shell)
					}
				}
			}
		}
		if !strings.Contains(s.Heard(), "answer 0") {
			t.Errorf("heard %q", s.Heard())
		}
	})
}

func TestRequestsAreRecorded(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		s := Serve(t)
		must.Get(ask(t, s, c, 0))(t)
		r := s.Requests()[0]
		if r.Key() != "sesame" || r.Protocol != c.name || !r.Turn || r.Model != "m" || !s.Saw("say \"hello\"") {
			t.Errorf("recorded %+v", r)
		}
	})
}

func TestUsageIsWhatTheTestSays(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		s := Serve(t, Step{Text: "x", Usage: Usage{Input: 1000, Output: 77, CacheRead: 300}})
		list := must.Get(ask(t, s, c, 0))(t)
		all, whole := encode(datas(list)), encode(askWhole(t, s, c, 0))
		in := "1300" // they count what was cached as input, all but anthropic
		if c.name == "anthropic" {
			in = "1000"
		}
		for _, want := range []string{in, ":77", ":300"} {
			if !strings.Contains(all, want) || !strings.Contains(whole, want) {
				t.Errorf("no %s in %s", want, all)
			}
		}
	})
}

func datas(list []event) (d []any) {
	for _, e := range list {
		d = append(d, e.data)
	}
	return d
}

func TestStatusFaultsAnswerInTheProtocolsWords(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		s := Serve(t, Say("at last"))
		s.Fail(1, Fault{Status: 429, RetryAfter: 7 * time.Second}, Fault{Status: 529}, Fault{Status: 401},
			Fault{Reset: time.Unix(2000000000, 0)})
		for i, want := range []int{429, 529, 401, 429} {
			resp := post(t, s.URL+c.path, c.request(0))
			body := must.Get(io.ReadAll(resp.Body))(t)
			if resp.StatusCode != want || !json.Valid(body) || !bytes.Contains(body, []byte(`"message"`)) {
				t.Errorf("request %d: %d %s", i+1, resp.StatusCode, body)
			}
			if want == 429 && i == 0 && resp.Header.Get("Retry-After") != "7" {
				t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
			}
		}
		if list, err := ask(t, s, c, 0); err != nil || c.text(list, nil) != "at last" {
			t.Errorf("after the faults: %v", err)
		}
		if s.Turns() != 5 {
			t.Errorf("%d turns", s.Turns())
		}
	})
}

func TestADropAtTheStartAnswersNothing(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		s := Serve(t, Say("x"))
		s.FailNext(Fault{Drop: AtStart})
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+c.path,
			strings.NewReader(c.request(0))))(t)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Fatal("answered")
		}
	})
}

func TestDroppedStreamsEndWhereTheyShould(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		s := Serve(t, Step{Text: "word by word", Calls: []Call{ShellCall("first"), ShellCall("second")}})
		whole := must.Get(ask(t, s, c, 0))(t)
		s.FailNext(Fault{Drop: InMiddle}, Fault{Drop: AfterCall})
		middle, err := ask(t, s, c, 0)
		if err == nil {
			t.Error("the stream that was dropped in the middle ended well")
		}
		if got := c.text(middle, nil); got == "" || got == "word by word" {
			t.Errorf("in the middle: %q", got)
		}
		late, err := ask(t, s, c, 0)
		if err == nil {
			t.Error("the stream that was dropped after a call ended well")
		}
		if _, in := c.call(late, nil); !strings.Contains(in, "second") || len(late) >= len(whole) {
			t.Errorf("after a call: %d events of %d, call %s", len(late), len(whole), in)
		}
	})
}

func TestMalformedEventsComeAmongGoodOnes(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		s := Serve(t, Say("word by word"))
		s.FailNext(Fault{Malformed: true})
		resp := post(t, s.URL+c.path, c.request(0))
		list, broken, err := events(t, resp.Body)
		if err != nil || broken != 1 || c.text(list, nil) != "word by word" {
			t.Errorf("%d broken, %q, %v", broken, c.text(list, nil), err)
		}
	})
}

func TestHangsLastUntilTheyAreReleased(t *testing.T) {
	eachProtocol(t, func(t *testing.T, c client) {
		for _, at := range []Point{AtStart, InMiddle} {
			s := Serve(t, Say("word by word"))
			s.FailNext(Fault{Hang: at})
			done := make(chan string)
			go func() {
				resp, err := http.Post(s.URL+c.path, "application/json", strings.NewReader(c.request(0)))
				if err != nil {
					done <- err.Error()
					return
				}
				defer func() { _ = resp.Body.Close() }()
				list, _, _ := events(t, resp.Body)
				done <- c.text(list, nil)
			}()
			for got := ""; got == ""; {
				select {
				case got = <-done:
					if got != "word by word" {
						t.Errorf("after the release: %q", got)
					}
				case <-time.After(10 * time.Millisecond):
					if s.Turns() == 1 {
						s.Release()
					}
				}
			}
		}
	})
}

// Guards against a test that ends while a client still hangs, and never ends itself.
func TestClosingEndsWhatHangs(t *testing.T) {
	s := Start(Say("x"))
	s.FailNext(Fault{Hang: AtStart})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.Post(s.URL+"/v1/messages", "application/json",
			strings.NewReader(clients()[0].request(0))); err == nil {
			_ = resp.Body.Close()
		}
	}()
	for s.Turns() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	<-done
}

func TestWhatIsNoConversationTakesNoStep(t *testing.T) {
	s := Serve(t, Shell("ls"))
	s.FailNext(Fault{Status: 500})
	c := clients()[0]
	resp := post(t, s.URL+c.path, `{"model":"m","messages":[{"role":"user","content":"a title for this?"}]}`)
	var v object
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%d: %v", resp.StatusCode, err)
	}
	for path, want := range map[string]string{
		"/v1/messages/count_tokens": "input_tokens", "/v1beta/models/m:countTokens": "totalTokens", "/v1/models": "data",
		"/telemetry": "{",
	} {
		body, _ := io.ReadAll(post(t, s.URL+path, "{}").Body)
		if !json.Valid(body) || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if s.Turns() != 0 {
		t.Errorf("%d turns", s.Turns())
	}
}

func TestWritingTakesTheToolThatTheAgentHas(t *testing.T) {
	for tools, want := range map[string]string{
		"Bash Write": "Write", "run_shell_command write_file": "write_file", "bash write": "write",
		"exec_command apply_patch": "apply_patch", "exec wait": "exec", "exec_command": "exec_command",
	} {
		c := WriteCall("/w/a.txt", "one\ntwo\n").with(strings.Fields(tools))
		if c.Tool != want || !strings.Contains(encode(c.Input)+c.Free, "/w/a.txt") {
			t.Errorf("%s: %+v", tools, c)
		}
		if c.Tool == "apply_patch" && !strings.Contains(c.Free, "\n+one\n+two\n***") {
			t.Errorf("patch %q", c.Free)
		}
	}
	if !slices.Contains([]string{"shell"}, ShellCall("x").with(nil).Tool) {
		t.Error("no shell tool where none is known")
	}
}

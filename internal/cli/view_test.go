package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/unit"
)

func shown(t *testing.T, prepare func(*view, *term.Streams), events ...session.Event) (out, err string) {
	t.Helper()
	s, o, e := term.Test("")
	v := &view{a: &commands{&app.App{IO: s}}, out: s.Out}
	if prepare != nil {
		prepare(v, s)
	}
	for _, ev := range events {
		v.show(ev)
	}
	return o.String(), e.String()
}

func does(e event.Event) session.Event { return session.Event{Kind: session.KindEvent, Agent: &e} }

func TestAViewTellsWhatAnAgentDoes(t *testing.T) {
	out, _ := shown(t, nil,
		session.Event{Kind: session.KindAgent, Text: "claude"},
		session.Event{Kind: session.KindOut, Raw: true, Text: `{"type":"assistant"}`},
		does(event.Event{Kind: event.KindThinking, Text: "hm"}),
		does(event.Event{Kind: event.KindText, Text: "I begin.\n"}),
		does(event.Event{Kind: event.KindToolCall, Tool: "Bash",
			Input: json.RawMessage(`{"command":"git\n  commit","description":"x"}`)}),
		does(event.Event{Kind: event.KindToolResult, Text: "fine"}),
		does(event.Event{Kind: event.KindToolCall, Tool: "shell", Input: json.RawMessage(`{"command":["ls","-l"]}`),
			Parent: "t1"}),
		does(event.Event{Kind: event.KindToolResult, Text: "no such\nfile", IsError: true, Parent: "t1"}),
		does(event.Event{Kind: event.KindToolCall, Tool: "Odd", Input: json.RawMessage(`not json`)}),
		does(event.Event{Kind: event.KindDenied, Tool: "Bash", Text: "denied (git.push): no"}),
		does(event.Event{Kind: event.KindRetry, Text: "529 overloaded",
			Retry: &event.Retry{Attempt: 2, Max: 10, Delay: unit.Seconds(1500 * time.Millisecond)}}),
		does(event.Event{Kind: event.KindRetry, Text: "fetch failed", Retry: &event.Retry{Attempt: 3, Max: 9, Bound: true}}),
		does(event.Event{Kind: event.KindUsage, Usage: &event.Usage{Input: 1000}}),
		does(event.Event{Kind: event.KindRaw, Raw: "?"}),
		does(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: event.Failed, Session: "s",
			Error: "API Error: 529", Usage: event.Usage{Input: 12000, Output: 345, Cost: 0.25, Turns: 1}}}),
		does(event.Event{Kind: event.KindUsage, Usage: &event.Usage{Input: 1000}}),
		does(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: event.OK, Session: "s",
			Usage: event.Usage{Input: 2_000_000, Cost: 1, Turns: 3}}}),
	)
	want := `I begin.
» Bash git commit
  » shell ls -l
    ✗ no such file
» Odd
  ✗ Bash denied (git.push): no
… the model did not answer: 529 overloaded; retry 2 of 10 in 1.5s
… the model did not answer: fetch failed; retry 3 of at most 9
✗ API Error: 529
claude: 1 turn, 12k tokens, $0.25, asked again 2 times
claude: 4 turns, 2.0M tokens, $1.25, asked again 2 times
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// Guards against lines that are cut where there is room, and wrapped where there is none.
func TestAViewUsesTheTerminalsWidth(t *testing.T) {
	long := strings.Repeat("word ", 100) + "end"
	events := []session.Event{
		does(event.Event{Kind: event.KindToolCall, Tool: "Bash",
			Input: must.Get(json.Marshal(map[string]string{"command": long}))(t), Parent: "t1"}),
		does(event.Event{Kind: event.KindToolResult, Text: long, IsError: true}),
		does(event.Event{Kind: event.KindDenied, Tool: "Bash", Text: long}),
	}
	out, _ := shown(t, nil, events...)
	for line := range strings.Lines(out) {
		if !strings.HasSuffix(line, " "+long+"\n") {
			t.Errorf("cut, where there is no terminal: %q", line)
		}
	}
	for _, times := range []bool{false, true} {
		out, _ = shown(t, func(v *view, s *term.Streams) { s.OutTTY, v.times = true, times }, events...)
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n != 80 {
				t.Errorf("%d columns of 80: %q", n, line)
			}
		}
	}
}

// Guards against an agent's text that drives the user's terminal, in any field.
func TestAViewDisarmsEverything(t *testing.T) {
	bad := "\x1b]0;x\x07\u202e\u009b\u200f\u2028\u200b"
	input := must.Get(json.Marshal(map[string]string{"command": bad}))(t)
	out, errs := shown(t, func(_ *view, s *term.Streams) { s.Verbose, s.ErrTTY = true, false },
		session.Event{Kind: session.KindAgent, Text: bad}, session.Event{Kind: session.KindStep, Text: bad},
		session.Event{Kind: session.KindErr, Text: bad}, session.Event{Kind: session.KindOut, Text: bad},
		does(event.Event{Kind: event.KindText, Text: bad}), does(event.Event{Kind: event.KindThinking, Text: bad}),
		does(event.Event{Kind: event.KindToolCall, Tool: bad, Input: input}),
		does(event.Event{Kind: event.KindToolResult, Text: bad, IsError: true}),
		does(event.Event{Kind: event.KindToolResult, Text: bad}),
		does(event.Event{Kind: event.KindDenied, Tool: bad, Text: bad}),
		does(event.Event{Kind: event.KindRetry, Text: bad}), does(event.Event{Kind: event.KindRaw, Raw: bad}),
		does(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: event.Failed, Session: "s", Error: bad,
			Usage: event.Usage{Input: 1}}}),
		does(event.Event{Kind: event.KindQuestion, Text: bad}),
	)
	if strings.ContainsAny(out+errs, "\x1b\x07\u202e\u009b\u200f\u2028\u200b") {
		t.Errorf("%q %q", out, errs)
	}
}

func TestAViewPaintsDenialsRedWhereThereAreColours(t *testing.T) {
	out, _ := shown(t, func(_ *view, s *term.Streams) { s.Color = true },
		does(event.Event{Kind: event.KindDenied, Tool: "Bash", Text: "no"}))
	if out != "\x1b[31m  ✗ Bash no\x1b[0m\n" {
		t.Errorf("%q", out)
	}
}

func TestAViewAsJSONIsALineForEachEvent(t *testing.T) {
	out, _ := shown(t, func(v *view, _ *term.Streams) { v.asJSON = true },
		does(event.Event{Kind: event.KindText, Text: "a\nb"}), session.Event{Kind: session.KindEnd, Text: "done"})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"agent":{"kind":"text","text":"a\nb"}`) {
		t.Errorf("%q", lines)
	}
}

func TestAViewLeavesOutWhatWasBefore(t *testing.T) {
	now := time.Now()
	old, young := does(event.Event{Kind: event.KindText, Text: "old"}),
		does(event.Event{Kind: event.KindText, Text: "young"})
	old.At, young.At = now.Add(-time.Second), now.Add(time.Second)
	if out, _ := shown(t, func(v *view, _ *term.Streams) { v.since = now }, old, young); out != "young\n" {
		t.Errorf("%q", out)
	}
}

// Guards against a screen full of an agent's own noise, and against its last words missing when it fails.
func TestAViewShowsStandardErrorOnlyOfAFailure(t *testing.T) {
	noise := []session.Event{}
	for _, line := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		noise = append(noise, session.Event{Kind: session.KindErr, Raw: true, Text: line})
	}
	end := func(o event.Outcome) session.Event {
		return does(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: o}})
	}
	if _, err := shown(t, nil, append(noise, end(event.OK))...); err != "" {
		t.Errorf("noise: %q", err)
	}
	if _, err := shown(t, nil, append(noise, end(event.Failed))...); err != "3\n4\n5\n6\n7\n" {
		t.Errorf("last words: %q", err)
	}
	if _, err := shown(t, func(_ *view, s *term.Streams) { s.Verbose = true }, noise...); err != "1\n2\n3\n4\n5\n6\n7\n" {
		t.Errorf("with --verbose: %q", err)
	}
}

func TestOneLineIsBounded(t *testing.T) {
	if got := oneLine(strings.Repeat("ä\n", 1_000_000), 50); len([]rune(got)) > 50 {
		t.Errorf("%d runes", len([]rune(got)))
	}
}

// Guards against raw bytes of a box where nobody takes a terminal's answers to it: they are shown as a screen, in text.
func TestAViewShowsATerminalAsText(t *testing.T) {
	events := []session.Event{
		{Kind: session.KindSize, Cols: 10, Rows: 2},
		{Kind: session.KindTTY, Data: []byte("\x1b]0;x\aone\r\ntwo\r\nth\xe2")},
		{Kind: session.KindTTY, Data: []byte("\x80\xa6\x1b[2;1H\x1b[cthree\u202e\x1b]52;c;eA==\a")},
		{Kind: session.KindEnd, Text: "done"},
	}
	out, errs := shown(t, nil, events...)
	if out != "one\ntwo\nthree\ufffd\n" || errs != "" {
		t.Errorf("%q, %q", out, errs)
	}
	out, _ = shown(t, func(v *view, _ *term.Streams) { v.asJSON = true }, events...)
	if strings.ContainsAny(out, "\x1b\u202e") || strings.Contains(out, `"data"`) ||
		!strings.Contains(out, `"kind":"tty","text":"two"`) {
		t.Errorf("%q", out)
	}
	erased := append(events[:3:3], session.Event{Kind: session.KindTTY, Data: []byte("\x1b[3J")})
	if out, _ := shown(t, func(v *view, _ *term.Streams) { v.keep = 10 },
		append(erased, events[3])...); out != "two\nthree\ufffd\n" {
		t.Errorf("what an agent erases: %q", out)
	}
}

// Guards against a view that stands still while an agent works.
func TestAViewHasAClock(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, _, words := term.Test("")
	s.OutTTY, s.ErrTTY = true, true
	v := &view{a: &commands{&app.App{IO: s}}, out: s.Out}
	v.tick(began) // nothing runs yet
	v.show(session.Event{At: began, Kind: session.KindAgent, Text: "claude"})
	v.tick(began.Add(61 * time.Second))
	v.show(does(event.Event{Kind: event.KindUsage, Usage: &event.Usage{Input: 1000}}))
	v.tick(began.Add(62 * time.Second))
	v.show(session.Event{At: began, Kind: session.KindStep, Text: "waiting until noon"})
	v.tick(began.Add(63 * time.Second))
	v.show(session.Event{Kind: session.KindEnd, Text: "done"})
	v.tick(began.Add(64 * time.Second))
	lines := strings.Split(words.String(), "\r\x1b[K")
	for _, want := range []string{"claude is at work, 1m1s", "claude: 1.0k tokens, 1m2s", "waiting until noon, 1m3s"} {
		if !strings.Contains(words.String(), want) {
			t.Errorf("no %q in %q", want, lines)
		}
	}
	if strings.Contains(words.String(), "1m4s") || !strings.HasPrefix(words.String(), "claude is") {
		t.Errorf("it runs before or after the agent: %q", lines)
	}
}

package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func newLog(t *testing.T) *Log {
	t.Helper()
	at := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	return Open(t.TempDir(), func() time.Time { return at })
}

func entries(t *testing.T, l *Log) (list []Entry) {
	t.Helper()
	if err := l.Read(func(e Entry) error { list = append(list, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

// Guards against lines that run into each other when many keepers write at once, also while the file is rotated.
func TestManyWritersKeepLinesWhole(t *testing.T) {
	l := newLog(t)
	l.Max = 64 << 10
	const writers, each = 8, 60
	var wg sync.WaitGroup
	for w := range writers {
		own := &Log{File: l.File, Now: l.Now, Max: l.Max}
		wg.Go(func() {
			for n := range each {
				if err := own.Add(Entry{Kind: Denial, Session: fmt.Sprint(w),
					Reason: fmt.Sprint(n, strings.Repeat("x", 150))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines := 0
	for _, name := range []string{l.File + ".1", l.File} {
		data := must.Get(os.ReadFile(name))(t)
		if int64(len(data)) > l.Max+1024 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
		for line := range strings.Lines(string(data)) {
			lines++
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Fatalf("a torn line: %q", line)
			}
		}
	}
	if lines != writers*each {
		t.Errorf("%d lines of %d", lines, writers*each)
	}
	if info, err := os.Stat(l.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Guards against reports of a program that count as somebody else's, or that are lost because it ended soon.
func TestReportsInAFileAreCollected(t *testing.T) {
	l, file := newLog(t), filepath.Join(t.TempDir(), "reports")
	var text strings.Builder
	for i := range burst + 5 {
		fmt.Fprintf(&text, `{"kind":"noted","session":"yours","time":"2001-01-01T00:00:00Z","reason":"%d"}`+"\n", i)
	}
	must.Do(t, os.WriteFile(file, []byte(text.String()+"no report\n"+`{"kind":"accepted"}`+"\n"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Do(t, Collect(ctx, file, time.Hour, l))
	got := entries(t, l)
	if len(got) != burst+1 || got[burst].Kind != Dropped || got[0].Session != "" || !got[0].Time.Equal(l.Now()) {
		t.Errorf("%d entries, %+v … %+v", len(got), got[0], got[len(got)-1])
	}
	must.Do(t, os.WriteFile(file, []byte(`{"kind":"accepted","reason":"x"}`+"\n"), 0o600))
	must.Do(t, Collect(ctx, file, time.Hour, l))
	if got = entries(t, l); got[len(got)-1].Kind != Denial {
		t.Errorf("%+v", got[len(got)-1])
	}
}

func TestEntriesAreCleaned(t *testing.T) {
	l := newLog(t)
	err := l.Add(Entry{Kind: Denial, Reason: "\x1b[2J" + strings.Repeat("ä", 5000), Cwd: "\xff\u202e",
		Input: json.RawMessage("{\n\"a\":\n1}")})
	if err != nil {
		t.Fatal(err)
	}
	e := entries(t, l)[0]
	if strings.ContainsRune(e.Reason, 0x1b) || len(e.Reason) > maxText+8 || e.Cwd != "\ufffd\ufffd" ||
		string(e.Input) != `{"a":1}` {
		t.Errorf("%q %q %s", e.Reason[:20], e.Cwd, e.Input)
	}
	must.Do(t, l.Add(Entry{Kind: Denial, Input: json.RawMessage(`"` + strings.Repeat("x", maxInput) + `"`)}))
	if e := entries(t, l)[1]; e.Input != nil {
		t.Error("a huge input was kept")
	}
}

func TestALinkInPlaceOfTheLogIsNotFollowed(t *testing.T) {
	l := newLog(t)
	target := filepath.Join(t.TempDir(), "precious")
	must.Do(t, os.Symlink(target, l.File))
	if err := l.Add(Entry{Kind: Denial}); err == nil {
		t.Error("it was written")
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the link was followed")
	}
}

// serve runs a receiver; stop ends it and waits.
func serve(t *testing.T, l *Log) (socket string, stop func()) {
	t.Helper()
	t.Chdir(t.TempDir()) // a socket's name must be short, and so is relative
	socket = "s"
	listener := must.Get(net.Listen("unix", socket))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Receive(ctx, listener, l, "3f9c01aa", nil) }()
	return socket, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// send writes and waits until the receiver has taken it.
func send(t *testing.T, socket, text string) {
	t.Helper()
	conn := must.Get(net.Dial("unix", socket))(t)
	_, _ = conn.Write([]byte(text)) // the receiver may have had enough
	_ = conn.(*net.UnixConn).CloseWrite()
	_, _ = conn.Read(make([]byte, 1)) // it closes when it is done
	_ = conn.Close()
}

func TestReceiveStampsWhatAgentsSend(t *testing.T) {
	l := newLog(t)
	socket, stop := serve(t, l)
	send(t, socket, `{"time":"1999-01-01T00:00:00Z","session":"forged","kind":"canary","agent":"claude","rule":"r",`+
		`"reason":"why","tool_input":{"command":"x"}}`+"\n"+`{"rule":"second"}`)
	send(t, socket, `{"kind":"noted","rule":"held"}`)
	send(t, socket, "no json at all")
	send(t, socket, strings.Repeat("x", maxLine*3))
	stop()
	list := entries(t, l)
	if len(list) != 4 || list[1].Kind != Noted || list[1].Session != "3f9c01aa" {
		t.Fatalf("%+v", list)
	}
	list = append(list[:1], list[2:]...)
	for _, e := range list {
		if e.Session != "3f9c01aa" || e.Kind != Denial || !e.Time.Equal(l.Now()) {
			t.Errorf("%+v", e)
		}
	}
	if e := list[0]; e.Agent != "claude" || e.Rule != "r" || string(e.Input) != `{"command":"x"}` {
		t.Errorf("%+v", e)
	}
	if !strings.Contains(list[1].Reason, "can't be read") || !strings.Contains(list[2].Reason, "can't be read") {
		t.Errorf("%+v", list[1:])
	}
}

// Guards against an agent that fills the disk, or pushes what others did out of the log, by being denied in a loop.
func TestReceiveBoundsRateAndVolume(t *testing.T) {
	l := newLog(t)
	socket, stop := serve(t, l)
	for range burst + 30 {
		send(t, socket, `{"reason":"again"}`)
	}
	stop()
	list := entries(t, l)
	if len(list) != burst+1 || list[burst].Kind != Dropped || !strings.HasPrefix(list[burst].Reason, "30 ") {
		t.Errorf("%d entries, the last %+v", len(list), list[len(list)-1])
	}

	l = newLog(t)
	socket, stop = serve(t, l)
	for range maxSession/(60<<10) + 10 {
		send(t, socket, `{"reason":"`+strings.Repeat("y", 60<<10)+`"}`)
	}
	stop()
	list = entries(t, l)
	if last := list[len(list)-1]; last.Kind != Dropped || len(list) > maxSession/(60<<10)+2 {
		t.Errorf("%d entries, the last %+v", len(list), last)
	}
}

func TestFollowSeesNewEntriesAcrossRotation(t *testing.T) {
	l := newLog(t)
	l.Max = 400
	add := func(reason string) {
		t.Helper()
		must.Do(t, l.Add(Entry{Kind: Denial, Reason: reason + strings.Repeat(".", 100)}))
	}
	add("0")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := 0
	err := l.Follow(ctx, time.Millisecond, func(e Entry) error {
		if !strings.HasPrefix(e.Reason, fmt.Sprint(seen, ".")) {
			t.Errorf("entry %d is %s", seen, e.Reason)
		}
		if seen++; seen == 12 {
			cancel()
			return nil
		}
		add(fmt.Sprint(seen))
		return nil
	})
	if err != nil || seen != 12 {
		t.Errorf("%d entries, %v", seen, err)
	}
}

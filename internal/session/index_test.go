package session

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
)

func recordOf(t *testing.T, dir string) *Record {
	t.Helper()
	s := &Service{Data: dir, Boxes: &box.Boxes{Data: dir}}
	r := must.Get(s.OpenRecord("0badcafe"))(t)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func transcriptOf(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "sessions", "0badcafe", "transcript.jsonl")
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	return dir, path
}

func write(t *testing.T, path string, from, n int) {
	t.Helper()
	tr := must.Get(OpenTranscript(path, time.Now))(t)
	for i := range n {
		tr.Add(KindOut, fmt.Sprintf("line %d", from+i))
	}
	must.Do(t, tr.Close())
}

// Guards against a reader that must read a long transcript from its beginning to show its end.
func TestATranscriptIsReadFromTheMiddle(t *testing.T) {
	dir, path := transcriptOf(t)
	write(t, path, 0, 1500)
	write(t, path, 1500, 2001) // the keeper of the next run counts on
	r := recordOf(t, dir)
	if got := len(r.marks); got != 4 {
		t.Errorf("%d marks for 3501 events, not 4", got)
	}
	if n := must.Get(r.Count())(t); n != 3501 {
		t.Errorf("%d events are counted", n)
	}
	for _, n := range []int64{0, 1, 999, 1000, 1001, 2500, 3500} {
		var got []string
		at := must.Get(r.Offset(n))(t)
		_ = must.Get(r.Read(at, func(l Line) bool { got = append(got, l.Text); return len(got) < 2 }))(t)
		if want := fmt.Sprintf("line %d", n); len(got) == 0 || got[0] != want {
			t.Errorf("event %d is %q", n, got)
		}
	}
	if at := must.Get(r.Offset(9999))(t); at != r.Size() {
		t.Errorf("beyond the end is %d of %d", at, r.Size())
	}
}

// Guards against a damaged or missing index that hides events.
func TestAnIndexIsOnlyAnAid(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing":      os.Remove,
		"half written": func(p string) error { return os.Truncate(p, 20) },
		"of another":   func(p string) error { return os.WriteFile(p, make([]byte, 64), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := transcriptOf(t)
			write(t, path, 0, 2500)
			must.Do(t, damage(indexFile(path)))
			if n := must.Get(recordOf(t, dir).Count())(t); n != 2500 {
				t.Errorf("%d events are counted before the next run", n)
			}
			write(t, path, 2500, 1)
			r := recordOf(t, dir)
			if n := must.Get(r.Count())(t); n != 2501 || len(r.marks) != 3 {
				t.Errorf("%d events and %d marks after it", n, len(r.marks))
			}
		})
	}
}

// Guards against an event that is lost because a killed keeper left half a line before it.
func TestHalfALineTakesNoOtherWithIt(t *testing.T) {
	dir, path := transcriptOf(t)
	write(t, path, 0, 1)
	f := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	_ = must.Get(f.WriteString(`{"at":"2026-`))(t)
	must.Do(t, f.Close())
	var got []string
	each := func(l Line) bool { got = append(got, l.Text); return true }
	r := recordOf(t, dir)
	if at := must.Get(r.Read(0, each))(t); at >= r.Size() {
		t.Error("half a line was passed over: the rest of it may still come")
	}
	write(t, path, 1, 1)
	got = nil
	_ = must.Get(recordOf(t, dir).Read(0, each))(t)
	if fmt.Sprint(got) != "[line 0 line 1]" {
		t.Errorf("%q are read", got)
	}
}

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

func TestATranscriptIsReadFromTheMiddle(t *testing.T) {
	dir, path := transcriptOf(t)
	write(t, path, 0, 1500)
	write(t, path, 1500, 2001) // the keeper of the next run counts on
	r := recordOf(t, dir)
	if n := skipped(t, r, 1<<62)[0]; n != 3501 {
		t.Errorf("%d events are counted", n)
	}
	for _, n := range []int64{0, 1, 999, 1000, 1001, 2500, 3500} {
		var got []string
		at := skipped(t, r, n)[1]
		_ = must.Get(r.Read(at, func(l Line) bool { got = append(got, l.Text); return len(got) < 2 }))(t)
		if want := fmt.Sprintf("line %d", n); len(got) == 0 || got[0] != want {
			t.Errorf("event %d is %q", n, got)
		}
	}
	if at := skipped(t, r, 9999)[1]; at != r.Size() {
		t.Errorf("beyond the end is %d of %d", at, r.Size())
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

// skipped is how many events were passed over, and where the next begins.
func skipped(t *testing.T, r *Record, n int64) [2]int64 {
	t.Helper()
	events, at, err := r.Skip(n)
	must.Do(t, err)
	return [2]int64{events, at}
}

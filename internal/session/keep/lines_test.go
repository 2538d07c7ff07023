package keep

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/session"
)

// Guards against what agents say on their standard error alone being written down and heard by nobody.
func TestLinesAreHeardAsTheyAreWrittenDown(t *testing.T) {
	to, err := session.OpenTranscript(filepath.Join(t.TempDir(), "transcript.jsonl"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	var heard []string
	l := &lines{kind: session.KindErr, to: to, each: func(line []byte) { heard = append(heard, string(line)) }}
	long := strings.Repeat("x", session.MaxChunk+3)
	for _, part := range []string{"on", "e\ntwo\n\n", long, "\nno end"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	l.flush()
	if want := []string{"one", "two", "", long[:session.MaxChunk], "xxx", "no end"}; !slices.Equal(heard, want) {
		t.Errorf("heard %d lines, want %d", len(heard), len(want))
	}
}

func TestLinesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr, err := session.OpenTranscript(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w := &lines{kind: session.KindOut, to: tr}
	_, _ = w.Write([]byte("one\ntwo"))
	_, _ = w.Write([]byte("\n" + strings.Repeat("x", 3*session.MaxChunk)))
	w.flush()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := session.ReadEvents(f, func(e session.Event) error { got = append(got, e.Text); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 || got[0] != "one" || got[1] != "two" || len(got[2]) != session.MaxChunk {
		t.Errorf("%d events", len(got))
	}
}

package session

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Guards against what agents say on their standard error alone being written down and heard by nobody.
func TestLinesAreHeardAsTheyAreWrittenDown(t *testing.T) {
	to, err := newTranscript(filepath.Join(t.TempDir(), "transcript.jsonl"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.close() }()
	var heard []string
	l := &lines{kind: KindErr, to: to, each: func(line []byte) { heard = append(heard, string(line)) }}
	long := strings.Repeat("x", maxChunk+3)
	for _, part := range []string{"on", "e\ntwo\n\n", long, "\nno end"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	l.flush()
	if want := []string{"one", "two", "", long[:maxChunk], "xxx", "no end"}; !slices.Equal(heard, want) {
		t.Errorf("heard %d lines, want %d", len(heard), len(want))
	}
}

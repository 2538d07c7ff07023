package event

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/must"
)

// fuzzDecoder holds a decoder to its promises on any output: bounded events, and one end.
func fuzzDecoder(f *testing.F, agent string) {
	files := must.Get(filepath.Glob(filepath.Join("testdata", agent, "*.json")))(f)
	for _, file := range files {
		r := load(f, agent, strings.TrimSuffix(filepath.Base(file), ".json"))
		for _, line := range r.Stdout {
			if len(line) < 2000 { // long ones make the fuzzer slow, and have nothing more in them
				f.Add([]byte(line), []byte(r.Stderr[len(r.Stderr)-1]), r.Exit)
			}
		}
	}
	f.Add([]byte("words\n{}\n{\"type\":null}\n[1]\n{\"type\":\"result\"}"), []byte("Attempt 1 failed"), 0)
	f.Fuzz(func(t *testing.T, out, words []byte, exit int) {
		exit &= 0xff
		d := decoders()[agent](Start{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
		var events []Event
		for line := range bytes.Lines(out) {
			events = append(events, d.Line(bytes.TrimSuffix(line, []byte("\n")))...)
		}
		for line := range bytes.Lines(words) {
			events = append(events, d.ErrLine(line)...)
		}
		for _, e := range events {
			checkEvent(t, e)
			if e.Kind == KindFinished {
				t.Fatal("finished before the end")
			}
		}
		end := d.End(exit)
		checkEvent(t, end)
		if end.Kind != KindFinished || end.Finished.Outcome == "" || end.Finished.Outcome == OK && exit != 0 {
			t.Fatalf("status %d ends as %+v", exit, end.Finished)
		}
	})
}

func checkEvent(t *testing.T, e Event) {
	t.Helper()
	if e.Kind == "" || len(e.Text) > maxText+8 || len(e.Raw) > maxText+8 || len(e.Input) > maxText || len(e.Tool) > 256 ||
		len(e.ID) > 256 {
		t.Fatalf("event %.300v", e)
	}
	if !utf8.ValidString(e.Text) || !utf8.ValidString(e.Raw) {
		t.Fatalf("not text: %q", e.Text)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Fatalf("can't be kept: %v", err)
	}
}

func FuzzClaude(f *testing.F)   { fuzzDecoder(f, "claude") }
func FuzzCodex(f *testing.F)    { fuzzDecoder(f, "codex") }
func FuzzGemini(f *testing.F)   { fuzzDecoder(f, "gemini") }
func FuzzOpencode(f *testing.F) { fuzzDecoder(f, "opencode") }
func FuzzPlain(f *testing.F)    { fuzzDecoder(f, "script") }

package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

var update = flag.Bool("update", false, "write what the decoders make of the recordings")

// decoders are all that there are, by the name of their agent.
func decoders() map[string]func(Start) Decoder {
	return map[string]func(Start) Decoder{"claude": NewClaude, "codex": NewCodex, "gemini": NewGemini,
		"opencode": NewOpencode, "script": NewPlain}
}

// recording is the output of a real CLI, see the heavy tests of package agent.
type recording struct {
	Exit   int      `json:"exit"`
	Stdout []string `json:"stdout"`
	Stderr []string `json:"stderr"`
}

// recordedAt is a time at which the recordings could have been made.
func recordedAt() time.Time { return time.Date(2026, 11, 15, 7, 20, 0, 0, time.UTC) }

func load(t testing.TB, agent, name string) recording {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join("testdata", agent, name+".json")))(t)
	var r recording
	must.Do(t, json.Unmarshal(data, &r))
	return r
}

func (r recording) decode(d Decoder) (events []Event) {
	for _, line := range r.Stdout {
		events = append(events, d.Line([]byte(line))...)
	}
	for _, line := range r.Stderr {
		events = append(events, d.ErrLine([]byte(line))...)
	}
	return append(events, d.End(r.Exit))
}

// Everything that the decoders make of what the real CLIs wrote. -update writes it anew; look at the difference.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		agent, name := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(agent+" "+name, func(t *testing.T) {
			start := Start{Now: recordedAt}
			if name == "resume" {
				events := load(t, agent, "work").decode(decoders()[agent](start))
				start.Before = events[len(events)-1].Finished.Total
			}
			var got bytes.Buffer
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			for _, e := range load(t, agent, name).decode(decoders()[agent](start)) {
				if e.Kind == KindRaw {
					e.Raw = e.Raw[:min(len(e.Raw), 60)] // that it is kept is enough
				}
				must.Do(t, enc.Encode(e))
			}
			golden := strings.TrimSuffix(file, ".json") + ".events"
			if *update {
				must.Do(t, os.WriteFile(golden, got.Bytes(), 0o644))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
			}
		})
	}
}

// The results that the recordings must give.
func TestRecordedEndings(t *testing.T) {
	tests := []struct {
		name      string
		outcome   Outcome
		transient bool
		reset     bool
		input     int64
	}{
		{"work", OK, false, false, 30},
		{"resume", OK, false, false, 10},
		{"denied", OK, false, false, 40},
		{"storm", OK, false, false, 20},
		{"refused", Failed, false, false, 0},
		{"limited", Failed, true, true, 0},
		{"dropped", Failed, true, false, 0},
		{"killed", Killed, false, false, -1}, // what it has used by then differs
	}
	for agent, decoder := range decoders() {
		for _, tt := range tests {
			if agent == "script" || agent == "opencode" && (tt.name == "limited" || tt.name == "dropped") {
				continue // it retries for longer than anybody has recorded
			}
			before := Usage{}
			if tt.name == "resume" {
				events := load(t, agent, "work").decode(decoder(Start{Now: recordedAt}))
				before = events[len(events)-1].Finished.Total
			}
			events := load(t, agent, tt.name).decode(decoder(Start{Before: before, Now: recordedAt}))
			end := events[len(events)-1].Finished
			if end.Outcome != tt.outcome || end.Transient != tt.transient || end.ResetAt.IsZero() == tt.reset ||
				end.Session == "" {
				t.Errorf("%s %s: %+v", agent, tt.name, end)
			}
			if tt.input >= 0 && end.Usage.Input != tt.input {
				t.Errorf("%s %s: usage %+v", agent, tt.name, end.Usage)
			}
		}
	}
}

package keep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
)

// denials finds one in each line of standard error.
type denials struct{ event.Decoder }

func (denials) ErrLine(line []byte) []event.Event {
	return []event.Event{{Kind: event.KindDenied, Text: string(line)}}
}

// Guards against what agents say on their standard error alone being written down and heard by nobody.
func TestStandardErrorIsHeardAsItIsWrittenDown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	to := must.Get(session.OpenTranscript(path, time.Now))(t)
	claude := must.Get(agent.Find("claude"))(t)
	a := &attempt{run: &run{keeper: &keeper{transcript: to, agent: claude}}}
	a.heard.decoder = denials{}
	readLines(strings.NewReader("one\ntwo\r\nno end"), a.errLine)
	must.Do(t, to.Close())
	data, err := os.ReadFile(path)
	for _, want := range []string{`"one"`, `"two"`, `"no end"`} {
		if strings.Count(string(data), want) != 2 {
			t.Errorf("%s is not in it as a line and as an event: %s, %v", want, data, err)
		}
	}
	if !a.heard.moved || strings.Count(string(data), `"raw":true`) != 3 {
		t.Errorf("what was heard changed nothing: %s", data)
	}
}

package api

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
)

// Guards against hits that are lost where what is read is cut, or that are only in names of fields.
func TestASearchFindsWhatIsShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "transcript.jsonl")
	tr := must.Get(session.OpenTranscript(file, time.Now))(t)
	for i := range 3000 {
		words := fmt.Sprintf("line %d %s", i, strings.Repeat("x", 700))
		if i%1000 == 999 {
			words += ` Über "quoted" <tag> NEEDLE`
		}
		tr.Add(session.KindOut, words)
	}
	must.Do(t, tr.Close())
	for q, want := range map[string]int{"needle": 3, `"quoted"`: 3, "<tag>": 3, "über": 3, "kind": 0, "line 2999 ": 1,
		"nowhere": 0} {
		data := must.Get(readFile(file))(t)
		var got []int64
		must.Do(t, find(t.Context(), strings.NewReader(data), q, func(h Hit) error {
			got = append(got,
				h.Number)
			return nil
		}))
		if len(got) != want || want == 3 && (got[0] != 999 || got[2] != 2999) {
			t.Errorf("%s is found at %v", q, got)
		}
	}
}

func readFile(name string) (string, error) {
	data, err := os.ReadFile(name)
	return string(data), err
}

// Guards against a line without an end, which would be read into memory whole.
func TestALineTooLongIsPassedOver(t *testing.T) {
	said := func(text string) io.Reader {
		return strings.NewReader(fmt.Sprintf(`{"kind":"out","text":%q}`+"\n", text))
	}
	long := strings.Repeat("needle ", 9<<20)
	r := io.MultiReader(said("a needle"), strings.NewReader(long+"\n"), said("one more needle"))
	var at []int64
	must.Do(t, find(t.Context(), r, "needle", func(h Hit) error { at = append(at, h.Number); return nil }))
	if !slices.Equal(at, []int64{0, 2}) {
		t.Errorf("it is found at %v", at)
	}
}

package term

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against JSON that controls a terminal: JSON's own rules leave 8-bit controls unchanged.
func TestJSONIsDisarmedWithoutLoss(t *testing.T) {
	s, out, _ := Test("")
	want := "a\u009b31m\x7f\u202e\x1b?ä\n\t"
	must.Do(t, s.JSON(want))
	var got string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if strings.ContainsAny(out.String(), "\u009b\x7f\u202e\x1b") {
		t.Errorf("%q", out)
	}
}

func TestQuietKeepsResultsAndWarnings(t *testing.T) {
	s, out, err := Test("")
	s.Quiet = true
	s.Say("words")
	s.Progress("working")
	s.Warn("careful")
	s.Printf("result\n")
	if out.String() != "result\n" || err.String() != "cco: warning: careful\n" {
		t.Errorf("out %q, err %q", out, err)
	}
}

func TestProgressIsOneLiveLineOnATerminal(t *testing.T) {
	s, out, err := Test("")
	s.OutTTY, s.ErrTTY = true, true
	s.Progress("cloning")
	s.Progress("running %s", strings.Repeat("x", 200))
	s.Printf("done\n")
	if strings.Contains(err.String(), "\n") {
		t.Errorf("progress left lines behind: %q", err)
	}
	if strings.Contains(err.String(), "\x1b[2m") {
		t.Errorf("dim although there are to be no colours: %q", err)
	}
	if !strings.HasSuffix(err.String(), "\r\x1b[K") || out.String() != "done\n" {
		t.Errorf("the live line was not cleared: %q", err)
	}
}

func TestTableAlignsColumns(t *testing.T) {
	s, out, _ := Test("")
	s.Table([][]string{{"ID", "STATE"}, {"3f9c01aa", "done"}, {"ä", "x\ny"}})
	want := "ID        STATE\n3f9c01aa  done\nä         x y\n"
	if out.String() != want {
		t.Errorf("got\n%s", out)
	}
}

// Guards against output that continues a progress line: output of others clears it, and a pipe's reader can't.
func TestProgressIsNeverGluedToOutput(t *testing.T) {
	s, _, err := Test("")
	s.OutTTY, s.ErrTTY = true, true
	s.Progress("reading")
	if _, e := s.Results().Write([]byte("diff\n")); e != nil || !strings.HasSuffix(err.String(), "\r\x1b[K") {
		t.Errorf("%v, %q", e, err)
	}
	s, _, err = Test("")
	s.ErrTTY = true
	s.Progress("reading")
	s.Live("50 %%")
	if err.String() != "cco: reading\n" {
		t.Errorf("beside a pipe: %q", err)
	}
}

func TestSignsFollowTheLocale(t *testing.T) {
	for _, c := range []struct {
		env   map[string]string
		plain bool
	}{
		{nil, false},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "POSIX"}, true},
		{map[string]string{"LANG": "de_DE.ISO-8859-1"}, true},
		{map[string]string{"LANG": "C.UTF-8"}, false},
		{map[string]string{"LANG": "en_GB.utf8", "LC_ALL": "C"}, true},
		{map[string]string{"LANG": "C", "LC_ALL": "en_GB.UTF-8"}, false},
	} {
		if got := plainLocale(func(name string) string { return c.env[name] }); got != c.plain {
			t.Errorf("%v: plain %v", c.env, got)
		}
	}
	s, out, err := Test("")
	s.Plain = true
	s.Printf("… and 2 more\n")
	s.Say("a → b")
	if out.String() != "... and 2 more\n" || err.String() != "cco: a -> b\n" {
		t.Errorf("%q %q", out, err)
	}
}

package term

import (
	"strings"
	"testing"
)

// Guards against an agent's words driving the user's terminal.
func TestCleanDisarmsControlCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":    "plain\ttext\n",
		"\x1b]0;title\x07": "?]0;title?",
		"a\rb":             "a?b",
		"\u009b31m":        "?31m",
		"abc\u202egnp.exe": "abc?gnp.exe",
		"größe, 日本":        "größe, 日本",
		"\x00":             "?",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
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
	s.ErrTTY = true
	s.Progress("cloning")
	s.Progress("running %s", strings.Repeat("x", 200))
	s.Printf("done\n")
	if strings.Contains(err.String(), "\n") {
		t.Errorf("progress left lines behind: %q", err)
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

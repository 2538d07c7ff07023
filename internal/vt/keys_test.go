package vt

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

const letGo Key = ']'

// read returns what passes, with each watched key as <key>, however the bytes are split.
func read(t *testing.T, in string) string {
	t.Helper()
	whole := readSplit(in, len(in))
	for n := range len(in) {
		if got := readSplit(in, n); got != whole {
			t.Errorf("%q split after %d: %q, whole it is %q", in, n, got, whole)
		}
	}
	k, b := &Keys{Watch: []Key{letGo, CtrlC}}, strings.Builder{}
	for i := range len(in) {
		show(&b, k.Read([]byte{in[i]}))
	}
	b.Write(k.Flush())
	if b.String() != whole {
		t.Errorf("%q a byte at a time: %q, whole it is %q", in, b.String(), whole)
	}
	return whole
}

func readSplit(in string, n int) string {
	k, b := &Keys{Watch: []Key{letGo, CtrlC}}, strings.Builder{}
	show(&b, k.Read([]byte(in[:n])))
	show(&b, k.Read([]byte(in[n:])))
	b.Write(k.Flush())
	return b.String()
}

func show(b *strings.Builder, typed []Typed) {
	for _, t := range typed {
		if t.Key != 0 {
			_, _ = fmt.Fprintf(b, "<%c>", t.Key)
			continue
		}
		b.Write(t.Bytes)
	}
}

// Guards against matching keys instead of parsing them: under kitty's protocol Ctrl-] and Ctrl-C were not seen.
func TestKeysAreKnownInEverySpelling(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1db":                        "a<]>b",
		"\x03":                          "<c>",
		"\x1b[93;5u":                    "<]>",
		"\x1b[93;69u":                   "<]>", // Caps Lock
		"\x1b[93;133u":                  "<]>", // Num Lock
		"\x1b[93;197u":                  "<]>", // both
		"\x1b[1098::93;5:1u":            "<]>", // on a Russian keyboard
		"\x1b[93:125:93;5:1;29u":        "<]>",
		"\x1b[93;5:;u":                  "<]>",
		"\x1b[27;5;93~":                 "<]>",
		"\x1b[27;69;67~":                "<c>",
		"\x1b[99;5u\x1b[99;5:3u":        "<c>\x1b[99;5:3u", // the release is the agent's
		"\x1b[99;5:2u":                  "\x1b[99;5:2u",    // a key that is held down is pressed once
		"\x1b[1089::99;5u":              "<c>",
		"\x1b[93;5:3u":                  "\x1b[93;5:3u",
		"\x1b[93u":                      "\x1b[93u",
		"\x1b[93;1u":                    "\x1b[93;1u",
		"\x1b[93;7u":                    "\x1b[93;7u",  // with Alt
		"\x1b[93;13u":                   "\x1b[93;13u", // with Super
		"\x1b[93;u":                     "\x1b[93;u",
		"\x1b[;5u":                      "\x1b[;5u",
		"\x1b[27;5;93;1~":               "\x1b[27;5;93;1~",
		"\x1b[27;2;93~":                 "\x1b[27;2;93~",
		"\x1b[?1u\x1d":                  "\x1b[?1u<]>", // an answer
		"\x1b]11;rgb:0/0/0\a\x03":       "\x1b]11;rgb:0/0/0\a<c>",
		"\x1b]\x03":                     "\x1b]<c>", // Alt-] and Ctrl-C, no answer that never ends
		"\x1bP1+r\x1b\\\x1d":            "\x1bP1+r\x1b\\<]>",
		"\x1b[<0;1;1M\x1b[M !!\x1d":     "\x1b[<0;1;1M\x1b[M !!<]>",
		"\x1b\x1b[93;5u":                "\x1b<]>",
		"\x1b[9\x1b[93;5u":              "\x1b[9<]>",
		"\x1bOP\x1b[1;5A":               "\x1bOP\x1b[1;5A",
		"ü\x1d":                         "ü<]>",
		"\x1b":                          "\x1b",
		"\x1b[93;99999999999999999999u": "\x1b[93;99999999999999999999u",
	} {
		if got := read(t, in); got != want {
			t.Errorf("%q is read as %q, want %q", in, got, want)
		}
	}
}

func TestKeysInAPasteAreText(t *testing.T) {
	const inside = "\x03\x1d\x1b[93;5u\x1b[200~\x1b[20\x1b[201\x1b"
	if got, want := read(t, "\x1b[200~"+inside+"\x1b[201~\x1d"), "\x1b[200~"+inside+"\x1b[201~<]>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAKeyIsWaitedForNoLongerThanAPersonNotices(t *testing.T) {
	k := &Keys{Watch: []Key{letGo}}
	if k.Patience() != 0 {
		t.Error("waits for nothing")
	}
	k.Read([]byte("\x1b"))
	short := k.Patience()
	k.Read([]byte("[93"))
	if long := k.Patience(); short <= 0 || long <= short {
		t.Errorf("%v for Escape, %v for a sequence", short, long)
	}
	if got := k.Flush(); string(got) != "\x1b[93" || k.Patience() != 0 {
		t.Errorf("flushed %q", got)
	}
	k.Read([]byte("\x1b[200~ab\x1b[20"))
	if long := k.Patience(); long < time.Second {
		t.Errorf("a paste is cut after %v", long)
	}
	// A paste that never ends must not take the keys away.
	if got := string(k.Flush()); got != "\x1b[20" || k.Patience() != 0 {
		t.Errorf("flushed %q", got)
	}
	if typed := k.Read([]byte("\x1d")); typed[len(typed)-1].Key != letGo {
		t.Errorf("after a paste without an end: %q", typed)
	}
	k.Read([]byte("\x1b[200~a"))
	if k.Patience() == 0 {
		t.Error("a paste may last for ever")
	}
}

func TestParseKey(t *testing.T) {
	for text, want := range map[string]Key{"ctrl-]": ']', "Ctrl-Q": 'q', `ctrl-\`: '\\'} {
		if got, err := ParseKey(text); got != want || err != nil {
			t.Errorf("%s: %c, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "q", "ctrl-", "ctrl-c", "ctrl-m", "ctrl-i", "ctrl-j", "ctrl-h", "ctrl-[", "ctrl-ab",
		"ctrl-1", "alt-x", "ctrl-ü"} {
		if got, err := ParseKey(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
	if got := letGo.String(); got != "Ctrl-]" {
		t.Error(got)
	}
}

// Nothing is lost, added or changed on the way, however the bytes are split.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[1098::93;5:1u\x1b[27;5;93~\x1b[200~\x1d\x1b[201~"), 3)
	f.Add([]byte("\x1b]\x1b[M\xff\xff\x1bP"), 1)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		k := &Keys{Watch: []Key{letGo, CtrlC}}
		var got []byte
		for rest := in; len(rest) > 0; {
			m := max(1, min(n, len(rest)))
			for _, typed := range k.Read(rest[:m]) {
				got = append(got, typed.Bytes...)
			}
			rest = rest[m:]
			if len(k.held) > maxAnswer {
				t.Fatalf("%d bytes are held", len(k.held))
			}
		}
		if got = append(got, k.held...); !bytes.Equal(got, in) {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

func TestEscapeAloneIsAKey(t *testing.T) {
	for in, want := range map[string]bool{"\x1b": true, "\x1b\x1b": true, "\x1b[27u": true, "\x1b[27;1:1u": true,
		"": false, "\x1b[A": false, "\x1bx": false, "a": false, "\x1b[200~": false} {
		if IsEscape([]byte(in)) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

package vt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// pass filters a text at once, and makes sure that splitting it gives the same result.
func pass(t *testing.T, prepare func(*Filter), in string) string {
	t.Helper()
	fresh := func() *Filter {
		f := NewFilter(80, 24)
		if prepare != nil {
			prepare(f)
		}
		return f
	}
	whole := string(fresh().Pass([]byte(in)))
	f, single := fresh(), ""
	for i := range len(in) {
		single += string(f.Pass([]byte{in[i]}))
	}
	if single != whole {
		t.Errorf("%q a byte at a time: %q, whole it is %q", in, single, whole)
	}
	return whole
}

func deaf(f *Filter)  { f.Deaf = true }
func clips(f *Filter) { f.Clipboard = true }

// Guards against an agent that controls the user's terminal: the clipboard, typed answers, files, programs.
func TestAFilterLeavesOutWhatCanDoHarm(t *testing.T) {
	for _, in := range []string{
		"\x1b]52;c;aGk=\a", "\x1b]52;c;aGk=\x1b\\", "\x9d52;c;aGk=\x9c", "\u009d52;c;aGk=\u009c", "\x1b]52;c;?\a",
		"\x1b]052;c;aGk=\a",
		"\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\", "\x1bPtmux;\x1b\x1b]52;c;aGk=\x1b\x1b\\\x1b\\",
		"\x90tmux;\x1b\x1b]52;c;aGk=\a\x9c",
		// clipboard
		"\x1bP\x1b]52;c;aGk=\a\x1b\\", "\x1b_\x1b]52;c;aGk=\a\x1b\\", "\x1b]0;\x1b]52;c;aGk=\a", "\x1b]5522;type=read\a",
		// answers that others choose
		"\x1b[21t", "\x1b[20t", "\x1b[?21t", "\x1b]50;?\a", "\x05", "\x1b[x", "\x1bZ", "\x1b[1;1;1;1;5;5*y",
		"\x1b]7;file:///etc\a", "\x1b]8;;file:///etc/passwd\a", "\x1b]8;;vscode://x\a", "\x1b]1337;File=name=eA==:eA==\a",
		"\x1b]1337;CopyToClipboard=\a",
		"\x1b]5113;ac=send\a", "\x1b_Gt=f;L2V0Yy9wYXNzd2Q=\x1b\\", "\x1b]51;[\"call\",\"Tapi_x\",[]]\a",
		"\x1b]777;notify;a;b\a", "\x1b]99;;x\a",
		"\x1b]9;7;calc.exe\a", "\x1b]9;hello\a", "\x1b]633;E;rm\a", "\x1b]3;x=y\a", "\x1b]Lx\a", "\x1b]\a", "\x1bkname\x1b\\",
		"\x1b^x\x1b\\", "\x1bXx\x1b\\",
		// keys, settings, pictures
		"\x1bP0;1|17/ab\x1b\\", "\x1bP$q\n\x1b\\", "\x1bP$qid\x1b\\", "\x1bP+qzz\x1b\\", "\x1bPq#0\x1b\\",
		"\x1b[5i", "\x1b[?5i", "\x1b[3;1;1t", "\x1b[8;1;1t", "\x1b[1;2;3;4;5T", "\x1b[2h", "\x1b[12l", "\x1b[?2l", "\x1b[?3h",
		"\x1b[?1001h",
		"\x1b[?9001h", "\x1b[62;1\"p", "\x1b%@", "\x1b G", "\x1b#3", "\x1bN", "\x1b[>1t", "\x1b[?1s", "\x1b[>1;2m",
		"\x00\x11\x13\x7f", "\x1b[" + strings.Repeat("1;", 5000) + "H", "\x1b]0;" + strings.Repeat("x", 2<<20) + "\a",
		"\x1b]0;x", "\x1b[3", "\x1b]0;a\x18",
	} {
		if got := pass(t, nil, in); got != "" {
			t.Errorf("%.60q passes as %.60q", in, got)
		}
	}
}

func TestAFilterPassesWhatAgentsNeed(t *testing.T) {
	for _, in := range []string{
		"hello, größe 日本 👍🏽\r\n\t\b\a", "\x1b[1;31m\x1b[38:2::1:2:3mx\x1b[0m", "\x1b[2J\x1b[3J\x1b[H", "\x1b[?1049h",
		"\x1b[?25l", "\x1b[3;10r", "\x1bM",
		"\x1b(0\x1b(B", "\x1b[>1u", "\x1b[>1u\x1b[<u", "\x1b[=1;1u", "\x1b[>4;2m", "\x1b[2 q", "\x1b]9;4;1;50\a",
		"\x1b]8;id=1;https://example.org\a",
		"\x1b[c", "\x1b[>c", "\x1b[=c", "\x1b[5n", "\x1b[6n", "\x1b[?6n", "\x1b[?996n", "\x1b[?2026$p", "\x1b[4$p", "\x1b[?u",
		"\x1b[>q", "\x1b[>0q", "\x1b[14t", "\x1b[18t",
		"\x1b]10;?\a", "\x1b]11;?\x1b\\", "\x1b]4;1;?\a", "\x1bP+q544e;436f\x1b\\", "\x1bP$qm\x1b\\",
	} {
		if got := pass(t, nil, in); got != in {
			t.Errorf("%q passes as %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"\x9b1mx":                "\x1b[1mx", // one spelling for all
		"\u009b1mx":              "\x1b[1mx",
		"a\xffb\xe2\x9d":         "a\ufffdb",
		"\xe2\x9dA":              "\ufffdA",
		"\x1b[?1049;9001;25h":    "\x1b[?1049h\x1b[?25h",
		"\x1b]2;one\a\x1b]2;t\a": "\x1b[22;0t\x1b]2;one\a\x1b]2;t\a", // so that the old one can come back
		"\x1b[1\rm":              "\r\x1b[1m",
		// What the program has not put on the keyboard's stack is the user's.
		"\x1b[<u\x1b[<9u":                              "",
		"\x1b[>1u\x1b[>1u\x1b[<9u\x1b[<u":              "\x1b[>1u\x1b[>1u\x1b[<2u",
		"\x1b[>1u\x1b[?1049h\x1b[<u\x1b[?1049l\x1b[<u": "\x1b[>1u\x1b[?1049h\x1b[?1049l\x1b[<u",
		"\x1b[>1u\x1bc\x1b[<u":                         "\x1b[>1u\x1b[<1u\x1b[m\x1b[!p\x1b[H\x1b[2J",
		"x\x1b[2147483647b":                            "x\x1b[80b", // a terminal would repeat for hours
	} {
		if got := pass(t, nil, in); got != want {
			t.Errorf("%q passes as %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"\x1b]52;c;aGk=\a", "\x1b]52;;aGk=\x1b\\", "\x1b]52;c;" +
		strings.Repeat("YWJj", 100_000) + "\a"} {
		if got := pass(t, clips, in); got != in {
			t.Errorf("%.40q passes as %.40q where the clipboard may be written", in, got)
		}
	}
	if got := pass(t, clips, "\x1b]52;c;?\a\x1b]52;x;aGk=\a\x1b]52;c;a b\a"); got != "" {
		t.Errorf("%q", got)
	}
}

// Guards against answers to old queries, which would be typed into the agent or the user's shell.
func TestADeafFilterLetsNothingAsk(t *testing.T) {
	in := "a\x1b[c\x1b[>c\x1b[=c\x1b[5n\x1b[6n\x1b[?6n\x1b[?996n\x1b[?2026$p" +
		"\x1b[?u\x1b[>q\x1b[14t\x1b]10;?\a\x1b]4;1;?;2;?\a\x1bP+q544e\x1b\\\x1bP$qm\x1b\\\x1b]52;c;aGk=\ab\a"
	if got := pass(t, func(f *Filter) { deaf(f); clips(f) }, in); got != "ab" {
		t.Errorf("%q", got)
	}
}

// Guards against a page that an agent makes lie about itself: its title, where a link leads, the clipboard.
func TestAFilterThatOnlyDrawsPassesNoStrings(t *testing.T) {
	draws := func(f *Filter) { f.Deaf, f.Draws, f.Clipboard = true, true, true }
	for _, in := range []string{"\x1b]0;title\a", "\x1b]2;title\x1b\\", "\x1b]8;;https://evil.example/\x1b\\",
		"\x1b]52;c;aGk=\a", "\x1b]4;1;#fff\a", "\x1b]11;?\a", "\x1bP$qm\x1b\\", "\x1b_x\x1b\\", "\x05", "\x1b[c", "\x1b[6n",
		"\x1b[21t", "\a"} {
		if got := pass(t, draws, in); got != "" {
			t.Errorf("%q passes as %q", in, got)
		}
	}
	if got := pass(t, draws, "a\x1b[1;31mb\x1b[0m\r\n"); got != "a\x1b[1;31mb\x1b[0m\r\n" {
		t.Errorf("what draws becomes %q", got)
	}
}

func TestAFilterGivesTheTerminalBack(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"a":                                   "\x1b[m\r\n\r\x1b[J",
		"a\r\n":                               "\x1b[m\r\x1b[J",
		"a\r\nb\r\nc\x1b[2A":                  "\x1b[m\x1b[2B\r\n\r\x1b[J",
		"\x1b[2J\x1b[10;1Hx\x1b[H":            "\x1b[m\x1b[r\x1b[10;1H\r\n\r\x1b[J",
		"\x1b[H\x1b[Jx":                       "\x1b[m\x1b[r\x1b[1;1H\r\n\r\x1b[J",
		"\x1bcx":                              "\x1b[m\x1b[r\x1b[1;1H\r\n\r\x1b[J",
		"\x1b[2Jx\x1b[H":                      "\x1b[m\x1b[r\x1b[999;1H\r\n\r\x1b[J", // x may stand anywhere
		"\x1b[10;1Hx\x1b[H":                   "\x1b[m\x1b[r\x1b[999;1H\r\n\r\x1b[J", // the user's lines may stand below
		"a\r\n\x1b[?1049h\x1b[2J\x1b[2;2Hb":   "\x1b[?1049l\x1b[m\r\x1b[J",
		"a\x1b[?1049h\x1b[2;2Hb\x1b[?1049l":   "\x1b[m\r\n\r\x1b[J",
		"\x1b[?47h\x1b[2J\x1b[H\x1b[?47l":     "\x1b[m\x1b[r\x1b[999;1H\r\n\r\x1b[J",
		"a\x1b7\x1b[9;9H\x1b8":                "\x1b[m\r\n\r\x1b[J",
		"a\x1b7\x1b[2;9r\x1b8":                "\x1b[m\x1b7\x1b[r\x1b8\r\n\r\x1b[J",
		"a\x1b8":                              "\x1b[m\x1b[r\x1b[999;1H\r\n\r\x1b[J",
		"a\r\nb\x1b[2A":                       "\x1b[m\x1b[r\x1b[999;1H\r\n\r\x1b[J",
		"a\x1bM":                              "\x1b[m\x1b[r\x1b[999;1H\r\n\r\x1b[J",
		"a\x1b[?1049l":                        "\x1b[m\r\n\r\x1b[J",
		"\x1b[?47h":                           "\x1b[?47l\x1b[m\r\x1b[J",
		"\x1b[?1049h\x1b[?1049l":              "\x1b[m\r\x1b[J",
		"\x1b[>1u\x1b[?1049h\x1b[>3u\x1b[>5u": "\x1b[<2u\x1b[?1049l\x1b[<1u\x1b[m\r\x1b[J",
		"\x1b[>1u\x1b[<u\x1b[<9u":             "\x1b[m\r\x1b[J",
		"\x1b[=5u":                            "\x1b[=0u\x1b[m\r\x1b[J",
		"\x1b[>4;2m":                          "\x1b[>4m\x1b[m\r\x1b[J",
		"\x1b[?1000;1006;1004;2004;1h":        "\x1b[?1l\x1b[?1000l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[m\r\x1b[J",
		"\x1b[?25;7l":                         "\x1b[?7h\x1b[?25h\x1b[m\r\x1b[J",
		"\x1b[?2026h":                         "\x1b[?2026l\x1b[m\r\x1b[J",
		"\x1b[4h\x1b=\x1b)0\x0e\x1b[4 q":      "\x1b[4l\x1b>\x1b(B\x1b)B\x0f\x1b[0 q\x1b[m\r\x1b[J",
		"\x1b]8;;http://x\a":                  "\x1b]8;;\x1b\\\x1b[m\r\x1b[J",
		"\x1b]0;t\a":                          "\x1b[m\x1b[23;0t\r\x1b[J",
		"\x1b]4;1;red\a\x1b]11;blue\a\x1b]10;?\a": "\x1b[m\x1b]104\x1b\\\x1b]111\x1b\\\r\x1b[J",
		"\x1b]0;half": "",
	} {
		f := NewFilter(80, 24)
		f.Pass([]byte(in))
		if got := string(f.Restore()); got != want {
			t.Errorf("after %q: %q, want %q", in, got, want)
		}
		if got := f.Restore(); got != nil {
			t.Errorf("after %q it is given back twice: %q", in, got)
		}
	}
	f := NewFilter(20, 5)
	f.Pass([]byte("\x1b[3g"))
	if got := string(f.Restore()); got != "\x1b[m\r\x1b[3g\x1b[8C\x1bH\x1b[8C\x1bH\r\r\x1b[J" {
		t.Errorf("tabs: %q", got)
	}
}

// Whatever the input, the output consists of whole sequences from the tables, and passes again unchanged.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\\x9d52;c;aGk=\x9c"), 3)
	f.Add([]byte("\x1b[?1049;25h\x1b]2;t\a\x1b[>1u\xe2\x9d\x9d\x1b[10;5H\x1b[2J"), 1)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		one := NewFilter(20, 5)
		var got []byte
		for rest := in; len(rest) > 0; {
			m := max(1, min(n, len(rest)))
			got = append(got, one.Pass(rest[:m])...)
			rest = rest[m:]
		}
		got = append(got, one.Restore()...)
		if !utf8.Valid(got) {
			t.Fatalf("%q", got)
		}
		var s scanner
		s.scan(got, func(tok token) {
			switch {
			case tok.kind == tokenControl && !strings.ContainsRune(controls, tok.r):
				t.Fatalf("control %q in %q", tok.r, got)
			case tok.kind == tokenString && (tok.final != ']' && tok.final != 'P' || strings.HasPrefix(tok.text, "52;")):
				t.Fatalf("string %+v in %q", tok, got)
			}
		})
		if s.state != inGround || len(s.char) > 0 {
			t.Fatalf("%q ends in the middle", got)
		}
		again := NewFilter(20, 5)
		again.touched.title = true
		want := strings.NewReplacer("\x1b[22;0t", "", "\x1b[23;0t", "").Replace(string(got))
		if twice := string(again.Pass([]byte(want))); twice != want {
			t.Fatalf("%q passes again as %q", want, twice)
		}
	})
}

// Guards against a title of ours that an agent replaces, that a reset takes away, or that stays behind.
func TestATitleOfOursStands(t *testing.T) {
	f := NewFilter(80, 24)
	if got, want := string(f.Name("ours")), "\x1b[22;0t\x1b]2;ours\x1b\\"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := string(f.Pass([]byte("\x1b]0;theirs\a\x1b]2;theirs\a\x1b]1;theirs\aa"))); got != "a" {
		t.Errorf("%q passes", got)
	}
	if got := string(f.Pass([]byte("\x1bc"))); strings.Contains(got, "23;0t") {
		t.Errorf("a reset takes it away: %q", got)
	}
	if got, want := string(f.Name("later")), "\x1b]2;later\x1b\\"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := string(f.Restore()); strings.Count(got, "\x1b[23;0t") != 1 {
		t.Errorf("%q gives the old one back", got)
	}
	g := NewFilter(80, 24)
	g.Name("ours")
	if got := string(g.Restore()); got != "\x1b[23;0t" {
		t.Errorf("%q, where nothing was drawn", got)
	}
}

package patch

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

// Span is a piece of a line, with the class of what it is.
type Span struct {
	Class string `json:"class,omitempty" doc:"a letter for its colour; none is plain"`
	Text  string `json:"text" doc:"what to show, as text"`
}

// language is what is known of how one is written: enough for colours, and little enough that reading a line takes as
// long as it has characters, whoever wrote it.
type language struct {
	line      []string // what begins a comment up to the line's end
	open, end string   // what one is between that may have many lines
	quotes    string   // around texts
	keys      string   // what stands behind a name of a value
	tags      bool
}

var (
	c      = &language{line: []string{"//"}, open: "/*", end: "*/", quotes: "\"'`"}
	shell  = &language{line: []string{"#"}, quotes: "\"'"}
	values = &language{line: []string{"#", ";"}, quotes: "\"'", keys: ":="}
	dashes = &language{line: []string{"--"}, open: "/*", end: "*/", quotes: "\"'"}
	markup = &language{open: "<!--", end: "-->", quotes: "\"'", keys: "=", tags: true}
	sheet  = &language{open: "/*", end: "*/", quotes: "\"'", keys: ":"}
	object = &language{quotes: "\"", keys: ":"}
)

// languages are known by what a file's name ends with.
var languages = func() map[string]*language {
	all := map[string]*language{}
	for l, ends := range map[*language]string{
		c: "go js mjs cjs jsx ts tsx c h cc cpp cxx hpp cs java kt kts swift rs scala dart php zig proto groovy gradle",
		shell: "py pyi rb sh bash zsh fish pl pm ex exs nix tf hcl ps1 r jl graphql cmake Makefile makefile mk Dockerfile " +
			"Containerfile Gemfile Rakefile",
		values: "yaml yml toml ini cfg conf properties env editorconfig gitconfig", dashes: "sql lua hs elm adb",
		markup: "html htm xml svg vue xhtml plist", sheet: "css scss less", object: "json jsonc json5 webmanifest"} {
		for _, end := range strings.Fields(ends) {
			all[end] = l
		}
	}
	return all
}()

func languageOf(name string) *language {
	base := path.Base(name)
	return languages[base[strings.LastIndexByte(base, '.')+1:]]
}

func words(list string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(list) {
		all[w] = true
	}
	return all
}

// Words that mean something in most languages that have them.
var (
	keywords = words(`abstract alias and as assert async await begin break case catch chan class const constexpr continue
		crate def default defer del delete do done elif else elsif end enum esac except export extends extern fallthrough
		fi final finally fn for foreach from func function global go goto guard if impl implements import in include
		inline instanceof interface is lambda let local loop match mod module move mut namespace new not of operator or
		package pass private protected protocol pub public raise range rec ref require rescue return select self sizeof
		static struct super switch template then this throw throws trait try type typedef typeof union unless unsafe until
		use using val var virtual void volatile when where while with yield CREATE SELECT FROM WHERE INSERT INTO UPDATE
		DELETE TABLE VALUES SET JOIN ON AND OR NOT NULL ALTER DROP INDEX PRIMARY KEY ORDER BY GROUP LIMIT AS FROM RUN COPY
		ADD ENTRYPOINT CMD ENV WORKDIR EXPOSE ARG USER true false nil null None True False undefined iota`)
	types = words(`any bool boolean byte char complex128 double error f32 f64 float float32 float64 i8 i16 i32 i64 int int8
		int16 int32 int64 isize long never number object rune short signed size_t str string u8 u16 u32 u64 uint uint8
		uint16 uint32 uint64 uintptr unknown unsigned usize String Vec Option Result Promise INTEGER TEXT VARCHAR`)
)

// maxSpans is how many pieces the lines of one answer have. What is beyond is shown in one colour.
const (
	maxSpans   = 60_000
	maxPainted = 2_000 // characters of a line
)

// painter colours lines that follow each other.
type painter struct {
	*language
	inside string // what ends the comment or text that the line before left open
	left   *int   // pieces, for all that is shown
}

// paint gives a line its pieces. Together they are the line; one with characters that are spelled has one piece.
func (p *painter) paint(line string) []Span {
	safe := safetext.Quote(line)
	if p.language == nil || safe != line || len(line) > maxPainted || *p.left <= 0 {
		return []Span{{Text: safe}}
	}
	spans := []Span{}
	from, was := 0, ""
	for at := 0; at < len(line); {
		class, n := p.next(line, at)
		if class != was && at > from {
			spans = append(spans, Span{was, line[from:at]})
			from = at
		}
		was = class
		at += n
	}
	spans = append(spans, Span{was, line[from:]})
	*p.left -= len(spans)
	return spans
}

// next is the class of what stands at a place, and how long it is.
func (p *painter) next(line string, at int) (class string, n int) {
	rest := line[at:]
	if end := p.inside; end != "" {
		class = map[bool]string{true: "s", false: "c"}[end == "`"]
		if i := strings.Index(rest, end); i >= 0 {
			p.inside = ""
			return class, i + len(end)
		}
		return class, len(rest)
	}
	for _, mark := range p.line {
		if strings.HasPrefix(rest, mark) {
			return "c", len(rest)
		}
	}
	switch b := rest[0]; {
	case p.open != "" && strings.HasPrefix(rest, p.open):
		p.inside = p.end
		return "c", len(p.open)
	case strings.IndexByte(p.quotes, b) >= 0:
		return p.quoted(rest, b)
	case b >= '0' && b <= '9':
		return "n", run(rest, func(b byte) bool { return letter(b) || b == '.' })
	case letter(b):
		n = run(rest, letter)
		return p.word(rest[:n], strings.TrimLeft(rest[n:min(len(rest), n+8)], " "), at > 0 && line[at-1] == '<'), n
	}
	return "", 1
}

// quoted is a text in quotes; only one in backquotes goes on in the next line.
func (p *painter) quoted(rest string, quote byte) (class string, n int) {
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && quote != '`':
			i++
		case rest[i] == quote:
			if p.keys != "" && strings.HasPrefix(strings.TrimLeft(rest[i+1:min(len(rest), i+9)], " "), ":") {
				return "a", i + 1
			}
			return "s", i + 1
		}
	}
	if quote == '`' {
		p.inside = "`"
	}
	return "s", len(rest)
}

func (p *painter) word(word, behind string, tag bool) string {
	switch {
	case tag && p.tags:
		return "t"
	case p.keys != "" && behind != "" && strings.IndexByte(p.keys, behind[0]) >= 0:
		return "a"
	case p.tags:
		return ""
	case keywords[word]:
		return "k"
	case types[word]:
		return "t"
	case strings.HasPrefix(behind, "("):
		return "f"
	}
	return ""
}

func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b >= 0x80
}

func run(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

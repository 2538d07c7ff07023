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

// language is what is known of how one is written: enough for colours, and little enough that each line stands for
// itself, and reading it takes as long as it has characters, whoever wrote it.
type language struct {
	comment []string // what begins one, up to the line's end
	quotes  string   // around texts
	words   bool     // it has keywords and calls
}

// languageOf knows a language by what a file's name ends with.
func languageOf(name string) *language {
	base := path.Base(name)
	end := " " + base[strings.LastIndexByte(base, '.')+1:] + " "
	for _, l := range []struct {
		ends string
		language
	}{
		{" go js mjs cjs jsx ts tsx c h cc cpp cxx hpp cs java kt kts swift rs scala dart php zig proto groovy gradle ",
			language{[]string{"//", "/*"}, "\"'`", true}},
		{" py pyi rb sh bash zsh fish pl pm ex exs nix tf hcl ps1 r jl graphql cmake Makefile makefile mk Dockerfile " +
			"Containerfile Gemfile Rakefile ", language{[]string{"#"}, "\"'", true}},
		{" sql lua hs elm adb ", language{[]string{"--", "/*"}, "\"'", true}},
		{" yaml yml toml ini cfg conf properties env editorconfig gitconfig ", language{[]string{"#", ";"}, "\"'", false}},
		{" css scss less json jsonc json5 webmanifest ", language{[]string{"/*", "//"}, "\"'", false}},
		{" html htm xml svg vue xhtml plist ", language{[]string{"<!--"}, "\"'", false}},
	} {
		if strings.Contains(l.ends, end) {
			return &l.language
		}
	}
	return nil
}

// keywords mean something in most languages that have them.
var keywords = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`abstract alias and as assert async await begin break case catch chan class const
		continue def default defer del delete do done elif else elsif end enum esac except export extends extern fallthrough
		false fi final finally fn for foreach from func function global go goto guard if impl implements import in include
		inline instanceof interface is lambda let local loop match mod module move mut namespace new nil None not null of
		operator or package pass private protected protocol pub public raise range ref require rescue return select self
		static struct super switch template then this throw throws trait true True False try type typedef typeof undefined
		union unless unsafe until use using val var void when where while with yield SELECT FROM WHERE INSERT INTO UPDATE
		DELETE CREATE TABLE VALUES SET JOIN ON AND OR NOT NULL ALTER DROP INDEX RUN COPY ADD ENTRYPOINT CMD ENV WORKDIR ARG
		USER`) {
		all[w] = true
	}
	return all
}()

// maxSpans is how many pieces the lines of one answer have. What is beyond is shown in one colour.
const (
	maxSpans   = 60_000
	maxPainted = 2_000 // characters of a line
)

// paint gives a line its pieces, of which so many are left. Together they are the line; one with characters that are
// spelled has one piece.
func (l *language) paint(line string, left *int) (spans []Span) {
	safe := safetext.Quote(line)
	if l == nil || safe != line || len(line) > maxPainted || *left <= 0 {
		return []Span{{Text: safe}}
	}
	from, was := 0, ""
	for at := 0; at < len(line); {
		class, n := l.next(line[at:])
		if class != was && at > from {
			spans = append(spans, Span{was, line[from:at]})
			from = at
		}
		was = class
		at += n
	}
	*left -= len(spans) + 1
	return append(spans, Span{was, line[from:]})
}

// next is the class of what a text begins with, and how long that is.
func (l *language) next(rest string) (class string, n int) {
	for _, mark := range l.comment {
		if strings.HasPrefix(rest, mark) {
			return "c", len(rest)
		}
	}
	if strings.IndexByte(l.quotes, rest[0]) >= 0 {
		for n = 1; n < len(rest) && rest[n] != rest[0]; n++ {
			if rest[n] == '\\' {
				n++
			}
		}
		return "s", min(n+1, len(rest))
	}
	for n < len(rest) && letter(rest[n]) {
		n++
	}
	switch {
	case n == 0:
		return "", 1
	case rest[0] >= '0' && rest[0] <= '9':
		return "n", n
	case l.words && keywords[rest[:n]]:
		return "k", n
	case l.words && strings.HasPrefix(rest[n:], "("):
		return "f", n
	}
	return "", n
}

func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b >= 0x80
}

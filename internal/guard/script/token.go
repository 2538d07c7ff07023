package script

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Token is a token of program text in one of the languages that agents pass to interpreters.
type Token struct {
	Kind  byte // 's' string, 'b' backquoted command, 'i' name, 'n' number, 'p' anything else
	Text  string
	path  bool // a string made by a path function, which / joins
	later bool // a comma of its call stands before it
	in    int  // the frame that it stands in
	opens int  // the frame that it opens, or 0
}

// is says that a token is this mark.
func (t Token) is(mark string) bool { return t.Kind == 'p' && t.Text == mark }

// quoted says that a token is a string.
func (t Token) quoted() bool { return t.Kind == 's' }

const maxTokens = 20_000

// Tokenize splits program text. It is not a parser of any of the languages,
// but knows strings from comments from names in all of them.
func Tokenize(lang, v string) []Token {
	var out []Token
	for i := 0; i < len(v) && len(out) < maxTokens; {
		c := v[i]
		switch {
		case c == '\n':
			out = append(out, Token{Kind: 'p', Text: "\n"})
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case comment(lang, v, i) > 0:
			i += comment(lang, v, i)
		case c == '"' || c == '\'' || c == '`':
			t, n := quotedToken(lang, v, i)
			out, i = append(out, t), i+n
		case isNameStart(c) || c == '.' && i+1 < len(v) && isNameStart(v[i+1]) && chains(lang, out):
			t, n := nameToken(lang, v, i)
			out, i = append(out, t), i+n
		case c >= '0' && c <= '9':
			j := i
			for j < len(v) && (isNamePart(v[j]) || v[j] == '.') {
				j++
			}
			out, i = append(out, Token{Kind: 'n', Text: v[i:j]}), j
		default:
			out, i = append(out, Token{Kind: 'p', Text: v[i : i+1]}), i+1
		}
	}
	return out
}

// chains says that a method may follow the tokens; that of lisps on java stands first.
func chains(lang string, toks []Token) bool {
	if len(toks) == 0 {
		return false
	}
	t := toks[len(toks)-1]
	return closes(t) || t.Kind == 'i' && strings.HasPrefix(t.Text, ".") || t.is("(") && lang == "other"
}

func closes(t Token) bool {
	return t.Kind == 's' || t.is(")") || t.is("]") || t.is("}")
}

// comment returns the length of the comment at v[i], or 0.
func comment(lang, v string, i int) int {
	rest, mark := v[i:], "#"
	switch lang {
	case "javascript", "go", "php":
		mark = "//"
		if end := strings.Index(rest, "*/"); strings.HasPrefix(rest, "/*") && end > 0 {
			return end + len("*/")
		}
	case "lua":
		mark = "--"
	case "other":
		if len(rest) > 1 && isNamePart(rest[1]) { // lisp's #t
			return 0
		}
	}
	if !strings.HasPrefix(rest, mark) || i > 0 && strings.IndexByte(" \t\n;,(){}[]", v[i-1]) < 0 {
		return 0
	}
	return lineEnd(v, i) - i
}

// lineEnd is where the line that v[i] stands in ends.
func lineEnd(v string, i int) int {
	if n := strings.IndexByte(v[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(v)
}

// quotedToken reads the string at v[i] and returns how long it is.
func quotedToken(lang, v string, i int) (Token, int) {
	quote := v[i : i+1]
	if strings.HasPrefix(v[i:], quote+quote+quote) && (lang == "python" || lang == "other" || lang == "go") {
		quote = quote + quote + quote
	}
	t := Token{Kind: 's'}
	if quote == "`" && (lang == "perl" || lang == "ruby" || lang == "php") {
		t.Kind = 'b'
	}
	raw := lang == "go" && quote == "`"
	oneLine := len(quote) == 1 && quote != "`" && word.Listed(" python javascript go lua awk ", lang)
	closing := quote
	if k := strings.Index("{([<", quote); k >= 0 { // perl's qx{…}
		closing = "})]>"[k : k+1]
	}
	end := i + len(quote)
	for end < len(v) && !strings.HasPrefix(v[end:], closing) && (v[end] != '\n' || !oneLine) {
		if v[end] == '\\' && !raw {
			end++
		}
		end++
	}
	end = min(end, len(v))
	t.Text = v[i+len(quote) : end]
	if quote == "`" {
		t.Text = holes(t.Text, "${")
	}
	if !raw && strings.Contains(t.Text, `\`) {
		t.Text = word.AnsiC(strings.NewReplacer(`\\`, `\\`, `\/`, "/", `\.`, ".", `\$`, "$", "\\\n", "").Replace(t.Text))
	}
	return t, min(end+len(quote), len(v)) - i
}

// holes replaces what stands in brackets behind open; open twice is text.
func holes(v, open string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(v, open)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after, twice := strings.CutPrefix(rest, open); twice {
			b.WriteString(open)
			v = after
			continue
		}
		b.WriteString(land.Hole)
		_, v, _ = strings.Cut(rest, "}")
	}
}

// nameToken reads a name with its dotted parts; string prefixes and the quote
// operators of perl and ruby become strings.
func nameToken(lang, v string, i int) (Token, int) {
	j := i
	if v[j] == '.' {
		j++
	}
	for n := 1; n > 0 && j < len(v); j += n {
		if n = namePart(lang, v, i, j); v[i] == '.' && j > i && v[j] == '.' {
			break // methods are taken one by one
		}
	}
	name := v[i:j]
	marks := "" // that begin a string behind it
	switch {
	case lang == "python" && len(name) <= 2 && strings.Trim(strings.ToLower(name), "rbfu") == "":
		marks = `"'`
	case (lang == "perl" || lang == "ruby") && word.Listed(" q qq qx qw %x %q %Q %w ", name):
		marks = `"'{([<|/!,`
	}
	if j == len(v) || strings.IndexByte(marks, v[j]) < 0 {
		return Token{Kind: 'i', Text: name}, j - i
	}
	t, n := quotedToken(lang, v, j)
	if strings.ContainsAny(name, "fF") {
		t.Text = holes(t.Text, "{")
	}
	if strings.HasSuffix(name, "x") {
		t.Kind = 'b'
	}
	return t, j - i + n
}

// namePart returns how many bytes at v[j] go on with the name begun at v[i].
func namePart(lang, v string, i, j int) int {
	switch {
	case isNamePart(v[j]) || v[j] == '$' || v[j] == '@' || v[j] == '%' && j == i:
		return 1
	case j == i || j+1 == len(v):
		return 0
	case isNameStart(v[j+1]) && (v[j] == '.' && lang != "perl" && lang != "php" ||
		(v[j] == '-' || v[j] == '/') && lang == "other"): // read-file
		return 1
	case (v[j] == '!' || v[j] == '?') && v[j+1] == '(': // read!(…)
		return 1
	case strings.HasPrefix(v[j:], "::") || strings.HasPrefix(v[j:], "->") && j+2 < len(v) && isNameStart(v[j+2]):
		return 2
	}
	return 0
}

func isNameStart(c byte) bool {
	return c == '_' || c == '$' || c == '@' || c == '%' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isNamePart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

package script

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Token is a token of program text in one of the languages that agents
// pass to interpreters.
type Token struct {
	Kind byte // 's' string, 'b' backquoted command, 'i' name, 'n' number, 'p' anything else
	Text string
	path bool // a string made by a path function, which / joins
	tail bool // a string that unknown text stands before
}

// is says that a token is this mark.
func (t Token) is(mark string) bool { return t.Kind == 'p' && t.Text == mark }

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
		case isNameStart(c) || c == '.' && i+1 < len(v) && isNameStart(v[i+1]) && len(out) > 0 && chains(out[len(out)-1]):
			t, n := nameToken(lang, v, i)
			out, i = append(out, t...), i+n
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

// chains says that a method may follow a token.
func chains(t Token) bool {
	return closes(t) || t.Kind == 'i' && strings.HasPrefix(t.Text, ".")
}

func closes(t Token) bool {
	return t.Kind == 's' || t.is(")") || t.is("]") || t.is("}")
}

// comment returns the length of the comment at v[i], or 0.
func comment(lang, v string, i int) int {
	rest, line := v[i:], lineEnd(v, i)-i
	switch lang {
	case "javascript", "go", "php":
		if strings.HasPrefix(rest, "//") && (i == 0 || v[i-1] != ':') {
			return line
		}
		if strings.HasPrefix(rest, "/*") {
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				return n + 4
			}
			return len(rest)
		}
	case "lua":
		if strings.HasPrefix(rest, "--") {
			return line
		}
	case "python", "ruby", "other", "awk":
		if rest[0] == '#' && (i == 0 || v[i-1] != '$') {
			return line
		}
	case "perl":
		if rest[0] == '#' && (i == 0 || strings.IndexByte(" \t\n;{}", v[i-1]) >= 0) {
			return line
		}
	}
	return 0
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
	kind := byte('s')
	if quote == "`" && (lang == "perl" || lang == "ruby" || lang == "php") {
		kind = 'b'
	}
	var b strings.Builder
	raw := lang == "go" && quote == "`"
	for j := i + len(quote); j < len(v); j++ {
		switch {
		case strings.HasPrefix(v[j:], quote):
			return Token{Kind: kind, Text: b.String()}, j + len(quote) - i
		case v[j] == '\\' && j+1 < len(v) && !raw:
			j = escape(&b, v, j+1)
		case v[j] == '\n' && len(quote) == 1 && quote != "`" && lang != "perl" && lang != "ruby" && lang != "php" &&
			lang != "other":
			return Token{Kind: kind, Text: b.String()}, j - i // unterminated
		case v[j] == '$' && quote == "`" && strings.HasPrefix(v[j:], "${"):
			j = placeholder(&b, v, j+2)
		default:
			b.WriteByte(v[j])
		}
	}
	return Token{Kind: kind, Text: b.String()}, len(v) - i
}

// escape decodes the escape sequence whose letter is at v[j] and returns its
// last index.
func escape(b *strings.Builder, v string, j int) int {
	end := j + 1
	switch v[j] {
	case 'x':
		end = min(j+3, len(v))
	case 'u':
		end = min(j+5, len(v))
	case '0', '1', '2', '3':
		for end < len(v) && end < j+3 && v[end] >= '0' && v[end] <= '7' {
			end++
		}
	case '\n':
		return j
	}
	decoded := word.AnsiC(v[j-1 : end])
	if strings.HasPrefix(decoded, "\\") {
		decoded = v[j:end]
	}
	b.WriteString(decoded)
	return end - 1
}

// placeholder replaces ${…} in a template with a hole and returns its last
// index.
func placeholder(b *strings.Builder, v string, j int) int {
	depth := 1
	for ; j < len(v); j++ {
		switch v[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				b.WriteString(land.Hole)
				return j
			}
		}
	}
	return len(v)
}

// nameToken reads a name with its dotted parts; string prefixes and the quote
// operators of perl and ruby become strings.
func nameToken(lang, v string, i int) ([]Token, int) {
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
	switch {
	case j < len(v) && (v[j] == '"' || v[j] == '\'') && len(name) <= 2 &&
		strings.Trim(strings.ToLower(name), "rbfu") == "" && lang == "python":
		t, n := quotedToken(lang, v, j)
		if strings.ContainsAny(name, "fF") {
			t.Text = formatHoles(t.Text)
		}
		return []Token{t}, j - i + n
	case (lang == "perl" || lang == "ruby") && j < len(v) &&
		slices.Contains([]string{"q", "qq", "qx", "qw", "%x", "%q", "%Q", "%w"}, name) &&
		strings.IndexByte("{([<|/!,'\"", v[j]) >= 0:
		return delimitedToken(name, v, i, j)
	}
	return []Token{{Kind: 'i', Text: name}}, j - i
}

// namePart returns how many bytes at v[j] go on with the name begun at v[i].
func namePart(lang, v string, i, j int) int {
	switch {
	case isNamePart(v[j]) || v[j] == '$' || v[j] == '@' || v[j] == '%' && j == i:
		return 1
	case v[j] == '.' && j+1 < len(v) && isNameStart(v[j+1]) && lang != "perl" && lang != "php":
		return 1
	case strings.HasPrefix(v[j:], "::") || strings.HasPrefix(v[j:], "->") && j+2 < len(v) && isNameStart(v[j+2]):
		return 2
	}
	return 0
}

// delimitedToken reads qx{…} and its like.
func delimitedToken(name, v string, i, j int) ([]Token, int) {
	closing := v[j]
	if k := strings.IndexByte("{([<", v[j]); k >= 0 {
		closing = "})]>"[k]
	}
	end := strings.IndexByte(v[j+1:], closing)
	if end < 0 {
		end = len(v) - j - 1
	}
	t := Token{Kind: 's', Text: v[j+1 : j+1+end]}
	if strings.HasSuffix(name, "x") {
		t.Kind = 'b'
	}
	return []Token{t}, min(j+2+end, len(v)) - i
}

// formatHoles replaces {…} of a format string.
func formatHoles(v string) string {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		switch {
		case strings.HasPrefix(v[i:], "{{") || strings.HasPrefix(v[i:], "}}"):
			b.WriteByte(v[i])
			i++
		case v[i] == '{':
			end := strings.IndexByte(v[i:], '}')
			if end < 0 {
				return b.String()
			}
			if home(v[i+1 : i+end]) {
				b.WriteString("~")
			} else {
				b.WriteString(land.Hole)
			}
			i += end
		default:
			b.WriteByte(v[i])
		}
	}
	return b.String()
}

// home says whether an expression means the home directory.
func home(expr string) bool {
	return strings.Contains(expr, "HOME") || strings.Contains(expr, "home()") || strings.Contains(expr, "homedir") ||
		strings.Contains(expr, "expanduser")
}

func isNameStart(c byte) bool {
	return c == '_' || c == '$' || c == '@' || c == '%' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isNamePart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

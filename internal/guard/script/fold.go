package script

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// fold computes what can be known of strings: concatenation, path functions,
// constants and the environment.
func (p *program) fold() {
	for range 6 {
		before := len(p.toks)
		p.pass()
		if len(p.toks) == before {
			break
		}
	}
	p.markTails()
}

// pass rewrites the tokens once, from the left.
func (p *program) pass() {
	var out []Token
	for i := 0; i < len(p.toks); {
		if t, n, ok := p.reduce(i); ok {
			out, i = append(out, t), i+n
			continue
		}
		out, i = append(out, p.toks[i]), i+1
		p.define(out)
	}
	p.toks = out
}

// define notes NAME = "string".
func (p *program) define(out []Token) {
	n := len(out)
	if n < 3 || out[n-1].Kind != 's' || out[n-2].Text != "=" || out[n-3].Kind != 'i' {
		return
	}
	if n > 3 && (out[n-4].Text == "," || out[n-4].Text == "(") && p.lang == "python" {
		return // a keyword argument
	}
	p.consts[out[n-3].Text] = out[n-1].Text
}

// reduce finds what one or more tokens at i come to.
func (p *program) reduce(i int) (Token, int, bool) {
	at := func(k int) Token { return p.token(i + k) }
	switch t := p.toks[i]; {
	case t.Kind == 's' && at(1).Kind == 's' && p.lang == "python":
		return Token{Kind: 's', Text: t.Text + at(1).Text, path: t.path, tail: t.tail}, 2, true
	case t.Kind == 's' && at(2).Kind == 's' && p.joins(at(1), t, at(2)):
		return joined(t, at(2), at(1).Text), 3, true
	case t.Kind == 's' && at(1).Text == ".format" && at(2).is("(") && at(3).Kind == 's' && at(4).is(")"):
		return Token{Kind: 's', Text: strings.Replace(t.Text, "{}", at(3).Text, 1), path: true}, 5, true
	case t.is("(") && at(1).Kind == 's' && at(2).is(")") && (i == 0 || at(-1).Kind == 'p' && !closes(at(-1))):
		return at(1), 3, true
	case t.Kind == 'i':
		return p.reduceName(i)
	}
	return Token{}, 0, false
}

// joins says whether op puts two strings together in this language.
func (p *program) joins(op, a, b Token) bool {
	if op.Kind != 'p' {
		return false
	}
	switch op.Text {
	case "+":
		return true
	case ".":
		return p.lang == "perl" || p.lang == "php"
	case "/":
		return a.path || b.path
	}
	return false
}

func joined(a, b Token, op string) Token {
	t := Token{Kind: 's', Text: a.Text + b.Text, path: a.path, tail: a.tail}
	if op == "/" {
		t.Text, t.path = path.Join(a.Text, b.Text), true
		if strings.HasPrefix(b.Text, "/") {
			t.Text = b.Text
		}
	}
	return t
}

// reduceName replaces names, calls and lookups whose value is known.
func (p *program) reduceName(i int) (Token, int, bool) {
	name := p.toks[i].Text
	at := func(k int) Token { return p.token(i + k) }
	str := func(v string, n int) (Token, int, bool) {
		return Token{Kind: 's', Text: v, path: true}, n, true
	}
	empty := at(1).Text == "(" && at(2).Text == ")" && at(2).Kind == 'p'
	switch last := lastName(name); {
	case (last == "homedir" || last == "home" && strings.Contains(name, "Path") || name == "Dir.home" ||
		name == "Dir.home()") && empty:
		return str("~", 3)
	case name == "Dir.home" || name == "process.env.HOME" || name == "$HOME":
		return str("~", 1)
	case (last == "getcwd" || last == "cwd" || last == "pwd" && p.lang == "ruby" || last == "Getwd") && empty:
		return str(".", 3)
	case name == "__dirname" || name == "import.meta.dirname":
		return str(".", 1)
	case name == "os.pardir":
		return str("..", 1)
	case name == "os.sep" || name == "path.sep":
		return Token{Kind: 's', Text: "/"}, 1, true
	case isEnvironment(name):
		if v, n, ok := p.environment(i); ok {
			return str(v, n)
		}
	case joinsPath(last) && at(1).Text == "(":
		if v, n, ok := pathCall(p.toks, i); ok {
			if last == "dirname" {
				v = parent(v)
			}
			return str(v, n)
		}
	}
	assigned := at(1).Kind == 'p' && (at(1).Text == "=" || at(1).Text == "(")
	if v, ok := p.consts[name]; ok && !assigned && at(1).Kind != 's' {
		return Token{Kind: 's', Text: v, path: true}, 1, true
	}
	return Token{}, 0, false
}

// parent is the directory above, also where that is above the current one.
func parent(v string) string {
	switch v = path.Clean(v); {
	case v == "." || v == ".." || strings.HasSuffix(v, "/.."):
		return path.Join(v, "..")
	}
	return path.Dir(v)
}

func joinsPath(last string) bool {
	return word.Listed(" join resolve abspath normpath realpath normalize expanduser Path PurePath PosixPath Join "+
		"fspath str String expand_path Pathname dirname catfile catdir ", last)
}

// pathCall joins the strings of name(a, b, …) if all arguments are strings.
func pathCall(toks []Token, i int) (string, int, bool) {
	value := ""
	for k := 2; i+k < len(toks) && k < 40; k++ {
		t := toks[i+k]
		switch {
		case t.Kind == 's':
			if strings.HasPrefix(t.Text, "/") || strings.HasPrefix(t.Text, "~") || value == "" {
				value = t.Text
			} else {
				value += "/" + t.Text
			}
		case t.Text == ",":
		case t.Text == ")" && k > 2:
			return value, k + 1, true
		default:
			return "", 0, false
		}
	}
	return "", 0, false
}

func isEnvironment(name string) bool {
	return word.Listed(" os.environ os.environ.get os.getenv process.env ENV ENV.fetch $ENV os.Getenv getenv $_ENV "+
		"$_SERVER environ environ.get ", name) ||
		strings.HasPrefix(name, "process.env.")
}

// environment reads a variable from the shell's own.
func (p *program) environment(i int) (string, int, bool) {
	name, n, toks := "", 4, p.toks
	if rest, ok := strings.CutPrefix(toks[i].Text, "process.env."); ok {
		name, n = rest, 1
	} else if i+3 < len(toks) && (toks[i+2].Kind == 's' || toks[i+2].Kind == 'i') &&
		strings.Contains("([{", toks[i+1].Text) {
		name = toks[i+2].Text
		for i+n-1 < len(toks) && !strings.Contains(")]}", toks[i+n-1].Text) {
			n++
		}
	}
	if name == "" {
		return "", 0, false
	}
	if name == "HOME" {
		return "~", n, true
	}
	alts := p.s.Values(name)
	if len(alts) != 1 {
		return "", 0, false
	}
	value, ok := alts[0].Literal()
	return value, n, ok
}

// markTails finds strings that unknown text stands before, as in dir + "/x":
// they are no paths by themselves.
func (p *program) markTails() {
	for i := 1; i < len(p.toks); i++ {
		if p.toks[i].Kind != 's' || p.toks[i-1].Kind != 'p' {
			continue
		}
		op := p.toks[i-1].Text
		if op == "+" || (op == "." && (p.lang == "perl" || p.lang == "php" || p.lang == "lua")) || op == "%" {
			p.toks[i].tail = true
		}
		if op == "/" && i > 1 && (p.toks[i-2].Kind == 'i' || p.toks[i-2].Text == ")") &&
			!strings.HasPrefix(p.toks[i].Text, "/") {
			p.toks[i].tail = p.toks[i].Text != ".." && !strings.HasPrefix(p.toks[i].Text, "../")
		}
	}
}

package script

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// fold puts the tokens into the program, and computes what can be known of strings: concatenation, path functions,
// constants and the environment. Each token is taken together with those that it completes.
func (p *program) fold(toks []Token) {
	p.toks = make([]Token, 0, len(toks))
	toks = append(toks, Token{})
	for i, t := range toks[:len(toks)-1] {
		p.toks = append(p.toks, t)
		for p.reduce(toks[i+1]) {
		}
		p.define()
	}
}

// define notes NAME = "string", and forgets what NAME was if it becomes something else.
func (p *program) define() {
	n := len(p.toks)
	name, value := p.token(n-3), p.token(n-1)
	switch {
	case !p.token(n-2).is("=") || name.Kind != 'i' || value.is("="):
	case p.lang == "python" && (p.token(n-4).is(",") || p.token(n-4).is("(")): // a keyword argument
	case value.Kind == 's' && !p.mentions("for "+name.Text+" ") && !p.mentions(" as "+name.Text):
		p.consts[name.Text] = value.Text
	default:
		delete(p.consts, name.Text)
	}
}

// reduce replaces the last tokens by what they come to, if that is known.
func (p *program) reduce(next Token) bool {
	n := len(p.toks)
	last, op, before := p.token(n-1), p.token(n-2), p.token(n-3)
	switch {
	case last.Kind == 's' && op.Kind == 's' && (p.lang == "python" || p.lang == "awk"):
		return p.replace(2, Token{Kind: 's', Text: op.Text + last.Text, path: op.path})
	case last.Kind == 's' && before.Kind == 's' && p.joins(op, before, last):
		return p.replace(3, joined(before, last, op.Text))
	case last.Kind == 's' && p.follows(op, before, last.Text):
		return p.replace(1, Token{Kind: 's', Text: land.Hole + last.Text, path: last.path})
	case last.Kind == 'i':
		return p.reduceName(last.Text, next)
	case last.is(")") || last.is("]"):
		return p.reduceCall()
	}
	return false
}

// replace puts a token in the place of the last n.
func (p *program) replace(n int, t Token) bool {
	p.toks = append(p.toks[:len(p.toks)-n], t)
	return true
}

// joins says whether op puts two strings together in this language.
func (p *program) joins(op, a, b Token) bool {
	return op.is("+") || op.is(".") && (p.lang == "perl" || p.lang == "php") || op.is("/") && (a.path || b.path)
}

// follows says that unknown text stands before a string, as in dir + "/x": it is no path by itself.
func (p *program) follows(op, before Token, v string) bool {
	if op.is("/") && (before.Kind == 'i' || before.is(")")) {
		return !strings.HasPrefix(v, "/") && v != ".." && !strings.HasPrefix(v, "../") && !strings.HasPrefix(v, land.Hole)
	}
	return (op.is("+") || op.is("%") || op.is(".") && word.Listed(" perl php lua ", p.lang)) &&
		!strings.HasPrefix(v, land.Hole)
}

func joined(a, b Token, op string) Token {
	t := Token{Kind: 's', Text: a.Text + b.Text, path: a.path}
	if op == "/" {
		t.Text, t.path = path.Join(a.Text, b.Text), true
		if strings.HasPrefix(b.Text, "/") {
			t.Text = b.Text
		}
	}
	return t
}

// places are names and calls whose value is known.
var places = [...]struct{ value, names string }{
	{"~", " homedir() Path.home() pathlib.Path.home() Dir.home() Dir.home process.env.HOME $HOME getenv(HOME) " +
		"Getenv(HOME) environ[HOME] environ.get(HOME) os.environ.get(HOME) env[HOME] ENV[HOME] ENV.fetch(HOME) " +
		"$_ENV[HOME] $_SERVER[HOME] "},
	{".", " getcwd() cwd() Path() Dir.pwd() Dir.pwd Getwd() __dirname import.meta.dirname "},
	{"..", " os.pardir "},
	{"/", " os.sep path.sep "},
}

func placeOf(name, brackets string) (string, bool) {
	for _, known := range places {
		if word.Listed(known.names, name+brackets) || word.Listed(known.names, lastName(name)+brackets) {
			return known.value, true
		}
	}
	return "", false
}

// reduceName replaces the name that stands last.
func (p *program) reduceName(name string, next Token) bool {
	before := p.token(len(p.toks) - 2)
	if before.path && name == ".parent" {
		return p.replace(2, joined(before, Token{Text: ".."}, "/"))
	}
	if next.is("(") || next.is("=") || next.Kind == 's' {
		owner, method, _ := strings.Cut(name, ".")
		if v, ok := p.consts[owner]; ok && next.is("(") && p.effects("."+method)&acts != 0 {
			p.replace(1, Token{Kind: 's', Text: v, path: true})
			p.toks = append(p.toks, Token{Kind: 'i', Text: "." + method})
		}
		return false
	}
	v, ok := placeOf(name, "")
	if !ok {
		v, ok = p.consts[name]
	}
	return ok && p.replace(1, Token{Kind: 's', Text: v, path: true})
}

// reduceCall replaces the call that ends last, if all that it is given are strings.
func (p *program) reduceCall() bool {
	open, count, all := len(p.toks)-2, 0, Token{}
	for p.token(open).Kind == 's' || p.token(open).Kind == 'n' || p.token(open).is(",") {
		open--
	}
	for _, t := range p.toks[open+1 : len(p.toks)-1] {
		switch {
		case t.is(","):
		case count == 0:
			all, count = t, 1
		default:
			all, count = joined(all, t, "/"), count+1
		}
	}
	bracket, name, of := p.token(open), p.token(open-1), p.token(open-2)
	value, last, n := all.Text, lastName(name.Text), len(p.toks)-open+1
	switch {
	case !bracket.is("(") && !bracket.is("["):
		return false
	case name.Kind != 'i':
		grouped := count == 1 && bracket.is("(") && name.Kind != 's' && !closes(name)
		return grouped && p.replace(n-1, all)
	}
	if v, ok := placeOf(name.Text, bracket.Text+value+p.token(len(p.toks)-1).Text); ok && count < 2 {
		return p.replace(n, Token{Kind: 's', Text: v, path: true})
	}
	switch {
	case name.Text == "require" && strings.TrimPrefix(value, "node:") == "path": // what follows is a call of its
		return p.replace(n, name)
	case of.Kind == 's' && name.Text == ".format" && count == 1:
		return p.replace(n+1, Token{Kind: 's', Text: strings.Replace(of.Text, "{}", value, 1), path: true})
	case of.path && word.Listed(" .resolve .absolute .joinpath ", name.Text):
		return p.replace(n+1, joined(of, Token{Text: value}, "/"))
	case of.path && name.Text == ".parents" && all.Kind == 'n':
		return p.replace(n+1, joined(of, Token{Text: strings.Repeat("../", int(value[0]-'0')+1)}, "/"))
	case count == 0 || !bracket.is("(") || !word.Listed(" join resolve abspath normpath realpath normalize "+
		"expanduser Path PurePath PosixPath Join fspath str String expand_path Pathname dirname catfile catdir ", last):
		return false
	case last == "dirname":
		value = path.Join(value, "..")
	}
	return p.replace(n, Token{Kind: 's', Text: value, path: true})
}

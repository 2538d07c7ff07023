package guard

import (
	"path"
	"strconv"
	"strings"
)

// fold computes what can be known of strings: concatenation, path functions,
// constants, arguments and the environment.
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
	var out []codeToken
	toks := p.toks
	for i := 0; i < len(toks); {
		if t, n, ok := p.reduce(toks, i); ok {
			out, i = append(out, t), i+n
			continue
		}
		out, i = append(out, toks[i]), i+1
		p.define(out)
	}
	p.toks = out
}

// define notes NAME = "string".
func (p *program) define(out []codeToken) {
	n := len(out)
	if n < 3 || out[n-1].kind != 's' || out[n-2].text != "=" || out[n-3].kind != 'i' {
		return
	}
	if n > 3 && (out[n-4].text == "," || out[n-4].text == "(") && p.lang == "python" {
		return // a keyword argument
	}
	p.consts[out[n-3].text] = out[n-1].text
}

// reduce finds what one or more tokens at i come to.
func (p *program) reduce(toks []codeToken, i int) (codeToken, int, bool) {
	at := func(k int) codeToken {
		if i+k < len(toks) {
			return toks[i+k]
		}
		return codeToken{}
	}
	is := func(k int, s string) bool { t := at(k); return t.kind == 'p' && t.text == s }
	switch t := toks[i]; {
	case t.kind == 's' && at(1).kind == 's' && p.lang == "python":
		return codeToken{kind: 's', text: t.text + at(1).text, path: t.path, tail: t.tail}, 2, true
	case t.kind == 's' && at(2).kind == 's' && p.joins(at(1), t, at(2)):
		return joined(t, at(2), at(1).text), 3, true
	case t.kind == 's' && is(1, ".") && is(2, ".") && at(3).kind == 's':
		return joined(t, at(3), "+"), 4, true
	case t.kind == 's' && at(1).kind == 'i' && (at(1).text == ".format" || at(1).text == ".joinpath") && is(2, "(") &&
		at(3).kind == 's' && is(4, ")"):
		if at(1).text == ".format" {
			return codeToken{kind: 's', text: strings.Replace(t.text, "{}", at(3).text, 1), path: true}, 5, true
		}
		return joined(t, at(3), "/"), 5, true
	case t.kind == 's' && at(1).kind == 'i' && strings.HasPrefix(at(1).text, ".") && p.method(t, at(1).text) != nil:
		r := p.method(t, at(1).text)
		if is(2, "(") && is(3, ")") {
			return *r, 4, true
		}
		if at(1).text == ".parent" {
			return *r, 2, true
		}
	case t.kind == 'p' && t.text == "(" && at(1).kind == 's' && is(2, ")") &&
		(i == 0 || toks[i-1].kind == 'p' && !closes(toks[i-1])):
		return at(1), 3, true
	case t.kind == 'i':
		return p.reduceName(toks, i)
	}
	return codeToken{}, 0, false
}

// joins says whether op puts two strings together in this language.
func (p *program) joins(op, a, b codeToken) bool {
	if op.kind != 'p' {
		return false
	}
	switch op.text {
	case "+":
		return true
	case ".":
		return p.lang == "perl" || p.lang == "php"
	case "/":
		return a.path || b.path
	}
	return false
}

func joined(a, b codeToken, op string) codeToken {
	t := codeToken{kind: 's', text: a.text + b.text, path: a.path, tail: a.tail}
	if op == "/" {
		t.text, t.path = path.Join(a.text, b.text), true
		if strings.HasPrefix(b.text, "/") {
			t.text = b.text
		}
	}
	return t
}

// method applies a method of a path to a string.
func (p *program) method(t codeToken, name string) *codeToken {
	switch name {
	case ".parent":
		return &codeToken{kind: 's', text: parent(t.text), path: true}
	case ".resolve", ".absolute", ".expanduser", ".strip", ".toString", ".to_s", ".as_posix", ".trim", ".freeze",
		".to_path":
		return &t
	}
	return nil
}

// reduceName replaces names, calls and lookups whose value is known.
func (p *program) reduceName(toks []codeToken, i int) (codeToken, int, bool) {
	name := toks[i].text
	at := func(k int) codeToken {
		if i+k < len(toks) {
			return toks[i+k]
		}
		return codeToken{}
	}
	str := func(v string, n int) (codeToken, int, bool) {
		return codeToken{kind: 's', text: v, path: true}, n, true
	}
	empty := at(1).text == "(" && at(2).text == ")" && at(2).kind == 'p'
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
		return codeToken{kind: 's', text: "/"}, 1, true
	case isEnvironment(name):
		if v, n, ok := p.environment(toks, i); ok {
			return str(v, n)
		}
	case isArguments(name) && at(1).text == "[" && at(2).kind == 'n':
		if v, ok := p.argument(name, at(2).text); ok {
			return str(v, 4)
		}
	case joinsPath(last) && at(1).text == "(":
		if v, n, ok := pathCall(toks, i); ok {
			if last == "dirname" {
				v = parent(v)
			}
			return str(v, n)
		}
	}
	assigned := at(1).kind == 'p' && (at(1).text == "=" || at(1).text == "(")
	if v, ok := p.consts[name]; ok && !assigned && at(1).kind != 's' {
		return codeToken{kind: 's', text: v, path: true}, 1, true
	}
	return codeToken{}, 0, false
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
	switch last {
	case "join", "resolve", "abspath", "normpath", "realpath", "normalize", "expanduser", "Path", "PurePath", "PosixPath",
		"Join", "fspath", "str", "String", "expand_path", "Pathname", "dirname", "catfile", "catdir":
		return true
	}
	return false
}

// pathCall joins the strings of name(a, b, …) if all arguments are strings.
func pathCall(toks []codeToken, i int) (string, int, bool) {
	value := ""
	for k := 2; i+k < len(toks) && k < 40; k++ {
		t := toks[i+k]
		switch {
		case t.kind == 's':
			if strings.HasPrefix(t.text, "/") || strings.HasPrefix(t.text, "~") || value == "" {
				value = t.text
			} else {
				value += "/" + t.text
			}
		case t.text == ",":
		case t.text == ")" && k > 2:
			return value, k + 1, true
		default:
			return "", 0, false
		}
	}
	return "", 0, false
}

func isEnvironment(name string) bool {
	switch name {
	case "os.environ", "os.environ.get", "os.getenv", "process.env", "ENV", "ENV.fetch", "$ENV", "os.Getenv", "getenv",
		"$_ENV", "$_SERVER", "environ", "environ.get":
		return true
	}
	return strings.HasPrefix(name, "process.env.")
}

// environment reads a variable from the shell's own.
func (p *program) environment(toks []codeToken, i int) (string, int, bool) {
	name, n := "", 4
	if rest, ok := strings.CutPrefix(toks[i].text, "process.env."); ok {
		name, n = rest, 1
	} else if i+3 < len(toks) && (toks[i+2].kind == 's' || toks[i+2].kind == 'i') &&
		strings.Contains("([{", toks[i+1].text) {
		name = toks[i+2].text
		for i+n-1 < len(toks) && !strings.Contains(")]}", toks[i+n-1].text) {
			n++
		}
	}
	if name == "" {
		return "", 0, false
	}
	if name == "HOME" {
		return "~", n, true
	}
	v := p.s.lookup(name)
	if len(v.alts) != 1 {
		return "", 0, false
	}
	value, ok := v.alts[0].literal()
	return value, n, ok
}

func isArguments(name string) bool {
	switch name {
	case "sys.argv", "process.argv", "ARGV", "$ARGV", "$argv", "arg", "Deno.args", "Bun.argv", "os.Args", "argv":
		return true
	}
	return false
}

// argument reads an argument of the program. Where counting starts differs,
// so that a number is taken for the argument that it can mean.
func (p *program) argument(name, index string) (string, bool) {
	n, err := strconv.Atoi(index)
	if err != nil {
		return "", false
	}
	switch name {
	case "sys.argv", "$argv", "os.Args", "argv", "process.argv", "Bun.argv", "arg":
		n--
	}
	if n >= 0 && n >= len(p.args) && name == "process.argv" {
		n--
	}
	if n < 0 || n >= len(p.args) {
		return "", false
	}
	v, ok := p.args[n].literal()
	return v, ok
}

// markTails finds strings that unknown text stands before, as in dir + "/x":
// they are no paths by themselves.
func (p *program) markTails() {
	for i := 1; i < len(p.toks); i++ {
		if p.toks[i].kind != 's' || p.toks[i-1].kind != 'p' {
			continue
		}
		op := p.toks[i-1].text
		if op == "+" || (op == "." && (p.lang == "perl" || p.lang == "php" || p.lang == "lua")) || op == "%" {
			p.toks[i].tail = true
		}
		if op == "/" && i > 1 && (p.toks[i-2].kind == 'i' || p.toks[i-2].text == ")") &&
			!strings.HasPrefix(p.toks[i].text, "/") {
			p.toks[i].tail = p.toks[i].text != ".." && !strings.HasPrefix(p.toks[i].text, "../")
		}
	}
}

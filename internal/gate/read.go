package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"
)

// reader gives all values of a file by their keys, or says why it could not read every one.
type reader func(text string) (leaves, error)

// leaves are values by their keys: parts apart by slashes, a slash in one as ~1 and a tilde as ~0.
type leaves map[string]string

const (
	maxRead  = 8 << 20 // bytes of a file that is read whole
	maxDeep  = 200
	maxLeafs = 500_000
)

var errKeys = errors.New("a key is there twice, or differs from another only in case")

// readable says why a text is none that every program reads the same.
func readable(text string) error {
	switch {
	case len(text) > maxRead:
		return errors.New("it is too large")
	case !utf8.ValidString(text):
		return errors.New("it is not UTF-8")
	case strings.ContainsRune(text, 0):
		return errors.New("it has a NUL")
	case strings.HasPrefix(text, "\ufeff"):
		return errors.New("it begins with a byte order mark")
	}
	return nil
}

// put adds a value.
func (l leaves) put(at, value string) error {
	if _, ok := l[at]; ok {
		return errKeys
	}
	if l[at] = value; len(l) > maxLeafs {
		return errors.New("it has too many values")
	}
	return nil
}

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

func below(at, part string) string {
	if part = escapeKey.Replace(part); at != "" {
		return at + "/" + part
	}
	return part
}

// names tells keys of one object apart.
type names map[string]bool

func (n names) add(name string) error {
	if key := fold(name); n[key] {
		return errKeys
	} else {
		n[key] = true
	}
	return nil
}

func readJSON(text string) (leaves, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	out := leaves{}
	if err := jsonValue(d, out, "", 0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON")
	}
	return out, nil
}

// jsonValue reads a value token by token, because decoding into a map forgets a key that is there twice.
func jsonValue(d *json.Decoder, out leaves, at string, deep int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if deep > maxDeep {
		return errors.New("it is too deep")
	}
	open, ok := t.(json.Delim)
	if !ok {
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		return out.put(at, plainValue(string(b)))
	}
	n, seen := 0, names{}
	for ; d.More(); n++ {
		part := strconv.Itoa(n)
		if open == '{' {
			if t, err = d.Token(); err != nil {
				return err
			}
			part, _ = t.(string)
			if err := seen.add(part); err != nil {
				return fmt.Errorf("%w: %s", err, part)
			}
		}
		if err := jsonValue(d, out, below(at, part), deep+1); err != nil {
			return err
		}
	}
	if _, err = d.Token(); err != nil {
		return err
	}
	if n == 0 {
		return out.put(at, map[json.Delim]string{'{': "{}", '[': "[]"}[open])
	}
	return nil
}

// plainValue takes the quotes off a string in which nothing is quoted: people read it. What is no string has none.
func plainValue(s string) string {
	if p, err := strconv.Unquote(s); err == nil && !strings.ContainsAny(p, "\n\"") {
		return p
	}
	return s
}

func readJSONC(text string) (leaves, error) {
	if strings.TrimSpace(text) == "" {
		return leaves{}, nil
	}
	b, err := hujson.Standardize([]byte(text))
	if err != nil {
		return nil, err
	}
	return readJSON(string(b))
}

// readPackage reads npm's manifest. A package manager is a name and a version, or something else that is run.
func readPackage(text string) (leaves, error) {
	out, err := readJSON(text)
	if m, ok := out["packageManager"]; ok && !plainManager().MatchString(m) {
		out["packageManager/other"] = m
	}
	return out, err
}

var plainManager = expr(`^(?:npm|pnpm|yarn|bun)@\d+\.\d+\.\d+(?:\+sha\d+\.[0-9a-f]+)?$`)

func readTOML(text string) (leaves, error) {
	var all map[string]any
	if _, err := toml.Decode(text, &all); err != nil {
		return nil, err
	}
	out := leaves{}
	return out, out.tree("", all, 0)
}

// tree adds what a decoder has made of a file.
func (l leaves) tree(at string, v any, deep int) error {
	if deep > maxDeep {
		return errors.New("it is too deep")
	}
	switch v := v.(type) {
	case map[string]any:
		seen := names{}
		for name, inner := range v {
			if err := errors.Join(seen.add(name), l.tree(below(at, name), inner, deep+1)); err != nil {
				return err
			}
		}
		if len(v) == 0 {
			return l.put(at, "{}")
		}
	case []map[string]any:
		for i, inner := range v {
			if err := l.tree(below(at, strconv.Itoa(i)), inner, deep+1); err != nil {
				return err
			}
		}
	case []any:
		for i, inner := range v {
			if err := l.tree(below(at, strconv.Itoa(i)), inner, deep+1); err != nil {
				return err
			}
		}
		if len(v) == 0 {
			return l.put(at, "[]")
		}
	default:
		return l.put(at, fmt.Sprint(v))
	}
	return nil
}

func readYAML(text string) (leaves, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	out := leaves{}
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is a second document")
	}
	if strings.HasPrefix(text, "%") || strings.Contains(text, "\n%") {
		return nil, errors.New("it has directives")
	}
	for _, n := range doc.Content {
		if err := out.node("", n, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// node adds a node of YAML. What stands for something else counts as not read.
func (l leaves) node(at string, n *yaml.Node, deep int) error {
	switch {
	case deep > maxDeep:
		return errors.New("it is too deep")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return errors.New("it has an alias")
	case n.Style&yaml.TaggedStyle != 0:
		return errors.New("it has a tag")
	case n.Kind == yaml.ScalarNode:
		return l.put(at, n.Value)
	}
	seen := names{}
	for i := 0; i < len(n.Content); i++ {
		part := strconv.Itoa(i)
		if n.Kind == yaml.MappingNode {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 || k.Tag == "!!merge" {
				return errors.New("it has a key that stands for something else")
			}
			part = k.Value
			if err := seen.add(part); err != nil {
				return err
			}
			i++
		}
		if err := l.node(below(at, part), n.Content[i], deep+1); err != nil {
			return err
		}
	}
	if len(n.Content) == 0 {
		return l.put(at, "{}")
	}
	return nil
}

var (
	iniSection = expr(`^\[([\w.:*/ -]+)\]$`)
	iniKey     = expr(`^([\w@/.:*\[\]-]+?)(?:\s*=\s*(.*))?$`)
	// A value that is taken from elsewhere, which can be code.
	iniElsewhere = expr(`^(attr|file|find(?:_namespace)?):`)
)

// readINI reads sections and keys, where a line that is neither, nor indented below one, is not understood.
func readINI(text string) (leaves, error) {
	out := leaves{}
	section, last, seen := "", "", names{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		t := strings.TrimSpace(line)
		if m := iniSection().FindStringSubmatch(line); m != nil {
			section, last = escapeKey.Replace(m[1]), ""
			continue
		}
		switch m := iniKey().FindStringSubmatch(t); {
		case t == "" || t[0] == '#' || t[0] == ';':
		case strings.ContainsAny(t, "\r\v\f\u0085\u2028\u2029"):
			return nil, errors.New("a line that ends before its end")
		case last != "" && t != line && section != "":
			out[last] += "\n" + t
		case m == nil || t != line:
			return nil, fmt.Errorf("a line that is not understood: %s", t)
		default:
			at := below(section, strings.TrimSuffix(m[1], "[]"))
			if e := iniElsewhere().FindStringSubmatch(m[2]); e != nil {
				at += "/" + e[1]
			}
			if section != "" {
				if err := seen.add(at); err != nil {
					return nil, err
				}
			}
			out[at] = strings.TrimPrefix(out[at]+"\n"+m[2], "\n")
			last = at
		}
	}
	return out, nil
}

// lineClass is what a line can be, as an expression for all of it. The first group is its name.
type lineClass struct {
	key  string
	expr func() *regexp.Regexp
}

// readLines reads a file in which each line stands by itself. A line that is in no class is not understood.
func readLines(text string, classes []lineClass) (leaves, error) {
	out := leaves{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.ContainsAny(line, "\r\v\f\u0085\u2028\u2029") {
			return nil, errors.New("a line that ends before its end")
		}
		i := slices.IndexFunc(classes, func(c lineClass) bool { return c.expr().MatchString(line) })
		if i < 0 {
			return nil, fmt.Errorf("a line that is not understood: %s", strings.TrimSpace(line))
		}
		if classes[i].key == "" {
			continue
		}
		m := classes[i].expr().FindStringSubmatch(line)
		at := classes[i].key
		if len(m) > 1 {
			at = below(at, m[1])
		} else {
			at = below(at, line)
		}
		out[at] = strings.TrimPrefix(out[at]+"\n"+strings.TrimSpace(line), "\n")
	}
	return out, nil
}

var blankOrHash = lineClass{"", expr(`^\s*(?:#.*)?$`)}

var attributeLines = []lineClass{blankOrHash,
	{"text", expr(`^\s*[^\s"#]\S*(?:\s+(?:[-!]?text|text=auto|eol=(?:lf|crlf)|-?whitespace|whitespace=\S+|` +
		`linguist-(?:language|detectable|documentation)(?:=\S+)?|conflict-marker-size=\d+|encoding=utf-?8))+\s*$`)},
	{"text", expr(`(?i)^\s*\*\.(?:png|jpe?g|gif|ico|pdf|zip|gz|jar|woff2?|ttf|otf|eot|mp[34]|webp|exe|dll|so|` +
		`bin|psd)\s+(?:binary|-text|-diff|\s)+$`)},
	{"hidden", expr(`^\s*[^\s"#]\S*(?:\s+(?:[-!]?text|text=auto|eol=(?:lf|crlf)|-diff|binary|-merge|merge=union|` +
		`diff=(?:ada|bash|bibtex|cpp|csharp|css|dts|elixir|fortran|fountain|golang|html|java|kotlin|markdown|` +
		`matlab|objc|pascal|perl|php|python|ruby|rust|scheme|tex)|linguist-[\w-]+(?:=\S+)?|export-ignore|` +
		`export-subst|gitlab-generated))+\s*$`)},
	{"other", expr(`^.*$`)},
}

// readAttributes reads git's attributes. No line there changes what another means.
func readAttributes(text string) (leaves, error) { return readLines(text, attributeLines) }

const rubyWord = `(?:"[^"#\\]*"|'[^'\\]*'|:[a-z_]\w*)`

var gemLines = []lineClass{
	{"", expr(`^\s*(?:#.*)?$`)},
	{"gem", expr(`^\s*gem\s*\(?\s*["']([\w.-]+)["'](?:,\s*(?:` + rubyWord + `|(?:require|platforms?|groups?)(?::|\s*=>)` +
		`\s*(?:` + rubyWord + `|false|true|\[[\w:"', ]*\]|%i\[[\w ]*\])))*\s*\)?\s*$`)},
	{"source", expr(`^\s*(?:source|gem)\s*\(?\s*(["'][^"'#\\]+["'])(?:,\s*(?:` + rubyWord +
		`|\w+:\s*(?:` + rubyWord + `|false|true)))*\s*\)?(?:\s+do)?\s*$`)},
	{"plain", expr(`^\s*(?:group\s+[:\w, ]+\s+do|end|gemspec|ruby\s+["'][\w., <>=~-]+["']|` +
		`platforms?\s+[:\w, ]+\s+do)\s*$`)},
}

// readGemfile reads a Gemfile that is nothing but a list.
func readGemfile(text string) (leaves, error) {
	if strings.Contains("\n"+text, "\n=begin") || strings.Contains(text, "__END__") || strings.Contains(text, "coding") {
		return nil, errors.New("it has text that Ruby skips")
	}
	return readLines(text, gemLines)
}

var versionLines = []lineClass{blankOrHash,
	{"version", expr(`^(?:[a-z][\w-]*[ =])?\s*(?:v?\d[\w.+-]*|lts/[\w*]+|node|stable|latest|system|` +
		`[a-z]+-\d[\w.+-]*)(?:\s+#.*)?\s*$`)}}

// readVersions reads what version managers act on, if it names nothing but versions.
func readVersions(text string) (leaves, error) { return readLines(text, versionLines) }

var requirementLines = []lineClass{
	{"", expr(`^\s*(?:#.*)?$`)},
	{"name", expr(`^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[\w, -]*\])?\s*(?:[(]?[<>=!~]=?=?[^@/\\]*)?(?:;[^@/\\]*)?` +
		`(?:\s--hash=\S+)*\s*\\?\s*(?:#.*)?$`)},
	{"", expr(`^\s*--hash=\S+\s*\\?\s*$`)},
	{"from", expr(`^.*$`)},
}

// readRequirements reads pip's lists: names, and lines that say where from.
func readRequirements(text string) (leaves, error) { return readLines(text, requirementLines) }

func readGoMod(text string) (leaves, error) {
	f, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	out := leaves{}
	for _, s := range f.Syntax.Stmt {
		switch s := s.(type) {
		case *modfile.Line:
			goModLine(out, s.Token[0], s.Token[1:])
		case *modfile.LineBlock:
			for _, l := range s.Line {
				goModLine(out, strings.Join(s.Token, " "), l.Token)
			}
		}
	}
	return out, nil
}

func goModLine(out leaves, verb string, words []string) {
	switch {
	case verb == "go" || verb == "module":
		out[verb] = strings.Join(words, " ")
	case len(words) > 0:
		out[below(verb, words[0])] = strings.Join(words[1:], " ")
	}
}

// changed gives the keys whose values differ, sorted.
func changed(was, is leaves) (keys []string) {
	for k, v := range is {
		if old, ok := was[k]; !ok || old != v {
			keys = append(keys, k)
		}
	}
	for k := range was {
		if _, ok := is[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// keyOf finds what a row knows of a key; nil if nothing.
func (p *place) keyOf(at string) *key {
	for i := range p.keys {
		for s := range strings.FieldsSeq(p.keys[i].paths) {
			if keyMatch(s, at) {
				return &p.keys[i]
			}
		}
	}
	return nil
}

// keyMatch compares a key with a pattern, part by part.
func keyMatch(pattern, at string) bool {
	for {
		p, restP, moreP := strings.Cut(pattern, "/")
		if p == "**" {
			return true
		}
		k, restK, moreK := strings.Cut(at, "/")
		if p != "*" && p != k && (!strings.Contains(p, "*") || !starMatch(p, k)) {
			return false
		}
		if !moreP || !moreK {
			return moreP == moreK || restP == "**"
		}
		pattern, at = restP, restK
	}
}

// starMatch compares a part with one that has stars in it, and whose brackets are plain text.
func starMatch(p, k string) bool {
	pieces := strings.Split(p, "*")
	if !strings.HasPrefix(k, pieces[0]) {
		return false
	}
	k = k[len(pieces[0]):]
	for i, piece := range pieces[1:] {
		if i == len(pieces)-2 {
			return strings.HasSuffix(k, piece)
		}
		at := strings.Index(k, piece)
		if at < 0 {
			return false
		}
		k = k[at+len(piece):]
	}
	return true
}

// lastPart is a key's name for a person.
func lastPart(at string) string {
	return unescaped(at[strings.LastIndexByte(at, '/')+1:])
}

func unescaped(at string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(at) }

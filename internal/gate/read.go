package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
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

// UnmarshalText finds a reader by the name that it has in tables.
func (r *reader) UnmarshalText(b []byte) error {
	*r = map[string]reader{"json": readJSON, "jsonc": readJSONC, "package": readPackage, "toml": readTOML,
		"yaml": readYAML, "ini": readINI, "gomod": readGoMod, "gemfile": readGemfile, "attributes": readLines("attributes"),
		"versions": readLines("versions"), "requirements": readLines("requirements")}[string(b)]
	if *r == nil {
		return fmt.Errorf("no reader %q", b)
	}
	return nil
}

// all reads a text, unless it is one that not every program reads the same.
func (r reader) all(text string) (leaves, error) {
	if err := readable(text); err != nil {
		return nil, err
	}
	return r(text)
}

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
	b, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return readJSON(string(b))
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
	if err := plainLines(text); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		t := strings.TrimSpace(line)
		if m := iniSection().FindStringSubmatch(line); m != nil {
			section, last = escapeKey.Replace(m[1]), ""
			continue
		}
		switch m := iniKey().FindStringSubmatch(t); {
		case t == "" || t[0] == '#' || t[0] == ';':
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

// lineClass is what a line can be in a kind of files in which each stands by itself.
type lineClass struct {
	Of   string
	Key  string     // "" if it says nothing
	Line expression // for all of it; its first group is its name
}

var lineClasses = table[lineClass]("lines")

// plainLines says why a text has lines that end elsewhere for some programs.
func plainLines(text string) error {
	if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\v\f\u0085\u2028\u2029") {
		return errors.New("it has a line that ends before its end")
	}
	return nil
}

// readLines reads files of a kind. A line that is in no class is not understood.
func readLines(of string) reader {
	return func(text string) (leaves, error) {
		out := leaves{}
		if err := plainLines(text); err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			i := slices.IndexFunc(lineClasses(), func(c lineClass) bool { return c.Of == of && c.Line.match(line) })
			if i < 0 {
				return nil, fmt.Errorf("a line that is not understood: %s", strings.TrimSpace(line))
			}
			c := lineClasses()[i]
			if c.Key == "" {
				continue
			}
			m := append(c.Line().FindStringSubmatch(line), line)
			at := below(c.Key, m[1])
			out[at] = strings.TrimPrefix(out[at]+"\n"+strings.TrimSpace(line), "\n")
		}
		return out, nil
	}
}

// readGemfile reads a Gemfile that is nothing but a list.
func readGemfile(text string) (leaves, error) {
	if strings.Contains("\n"+text, "\n=begin") || strings.Contains(text, "__END__") || strings.Contains(text, "coding") {
		return nil, errors.New("it has text that Ruby skips")
	}
	return readLines("gemfile")(text)
}

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
	all := maps.Clone(was)
	if all == nil {
		all = leaves{}
	}
	maps.Copy(all, is)
	for k := range all {
		old, had := was[k]
		if now, has := is[k]; had != has || old != now {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// keyOf finds what a row knows of a key; nil if nothing.
func (p *place) keyOf(at string) *key {
	for i := range p.Key {
		if slices.ContainsFunc(p.Key[i].paths, func(s string) bool { return keyMatch(s, at) }) {
			return &p.Key[i]
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
		if ok := p == k; !ok {
			if ok, _ = path.Match(p, k); !ok {
				return false
			}
		}
		if !moreP || !moreK {
			return moreP == moreK || restP == "**"
		}
		pattern, at = restP, restK
	}
}

// lastPart is a key's name for a person.
func lastPart(at string) string {
	return unescaped(at[strings.LastIndexByte(at, '/')+1:])
}

func unescaped(at string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(at) }

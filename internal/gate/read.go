package gate

import (
	"cmp"
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
	if len(text) > maxRead || !utf8.ValidString(text) || strings.ContainsRune(text, 0) ||
		strings.HasPrefix(text, "\ufeff") {
		return nil, errors.New("it is too large, or not UTF-8 without NUL and byte order mark")
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

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

func below(at, part string) string {
	if part = escapeKey.Replace(part); at != "" {
		return at + "/" + part
	}
	return part
}

// walk gathers the leaves of a tree, until something is wrong.
type walk struct {
	leaves
	err error
}

func (w *walk) fail(err error) { w.err = cmp.Or(w.err, err) }

// enters says whether what is so deep is still read.
func (w *walk) enters(deep int) bool {
	if deep > maxDeep || len(w.leaves) > maxLeafs {
		w.fail(errors.New("it is too deep, or has too many values"))
	}
	return w.err == nil
}

// key takes down a key of an object.
func (w *walk) key(seen map[string]bool, name string) {
	if seen[fold(name)] {
		w.fail(fmt.Errorf("a key is there twice, or differs from another only in case: %s", name))
	}
	seen[fold(name)] = true
}

func readJSON(text string) (leaves, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	w := &walk{leaves: leaves{}}
	w.json(d, "", 0)
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		w.fail(errors.New("there is more behind the JSON"))
	}
	return w.leaves, w.err
}

// json reads a value token by token, because decoding into a map forgets a key that is there twice.
func (w *walk) json(d *json.Decoder, at string, deep int) {
	next := func() json.Token {
		t, err := d.Token()
		w.fail(err)
		return t
	}
	t := next()
	open, ok := t.(json.Delim)
	if !ok {
		if w.leaves[at] = fmt.Sprint(t); t == nil {
			w.leaves[at] = "null"
		}
		return
	}
	n, seen := 0, map[string]bool{}
	for ; w.enters(deep) && d.More(); n++ {
		part := strconv.Itoa(n)
		if open == '{' {
			part, _ = next().(string)
			w.key(seen, part)
		}
		w.json(d, below(at, part), deep+1)
	}
	if next(); n == 0 {
		w.leaves[at] = map[json.Delim]string{'{': "{}", '[': "[]"}[open]
	}
}

func readJSONC(text string) (leaves, error) {
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
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) || strings.Contains("\n"+text, "\n%") {
		return nil, errors.New("it has directives, or a second document")
	}
	w := &walk{leaves: leaves{}}
	for _, n := range doc.Content {
		w.yaml(n, "", 0)
	}
	return w.leaves, w.err
}

// yaml reads a node. What stands for something else counts as not read.
func (w *walk) yaml(n *yaml.Node, at string, deep int) {
	plain := func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || n.Tag == "!!merge" {
			w.fail(errors.New("it has an alias, a tag or a merge key"))
		}
	}
	plain(n)
	seen := map[string]bool{}
	for i := 0; w.enters(deep) && i < len(n.Content); i++ {
		part := strconv.Itoa(i)
		if k := n.Content[i]; n.Kind == yaml.MappingNode {
			plain(k)
			if part = k.Value; k.Kind != yaml.ScalarNode {
				w.fail(errors.New("it has a key that is no text"))
			}
			w.key(seen, part)
			i++
		}
		w.yaml(n.Content[i], below(at, part), deep+1)
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		w.leaves[at] = n.Value
	case len(n.Content) == 0:
		w.leaves[at] = "{}"
	}
}

var (
	iniSection = expr(`^\[([\w.:*/ -]+)\]$`)
	iniKey     = expr(`^([\w@/.:*\[\]-]+?)(?:\s*=\s*(.*))?$`)
	// A value that is taken from elsewhere, which can be code.
	iniElsewhere = expr(`^(attr|file|find(?:_namespace)?):`)
)

func (l leaves) elsewhere(at, value string) {
	if e := iniElsewhere().FindStringSubmatch(value); e != nil {
		l[at+"/"+e[1]] = value
	}
}

// readINI reads sections and keys, where a line that is neither, nor indented below one, is not understood.
func readINI(text string) (leaves, error) {
	out, seen := leaves{}, map[string]bool{}
	section, last, w := "", "", &walk{}
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
			out.elsewhere(last, t)
		case m == nil || t != line:
			return nil, fmt.Errorf("a line that is not understood: %s", t)
		default:
			at := below(section, strings.TrimSuffix(m[1], "[]"))
			if section != "" {
				w.key(seen, at)
			}
			out[at] = strings.TrimPrefix(out[at]+"\n"+m[2], "\n")
			last = at
			out.elsewhere(at, m[2])
		}
	}
	return out, w.err
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
			c := first(lineClasses(), func(c *lineClass) bool { return c.Of == of && c.Line.match(line) })
			if c == nil {
				return nil, fmt.Errorf("a line that is not understood: %s", strings.TrimSpace(line))
			}
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
	take := func(verb string, words []string) {
		name, rest, _ := strings.Cut(strings.Join(words, " "), " ")
		out[below(verb, name)] = rest
	}
	for _, s := range f.Syntax.Stmt {
		switch s := s.(type) {
		case *modfile.Line:
			take(s.Token[0], s.Token[1:])
		case *modfile.LineBlock:
			for _, l := range s.Line {
				take(s.Token[0], l.Token)
			}
		}
	}
	return out, nil
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
	return first(p.Key, func(k *key) bool {
		return slices.ContainsFunc(k.paths, func(s string) bool { return keyMatch(s, at) })
	})
}

// keyMatch compares a key with a pattern, part by part.
func keyMatch(pattern, at string) bool {
	for {
		p, restP, moreP := strings.Cut(pattern, "/")
		if p == "**" {
			return true
		}
		k, restK, moreK := strings.Cut(at, "/")
		if ok, _ := path.Match(p, k); !ok {
			return false
		}
		if !moreP || !moreK {
			return moreP == moreK || restP == "**"
		}
		pattern, at = restP, restK
	}
}

func unescaped(at string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(at) }

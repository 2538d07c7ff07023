package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/unit"
)

// listing is a file that names packages in its lines: a lockfile, or a manifest that is code.
type listing struct {
	At       string
	Name     expression // its first group that is there is a name
	Registry string     // where popular names are known
	Lock     bool
	Hashes   bool   // it can hold sums
	Tidied   bool   // what goes says nothing
	Forges   bool   // packages come from repositories as a rule
	Manifest string // what is beside a lockfile, if both can be read whole
	Locks    string // what that is called then
	Read     reader
	Names    string // keys of the lockfile that are a name, or whose value is
}

var listings = table[listing]("lists")

// listingOf is how packages are named in a file; nil if they are not.
func listingOf(p string) *listing {
	return first(listings(), func(r *listing) bool { return within(fold(p), r.At) })
}

var (
	urlSource   = named("source")
	checksum    = expr(`(?:sha\d+[-:=]|h1:|md5[-:=])?[A-Za-z0-9+/]{26,}={0,2}|[0-9a-f]{32,}`)
	runsAtSetUp = expr(`"hasInstallScript"\s*:\s*true|^\s*requiresBuild: true`)
)

// sources are the places that a line names packages from, but for registries: hosts, and on a forge its repositories.
func sources(line string) (all []string) {
	if strings.Contains(line, `"funding"`) || strings.Contains(line, `"homepage"`) {
		return nil
	}
	for _, s := range urlSource().FindAllString(line, 8) {
		_, rest, ok := strings.Cut(s, "://")
		if !ok {
			rest = strings.Replace(strings.TrimPrefix(s, "git@"), ":", "/", 1)
		}
		parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
		host := strings.ToLower(parts[0])
		host = host[strings.LastIndexByte(host, '@')+1:]
		switch {
		case inList("forges", host):
			host = strings.TrimSuffix(strings.Join(append([]string{host}, parts[1:min(3, len(parts))]...), "/"), ".git")
		case inList("registries", host) && strings.HasPrefix(s, "http://"):
			host = "http://" + host
		}
		if !inList("registries", host) && !inList("mentioned", host) {
			all = append(all, host)
		}
	}
	return all
}

// lists looks at lockfiles and at manifests that are code: by what is named in lines that came and went.
func (x *examination) lists() {
	for _, c := range x.changes {
		r := listingOf(c.path)
		if r == nil || c.isLink() || c.wasOID == c.isOID || isFixture(c.path) {
			continue
		}
		if r.Lock && c.gone() {
			x.tell(c, depsOf, Medium, line{}, "the lockfile was removed: versions are free to change")
			continue
		}
		old := x.blob(c.wasOID)
		x.newSources(c, r, old)
		if r.Lock || r.Hashes {
			x.sameVersion(c)
		}
		if r.Lock && (c.cut || c.binary ||
			strings.HasSuffix(fold(c.path), ".json") && !json.Valid([]byte(x.blob(c.isOID)))) {
			x.tell(c, depsOf, Medium, line{}, "the lockfile has changed in a way that is not looked at")
		}
		if r.Name == nil {
			continue
		}
		was, is := r.named(c.removed), r.named(c.added)
		if r.Tidied {
			clear(was)
			maps.DeleteFunc(is, func(name string, _ req) bool { return strings.Contains(old, name+" ") })
		}
		x.compare(c, was, is, r.Registry)
	}
}

// newSources tells of sources that a file did not name before, and of scripts that run at install. Where packages come
// from repositories as a rule, one counts only in place of another of the same name.
func (x *examination) newSources(c *change, r *listing, old string) {
	went := map[string]bool{}
	name := func(l line, s string) string { return strconv.Itoa(l.hunk) + path.Base(s) }
	for _, l := range c.removed {
		for _, s := range sources(l.text) {
			went[name(l, s)] = true
		}
	}
	var fresh []string
	var at line
	for _, l := range c.added {
		for _, s := range sources(l.text) {
			if r.Forges && strings.Contains(s, "/") && !went[name(l, s)] || slices.Contains(fresh, s) ||
				strings.Contains(old, s) {
				continue
			}
			if fresh = append(fresh, s); len(fresh) == 1 {
				at = l
			}
		}
	}
	if len(fresh) > 0 {
		at.text = list(fresh)
		x.tell(c, "packages", High, at, "packages come from a place that they did not come from before")
	}
	if t := c.tally(runsAtSetUp, nil, nil); t.more > 0 {
		x.tell(c, "install", High, t.add, "a package runs a script at install")
	}
}

// sameVersion tells of sums that have changed where nothing else has.
func (x *examination) sameVersion(c *change) {
	was, is, first := map[int][]string{}, map[int][]string{}, map[int]line{}
	for _, l := range c.removed {
		was[l.hunk] = append(was[l.hunk], checksum().ReplaceAllString(l.text, "#"))
	}
	for _, l := range slices.Backward(c.added) {
		is[l.hunk], first[l.hunk] = append(is[l.hunk], checksum().ReplaceAllString(l.text, "#")), l
	}
	for n := range c.hunk + 1 {
		l := first[n]
		slices.Reverse(is[n])
		if len(is[n]) == 0 || !slices.Equal(was[n], is[n]) || !checksum.match(l.text) ||
			slices.ContainsFunc(c.added, func(o line) bool {
				return o.hunk != n && o.no > l.no-8 && o.no < l.no+8 // it belongs to another version
			}) {
			continue
		}
		x.tell(c, depsOf, High, l, "the same version has another content")
		return
	}
}

// req is a package that something asks for.
type req struct {
	version, from, at string
	no                int
}

// inside is the version of what the project itself has.
const inside = "workspace:"

func (r *listing) named(lines []line) map[string]req {
	all := map[string]req{}
	for _, l := range lines {
		for _, m := range r.Name().FindAllStringSubmatch(l.text, 8) {
			all[cmp.Or(m[1:]...)] = req{no: l.no}
		}
	}
	delete(all, "")
	return all
}

var (
	elsewhere   = named("elsewhere")
	container   = named("container")
	leadingName = expr(`^\s*([A-Za-z0-9@][\w./@-]*?)\s*(?:\[[^\]]*\])?\s*([<>=!~^;( @].*)?$`)
)

// requirements are the packages that the values of a manifest ask for.
func (c *change) requirements(keys []string, sign string, from leaves) map[string]req {
	all := map[string]req{}
	at := ""
	add := func(name string, r req) {
		name = unescaped(name)
		r.version, r.from = cmp.Or(r.version, all[name].version), cmp.Or(r.from, all[name].from)
		if r.at, r.no = at, c.value(sign, from, at).no; elsewhere.match(r.version) {
			r.from = r.version
		}
		all[name] = r
	}
	for _, at = range keys {
		value, ok := from[at]
		if !ok {
			continue
		}
		parts := strings.Split(at, "/")
		last := parts[len(parts)-1]
		_, notIndex := strconv.Atoi(last)
		if notIndex == nil || strings.Contains(value, "\n") || strings.HasSuffix(last, "_require") ||
			last == "install_requires" {
			for line := range strings.Lines(value) {
				if m := leadingName().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
					add(m[1], req{version: strings.TrimSpace(m[2])})
				}
			}
			continue
		}
		i := len(parts) - 2
		for i > 0 && !container().MatchString(parts[i]) {
			i--
		}
		if i < 0 || i+1 >= len(parts) || value == "{}" {
			continue
		}
		r := req{version: value}
		if field := last; i+2 < len(parts) {
			r.version = ""
			switch field {
			case "version":
				r.version = value
			case "git", "url", "registry", "hosted", "index", "source", "package":
				r.from = field + " " + value
			case "workspace", "path": // of the project itself
				r.version = inside
			}
		}
		if parts[0] == "gem" || parts[0] == "name" { // the value is the whole line
			_, r.version, _ = strings.Cut(value, last)
			r.version = strings.Trim(r.version, `"', `)
		}
		add(parts[i+1], r)
	}
	delete(all, "")
	delete(all, "python")
	return all
}

// manifest compares what a manifest asks for.
func (x *examination) manifest(c *change, registry string, keys []string, was, is leaves) {
	if len(keys) == 0 {
		return
	}
	old, now := c.requirements(keys, "-", was), c.requirements(keys, "+", is)
	if len(old)+len(now) == 0 {
		x.tell(c, depsOf, Low, c.value("+", is, keys[0]), "what is said of packages has changed")
	}
	x.compare(c, old, now, registry)
	x.disagree(c, now)
}

// compare tells of packages that came, went and changed.
func (x *examination) compare(c *change, was, is map[string]req, registry string) {
	var came, other, went []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		p := is[name]
		old, had := was[name]
		change := strings.TrimSpace(fmt.Sprintf("%s %s, was %s", name, p.version, old.version))
		tell := func(d Danger, text, says string) { x.tell(c, depsOf, d, line{no: p.no, sign: "+", text: text}, says) }
		if near := nearPopular(registry, name); near != "" && !had {
			tell(High, name, "a package whose name is one letter from "+near)
		}
		from := unescaped(p.at) + ": " + p.from
		switch {
		case strings.HasPrefix(p.version, inside):
		case p.from != "" && !had:
			tell(Medium, from, "a package comes from elsewhere")
		case p.from != "" && p.from != old.from:
			tell(High, from, "a package comes from elsewhere now")
		case !had:
			came = append(came, name)
		case older(p.version, old.version):
			tell(Medium, change, "a version goes back")
		case old.version != p.version && !version.match(p.version):
			other = append(other, change)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			went = append(went, name)
		}
	}
	for _, s := range []struct {
		names     []string
		one, sign string
	}{{came, "new", "+"}, {other, "changed", "+"}, {went, "removed", "-"}} {
		if n := len(s.names); n > 0 {
			first, _, _ := strings.Cut(s.names[0], " ")
			x.add(Finding{Kind: depsOf, Path: c.path, Line: is[first].no, Count: n,
				Says: unit.Count(n, "package") + " " + s.one, Text: show(s.sign, list(s.names))})
		}
	}
}

// list is the beginning of a list, for one line.
func list(names []string) string {
	if more := len(names) - mostLines; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostLines], ", "), more)
	}
	return strings.Join(names, ", ")
}

var version = expr(`^[\s^~>=<v"'!(]*(\d+(?:\.\d+)*)["']?(?:[-+.][\w.]+)?(?:[ ,<]+[\d.<>= ]+)?["']?$`)

// older says whether a version is lower than another. What is no plain version is not.
func older(is, was string) bool {
	a, b := version().FindStringSubmatch(is), version().FindStringSubmatch(was)
	if a == nil || b == nil {
		return false
	}
	return slices.CompareFunc(strings.Split(a[1], "."), strings.Split(b[1], "."), func(a, b string) int {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	}) < 0
}

// disagree tells of packages that a manifest has just begun to ask for, and that the lockfile beside it lacks. It says
// nothing unless both were read whole.
func (x *examination) disagree(c *change, asked map[string]req) {
	for _, r := range listings() {
		if r.Manifest != path.Base(c.path) {
			continue
		}
		for name := range strings.FieldsSeq(r.Locks) {
			lock := &change{path: path.Join(path.Dir(c.path), name)}
			if have, err := r.Read.all(x.blob(x.in.Tip + ":" + lock.path)); err == nil {
				x.lacks(lock, r.locked(have), have, asked)
			}
		}
	}
}

// lacks tells of what a lockfile has in another version than was asked for, or not at all.
func (x *examination) lacks(lock *change, known map[string]bool, have leaves, asked map[string]req) {
	var missing []string
	for _, n := range slices.Sorted(maps.Keys(asked)) {
		p := asked[n]
		if made, ok := have["packages//"+p.at]; ok && made != p.version {
			x.tell(lock, depsOf, Medium, line{text: fmt.Sprintf("%s %s, not %s", n, made, p.version)},
				"the lockfile was made for another version")
		}
		if p.from == "" && !known[normal(n)] && p.version != inside && n != "php" && !strings.HasPrefix(n, "ext-") {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		x.tell(lock, depsOf, Medium, line{text: list(missing)}, "the lockfile lacks what is asked for")
	}
}

// locked are the names in a lockfile.
func (r *listing) locked(have leaves) map[string]bool {
	known := map[string]bool{}
	for at, value := range have {
		for s := range strings.FieldsSeq(r.Names) {
			if !keyMatch(s, at) {
				continue
			}
			name := strings.Split(at, "/")[1]
			if strings.HasSuffix(s, "/name") {
				name = value
			}
			parts := strings.Split(unescaped(name), "node_modules/")
			known[normal(parts[len(parts)-1])] = true
		}
	}
	return known
}

// normal is a package's name without what its tools ignore.
func normal(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

// nearPopular is the popular name that a name is one letter from: one more, one less, another, or two the other way
// round.
func nearPopular(registry, name string) string {
	if name = strings.ToLower(name); registry == "pypi" {
		name = normal(name)
	}
	if registry == "" || len(name) < 5 || len(name) > 100 || inList(registry, name) {
		return ""
	}
	for known := range strings.FieldsSeq(listed(registry)) {
		if len(known) >= 5 && oneApart(known, name) {
			return known
		}
	}
	return ""
}

func oneApart(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	for a != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(b) == 1 || len(a) == 2 && a[0] == b[1] && a[1] == b[0]
}

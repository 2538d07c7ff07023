package gate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pkg is a package as a manifest or a lockfile names it.
type pkg struct {
	name, version string
	from          string // where it comes from, if not from the usual place
	sum           string
	scripts       bool // it runs something at install
	no            int
}

// requirement takes a package out of a leaf of a manifest.
func requirement(l leaf) pkg {
	key := strings.TrimPrefix(l.key, plainDependency)
	if strings.HasSuffix(key, "/[]") { // a list: the name is in the value
		name, version := splitRequirement(l.value)
		return pkg{name: name, version: version, from: elsewhere(l.value), no: l.no}
	}
	parts := strings.Split(key, "/")
	i := slices.IndexFunc(parts, func(p string) bool {
		return strings.HasSuffix(strings.ToLower(p), "dependencies") || p == "require" || p == "require-dev" || p == "imports"
	})
	name := parts[len(parts)-1]
	if !strings.HasPrefix(l.key, plainDependency) && i >= 0 && i+1 < len(parts) {
		name = parts[i+1]
		if strings.HasPrefix(name, "@") && i+2 < len(parts) {
			name += "/" + parts[i+2]
		}
		if i+2 < len(parts) && !strings.HasPrefix(parts[i+1], "@") { // [dependencies.name] version = "1"
			switch parts[len(parts)-1] {
			case "version":
			case "git", "path", "url", "registry", "branch", "rev", "tag":
				return pkg{name: name, from: l.value, no: l.no}
			default:
				return pkg{name: name, no: l.no}
			}
		}
	}
	if strings.HasPrefix(l.key, plainDependency) {
		name = key
	}
	return pkg{name: name, version: l.value, from: elsewhere(l.value), no: l.no}
}

// splitRequirement reads "name[extra]>=1.0 ; marker".
func splitRequirement(s string) (name, version string) {
	i := strings.IndexAny(s, "[<>=!~; @(")
	if i < 0 {
		return s, ""
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i:])
}

// elsewhere is the source in a version, if it is no plain version.
func elsewhere(version string) string {
	for _, mark := range []string{"://", "git+", "git@", "github:", "gitlab:", "bitbucket:", "gist:", "file:", "link:",
		"portal:", "git =", "path =",
		"url =", "registry =", "npm:", "patch:", "@ file", "git:", "path:"} {
		if strings.Contains(version, mark) {
			return version
		}
	}
	return ""
}

// byName joins what is said of one package in several places.
func byName(list []pkg) map[string]pkg {
	all := map[string]pkg{}
	for _, p := range list {
		if p.name == "" || p.name == "python" {
			continue
		}
		was, ok := all[p.name]
		if !ok {
			all[p.name] = p
			continue
		}
		if p.version != "" && was.version != p.version {
			was.version = strings.TrimPrefix(was.version+" "+p.version, " ")
		}
		if p.from != "" {
			was.from = p.from
		}
		if p.sum != "" && was.sum != p.sum {
			was.sum += p.sum
		}
		was.scripts = was.scripts || p.scripts
		all[p.name] = was
	}
	return all
}

// packages compares what two versions of a manifest ask for.
func (x *examination) packages(c *change, before, now []leaf) {
	var olds, news []pkg
	for _, l := range before {
		olds = append(olds, requirement(l))
	}
	for _, l := range now {
		news = append(news, requirement(l))
	}
	x.comparePackages(c, byName(olds), byName(news), false)
	if x.asked == nil {
		x.asked = map[*change]map[string]pkg{}
	}
	x.asked[c] = byName(news)
}

// comparePackages tells what is new, gone and changed. Of a lockfile all that is new is told at once.
func (x *examination) comparePackages(c *change, was, is map[string]pkg, lock bool) {
	var added, removed, updated []string
	for _, name := range sortedNames(is) {
		p := is[name]
		old, had := was[name]
		f := Finding{Kind: "dependencies", Path: c.path, Line: p.no}
		switch {
		case !had && p.from != "" && !lock:
			f.Danger, f.Says, f.Text = Medium, "a new package that comes from elsewhere", show("+", name+" "+p.from)
			x.add(f)
		case !had:
			added = append(added, name)
		case old.from != p.from && p.from != "" && !lock:
			f.Danger, f.Says, f.Text = High, "a package comes from elsewhere now", show("+", name+" "+p.from)
			x.add(f)
		case older(p.version, old.version):
			f.Danger, f.Says = Medium, "a version goes back"
			f.Text = show("+", fmt.Sprintf("%s %s, was %s", name, p.version, old.version))
			x.add(f)
		case old.version != p.version:
			updated = append(updated, fmt.Sprintf("%s %s, was %s", name, p.version, old.version))
		case old.sum != p.sum && old.sum != "" && lock && !strings.Contains(p.sum, old.sum) && !strings.Contains(old.sum,
			p.sum):
			f.Danger, f.Says, f.Text = High, "the same version has another content", show("+", name+" "+p.version)
			x.add(f)
		}
		if p.scripts && !old.scripts {
			x.add(Finding{Kind: "install", Path: c.path, Line: p.no, Says: "a package runs a script at install",
				Text: show("+", name)})
		}
	}
	for _, name := range sortedNames(was) {
		if _, ok := is[name]; !ok {
			removed = append(removed, name)
		}
	}
	for _, s := range []struct {
		names []string
		one   string
		sign  string
	}{{added, "new", "+"}, {updated, "changed", "+"}, {removed, "removed", "-"}} {
		if n := len(s.names); n > 0 {
			first, _, _ := strings.Cut(s.names[0], " ")
			x.add(Finding{Kind: "dependencies", Path: c.path, Line: is[first].no, Count: n,
				Says: number(n, "package", "packages") + " " + s.one,
				Text: show(s.sign, list(s.names))})
		}
	}
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// list is the beginning of a list, for one line.
func list(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func sortedNames(m map[string]pkg) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// older says whether a version is lower than another, number by number. What is no version is not older.
func older(is, was string) bool {
	a, b := numbers(is), numbers(was)
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	return slices.Compare(a, b) < 0
}

// numbers takes the first version out of a text: "^1.2.3", ">=1.2,<2", "v0.17.0", `{ version = "1", features = [] }`.
func numbers(s string) (all []int) {
	if strings.Contains(s, "://") || strings.Contains(s, " ") && !strings.ContainsAny(s, "=<>\"") {
		return nil
	}
	if _, v, ok := strings.Cut(s, "version"); ok {
		s = v
	}
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return nil
	}
	s = s[i:]
	if end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		s = s[:end]
	}
	for _, part := range strings.Split(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}

// eachLine reads packages from lines with an expression whose first group is a name, and its second a version.
func eachLine(text, expr string) (leaves []leaf) {
	re := regexp.MustCompile(expr)
	no := 0
	for l := range strings.Lines(text) {
		no++
		if len(leaves) == maxLeaves {
			break
		}
		for _, m := range re.FindAllStringSubmatch(strings.TrimRight(l, "\r\n"), 4) {
			leaves = append(leaves, leaf{plainDependency + m[1], strings.TrimSpace(m[2]), no})
		}
	}
	return leaves
}

func flattenGoMod(text string) []leaf {
	return eachLine(text, `^\s*(?:require\s+)?([\w.~-]+\.[\w.~-]+(?:/[\w.~/-]*)?)\s+(v\d\S*)(?:\s*//.*)?$`)
}

func flattenRequirements(text string) []leaf {
	var out []leaf
	for _, l := range eachLine(text, `^\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*([<>=!~@;].*|)\s*(?:#.*)?$`) {
		l.value, _, _ = strings.Cut(l.value, " #")
		out = append(out, l)
	}
	return out
}

func flattenGemfile(text string) []leaf {
	return eachLine(text, `^\s*gem\s*\(?\s*["']([^"']+)["'](.*)$`)
}

func flattenGradle(text string) []leaf {
	return eachLine(text, `(?:[iI]mplementation|api|compileOnly|runtimeOnly|[cC]lasspath|annotationProcessor|kapt|ksp|`+
		`module)\s*[( =]*["']([\w.-]+:[\w.-]+):?([^"']*)["']`)
}

func flattenNuGet(text string) []leaf {
	return eachLine(text, `(?i)<(?:PackageReference|PackageVersion|package)\s+(?:Include|Update|id)="([^"]+)"(.*)`)
}

func flattenYAMLDeps(text string) (out []leaf) {
	on, no := false, 0
	re := regexp.MustCompile(`^\s+(?:-\s*)?(?:name:\s*)?([\w.-]+)\s*[:=]*\s*(.*)$`)
	for l := range strings.Lines(text) {
		no++
		l = strings.TrimRight(l, "\r\n")
		if l != "" && l[0] != ' ' && l[0] != '#' && l[0] != '-' {
			on = strings.Contains(strings.ToLower(l), "dependencies")
			continue
		}
		if m := re.FindStringSubmatch(l); on && m != nil {
			out = append(out, leaf{plainDependency + m[1], m[2], no})
		}
	}
	return out
}

func flattenMix(text string) []leaf {
	return eachLine(text, `\{:(\w+),\s*(.*)\}`)
}

// flattenPOM reads groups and artifacts, which may be on lines of their own.
func flattenPOM(text string) (out []leaf) {
	re := regexp.MustCompile(`(?s)<dependency>(.*?)</dependency>`)
	tag := func(s, name string) string {
		_, rest, ok := strings.Cut(s, "<"+name+">")
		v, _, end := strings.Cut(rest, "</"+name+">")
		if !ok || !end {
			return ""
		}
		return strings.TrimSpace(v)
	}
	no, at := 1, 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		no, at = no+strings.Count(text[at:m[0]], "\n"), m[0]
		body := text[m[2]:m[3]]
		name := tag(body, "groupId") + ":" + tag(body, "artifactId")
		out = append(out, leaf{plainDependency + name, tag(body, "version"), no})
	}
	return out
}

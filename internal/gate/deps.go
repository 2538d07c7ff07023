package gate

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// listRow is a file that names packages: a lockfile, or a manifest that is code. Its names are found in lines.
type listRow struct {
	at       string
	name     string // an expression whose first group that is there is a name
	registry string // where popular names are known
	lock     bool
	hashes   bool   // it can hold sums
	tidied   bool   // what goes says nothing
	forges   bool   // packages come from repositories as a rule
	manifest string // beside it, if both can be read whole
	read     reader
	names    string // keys of the lockfile that are a name, or whose value is
}

var listRows = [...]listRow{
	{at: "package-lock.json npm-shrinkwrap.json", lock: true,
		name: `registry\.(?:npmjs\.org|yarnpkg\.com)/((?:@[\w.-]+/)?[\w.-]+)/-/|` +
			`"(?:[^"]*/)?node_modules/((?:@[\w.-]+/)?[\w.-]+)": \{`,
		registry: "npm", manifest: "package.json", read: readJSON,
		names: "packages/*/version packages/*/link dependencies/*/version"},
	{at: "yarn.lock", name: `^"?((?:@[\w.-]+/)?[\w.-]+)@[^:].*:$`, lock: true, registry: "npm"},
	{at: "pnpm-lock.yaml", name: `^  ['"]?/?((?:@[\w.-]+/)?[\w.-]+)[@/]\d[^:]*['"]?:`, lock: true, registry: "npm"},
	{at: "bun.lock", name: `^\s*"((?:@[\w.-]+/)?[\w.-]+)": \["`, lock: true, registry: "npm"},
	{at: "bun.lockb", lock: true},
	{at: "go.sum go.work.sum", name: `^(\S+) v\S+ h1:`, lock: true, tidied: true, registry: "go"},
	{at: "vendor/modules.txt", name: `^# (\S+) v`, lock: true, registry: "go"},
	{at: "cargo.lock", name: `^name = "([^"]+)"`, lock: true, registry: "crates", manifest: "Cargo.toml", read: readTOML,
		names: "package/*/name"},
	{at: "poetry.lock uv.lock pdm.lock", name: `^name = "([^"]+)"`, lock: true, registry: "pypi",
		manifest: "pyproject.toml",
		read:     readTOML, names: "package/*/name"},
	{at: "pipfile.lock", name: `^        "([\w.-]+)": \{`, lock: true, registry: "pypi", manifest: "Pipfile.",
		read:  readJSON,
		names: "default/*/** develop/*/**"},
	{at: "composer.lock", name: `"name": "([\w.-]+/[\w.-]+)"`, lock: true, forges: true, manifest: "composer.json",
		read: readJSON, names: "packages/*/name packages-dev/*/name"},
	{at: "gemfile.lock *.gemfile.lock gems.locked", name: `^    ([\w.-]+) \(`, lock: true, registry: "rubygems"},
	{at: "mix.lock", name: `^\s*"(\w+)": \{:`, lock: true}, {at: "pubspec.lock", name: `^  (\w+):$`, lock: true},
	{at: "podfile.lock", name: `^  - "?([\w/+.-]+) \(`, lock: true, forges: true},
	{at: "package.resolved", name: `"identity"\s*:\s*"([^"]+)"`, lock: true, forges: true},
	{at: "gradle.lockfile *.lockfile", name: `^([\w.-]+:[\w.-]+):`, lock: true},
	{at: "packages.lock.json", name: `^      "([\w.]+)": \{`, lock: true},
	{at: "deno.lock", name: `"(?:npm:|jsr:)?(@?[\w./-]+)@[\d.]+[^"]*": \{`, lock: true, registry: "npm"},
	{at: ".terraform.lock.hcl", name: `^provider "([^"]+)"`, lock: true},
	{at: "cartfile cartfile.resolved", name: `^\w+ "([^"]+)"`, lock: true, forges: true},
	{at: "flake.lock", name: `"owner":\s*"([^"]+)"`, lock: true},
	{at: "conan.lock pixi.lock chart.lock paket.lock manifest.toml cabal.project.freeze stack.yaml.lock shard.lock",
		lock: true, forges: true},
	{at: "requirements*.txt *requirements.txt requirements/*.txt", hashes: true},
	{at: "*.gradle *.gradle.kts", name: `(?:[iI]mplementation|[aA]pi|compileOnly|runtimeOnly|[cC]lasspath|` +
		`annotationProcessor|kapt|ksp)\s*[( ]+\(?["']([\w.-]+:[\w.-]+)[:"']|\bid\s*\(?["']([\w.-]+)["']`},
	{at: "gradle/*.toml", name: `(?:module|id)\s*=\s*"([^"]+)"|^\s*[\w-]+\s*=\s*"([\w.-]+:[\w.-]+):`},
	{at: "pom.xml", name: `<artifactId>([\w.-]+)</artifactId>`},
	{at: "*.csproj *.fsproj *.vbproj directory.packages.props packages.config",
		name: `(?i)<(?:PackageReference|PackageVersion|package)\s+(?:Include|Update|id)="([^"]+)"`},
	{at: "mix.exs", name: `\{:(\w+),\s*["~>\w]`}, {at: "package.swift", name: `\.package\(.*?url:\s*"([^"]+)"`,
		forges: true},
	{at: "*.gemspec", name: `add_(?:runtime_|development_)?dependency[\s(]+["']([\w.-]+)["']`, registry: "rubygems"},
	{at: "*.sbt build.sc project/*.scala", name: `"([\w.-]+)"\s*%%?%?\s*"`}, {at: "podfile",
		name: `\bpod\s+["']([^"']+)["']`},
	{at: "*.cabal", name: `^\s*,?\s*([a-z][a-z0-9-]+)\s*[><=^]`}, {at: "chart.yaml", name: `^\s*-\s*name:\s*(\S+)`},
	{at: "setup.py", name: `^\s*["']([A-Za-z][\w.-]*)\s*(?:\[[\w,]*\])?\s*[<>=~!]=?`, registry: "pypi"},
	{at: "paket.dependencies", name: `^\s*nuget\s+(\S+)`}, {at: "conanfile.txt conanfile.py",
		name: `["']?([a-z][\w.-]+)/[\d.]+`},
	{at: "cpanfile makefile.pl build.pl", name: `requires\s+["']([\w:]+)["']|["']([\w:]+::\w+)["']\s*=>`},
	{at: "rebar.config", name: `^\s*\{(\w+),\s*["{]`}, {at: "deps.edn project.clj", name: `([\w.-]+/[\w.-]+)\s+[{"]`},
	{at: "shard.yml", name: `^  ([\w.-]+):$`}, {at: "*.nimble", name: `requires\s+"(\w+)`},
}

// namesOf is how packages are named in a file; nil if they are not.
func namesOf(p string) *listRow {
	p = fold(p)
	for i := range listRows {
		if within(p, listRows[i].at) {
			return &listRows[i]
		}
	}
	return nil
}

var (
	urlSource = expr(`(?:git\+)?(?:https?|ssh|git|ftp|file)://[^\s"'<>#?,)]+|git@[\w.-]+:[\w./-]+|` +
		`\b(?:file|link|portal):\.{0,2}/[^\s"',]*`)
	checksum    = expr(`(?:sha\d+[-:=]|h1:|md5[-:=])?[A-Za-z0-9+/]{26,}={0,2}|[0-9a-f]{32,}`)
	runsAtSetUp = expr(`"hasInstallScript"\s*:\s*true|^\s*requiresBuild: true`)
	registries  = expr(`^(?:registry\.npmjs\.org|registry\.yarnpkg\.com|pypi\.org|files\.pythonhosted\.org|` +
		`rubygems\.org|` +
		`crates\.io|repo1?\.maven\.(?:apache\.)?org|api\.nuget\.org)$`)
	usualSources = expr(`^(?:registry\.npmjs\.org|registry\.yarnpkg\.com|pypi\.org|files\.pythonhosted\.org|` +
		`(?:index\.|static\.)?crates\.io|rubygems\.org|(?:repo\.)?packagist\.org|npm\.jsr\.io|jsr\.io|deno\.land|esm\.sh|` +
		`repo1?\.maven\.(?:apache\.)?org|plugins\.gradle\.org|services\.gradle\.org|api\.nuget\.org|proxy\.golang\.org|` +
		`hex\.pm|repo\.hex\.pm|pub\.dev|registry\.terraform\.io|github\.com/rust-lang/crates\.io-index|www\.w3\.org.*|` +
		`maven\.apache\.org.*|schemas\.microsoft\.com.*|opencollective\.com.*|tidelift\.com.*|feross\.org.*|` +
		`dl\.google\.com|` +
		`getcomposer\.org.*|json\.schemastore\.org.*|conda\.anaconda\.org|(?:www\.)?patreon\.com.*|paypal\.me.*)$`)
	forge = expr(`^(?:github\.com|codeload\.github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|git\.sr\.ht|` +
		`api\.github\.com|raw\.githubusercontent\.com|gist\.github\.com)$`)
)

// sources are the places that a line names packages from: hosts, and on a forge its repositories.
func sources(line string, forges bool) (all []string) {
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
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = host[at+1:]
		}
		switch {
		case forge().MatchString(host) && forges:
			continue
		case strings.HasPrefix(s, "http://") && registries().MatchString(host):
			host = "http://" + host
		case forge().MatchString(host):
			host = strings.TrimSuffix(strings.Join(parts[:min(3, len(parts))], "/"), ".git")
		}
		if !usualSources().MatchString(host) {
			all = append(all, host)
		}
	}
	return all
}

// lists looks at lockfiles and at manifests that are code: by what is named in lines that came and went.
func (x *examination) lists() error {
	for _, c := range x.changes {
		r := namesOf(c.path)
		if r == nil || c.isLink() || within(fold(c.path), fixtures) {
			continue
		}
		if r.lock && c.gone() {
			x.add(Finding{Kind: depsOf, Danger: Medium, Path: c.path,
				Says: "the lockfile was removed: versions are free to change"})
			continue
		}
		if err := x.newSources(c, r); err != nil {
			return err
		}
		if r.lock || r.hashes {
			x.sameVersion(c)
		}
		broken := false
		if r.lock && r.read != nil && strings.HasSuffix(fold(c.path), ".json") {
			text, err := x.blob(c.isOID)
			if err != nil {
				return err
			}
			broken = !json.Valid([]byte(text))
		}
		x.redirected(c)
		if r.lock && (c.cut || c.binary || broken) {
			x.add(Finding{Kind: depsOf, Danger: Medium, Path: c.path,
				Says: "the lockfile has changed in a way that is not looked at"})
		}
		if r.name == "" {
			continue
		}
		re := x.re(r.name)
		was, is := named(re, c.removed), named(re, c.added)
		if r.tidied {
			was = map[string]req{}
			if !c.fresh() {
				old, err := x.blob(c.wasOID)
				if err != nil {
					return err
				}
				for name := range is {
					if strings.Contains(old, name+" ") {
						delete(is, name)
					}
				}
			}
		}
		x.compare(c, was, is, r.registry)
	}
	return nil
}

// newSources tells of sources that a file did not name before.
func (x *examination) newSources(c *change, r *listRow) error {
	var fresh []string
	var at line
	for _, l := range c.added {
		for _, s := range sources(l.text, r.forges) {
			if !slices.Contains(fresh, s) {
				if fresh = append(fresh, s); len(fresh) == 1 {
					at = l
				}
			}
		}
	}
	if len(fresh) > 0 && !c.fresh() {
		old, err := x.blob(c.wasOID)
		if err != nil {
			return err
		}
		fresh = slices.DeleteFunc(fresh, func(s string) bool { return strings.Contains(old, s) })
	}
	if len(fresh) > 0 {
		x.add(Finding{Kind: "packages", Danger: High, Path: c.path, Line: at.no, Count: len(fresh),
			Says: "packages come from a place that they did not come from before", Text: show("+", list(fresh))})
	}
	n := 0
	for _, l := range c.added {
		if runsAtSetUp().MatchString(l.text) {
			at = l
			n++
		}
	}
	for _, l := range c.removed {
		if runsAtSetUp().MatchString(l.text) {
			n--
		}
	}
	if n > 0 {
		x.add(Finding{Kind: "install", Path: c.path, Line: at.no, Count: n, Says: "a package runs a script at install",
			Text: show("+", at.text)})
	}
	return nil
}

// redirected tells of a repository that took another's place.
func (x *examination) redirected(c *change) {
	was := map[int][]string{}
	for _, l := range c.removed {
		was[l.hunk] = append(was[l.hunk], sources(l.text, false)...)
	}
	for _, l := range c.added {
		for _, s := range sources(l.text, false) {
			if old := was[l.hunk]; len(old) == 1 && old[0] != s && strings.Contains(s, "/") &&
				path.Base(old[0]) == path.Base(s) {
				x.add(Finding{Kind: "packages", Danger: High, Path: c.path, Line: l.no, Text: show("+", l.text),
					Says: "a package comes from another repository, was: " + old[0]})
				return
			}
		}
	}
}

// sameVersion tells of sums that have changed where nothing else has.
func (x *examination) sameVersion(c *change) {
	type side struct{ was, is []line }
	hunks := map[int]*side{}
	for _, l := range c.removed {
		if hunks[l.hunk] == nil {
			hunks[l.hunk] = &side{}
		}
		hunks[l.hunk].was = append(hunks[l.hunk].was, l)
	}
	for _, l := range c.added {
		if h := hunks[l.hunk]; h != nil {
			h.is = append(h.is, l)
		}
	}
	bare := func(lines []line) (all []string) {
		for _, l := range lines {
			all = append(all, checksum().ReplaceAllString(l.text, "#"))
		}
		return all
	}
	for n := range c.hunk + 1 {
		h := hunks[n]
		if h == nil || len(h.was) != len(h.is) || !slices.Equal(bare(h.was), bare(h.is)) ||
			!checksum().MatchString(h.is[0].text) || slices.ContainsFunc(c.added, func(l line) bool {
			return l.hunk != n && l.no > h.is[0].no-8 && l.no < h.is[0].no+8 // it belongs to another version
		}) {
			continue
		}
		x.add(Finding{Kind: depsOf, Danger: High, Path: c.path, Line: h.is[0].no, Text: show("+", h.is[0].text),
			Says: "the same version has another content"})
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

func named(re *regexp.Regexp, lines []line) map[string]req {
	all := map[string]req{}
	for _, l := range lines {
		if m := re.FindStringSubmatch(l.text); m != nil {
			i := slices.IndexFunc(m[1:], func(s string) bool { return s != "" })
			if i >= 0 {
				all[m[i+1]] = req{no: l.no}
			}
		}
	}
	return all
}

// elsewhere says that a version is none, but a place to take the package from.
var elsewhere = expr(`://|git\+|git@|^(?:github|gitlab|bitbucket|gist|file|link|portal|npm|patch|git|path|http):|` +
	`@ file|\s@\s|^[\w-]+/[\w.-]+(?:#.*)?$|:git\b|:path\b|\b(?:git|path|github):`)

var (
	container = expr(`(?i)dependencies$|^require(?:-dev)?$|^(?:dev-)?packages$|^(?:gem|name|imports|catalog|` +
		`overrides|resolutions|dependency_overrides|replace|provide|conflict)$`)
	leadingName = expr(`^\s*([A-Za-z0-9@][\w./@-]*?)\s*(?:\[[^\]]*\])?\s*([<>=!~^;( @].*)?$`)
)

// requirements are the packages that the values of a manifest ask for.
func requirements(keys []string, from leaves, no func(string) int) map[string]req {
	all := map[string]req{}
	at := ""
	add := func(name string, r req) {
		if name = unescaped(name); name == "" || name == "python" {
			return
		}
		r.version, r.from, r.at = cmp.Or(r.version, all[name].version), cmp.Or(r.from, all[name].from), at
		if elsewhere().MatchString(r.version) {
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
					add(m[1], req{version: strings.TrimSpace(m[2]), no: no(at)})
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
		r := req{version: value, no: no(at)}
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
	return all
}

// registryOf is where the packages of a manifest are known by their names.
func registryOf(p string) string {
	for s, r := range map[string]string{"package.json": "npm", "pnpm-workspace.yaml": "npm", "deno.json": "npm",
		"cargo.toml": "crates", "gemfile": "rubygems", "gems.rb": "rubygems", "go.mod": "go", "composer.json": "-"} {
		if path.Base(p) == s {
			return r
		}
	}
	return "pypi"
}

// manifest compares what a manifest asks for.
func (x *examination) manifest(c *change, keys []string, was, is leaves) {
	if len(keys) == 0 {
		return
	}
	no := func(at string) int { return c.lineOf("+", at) }
	// All keys of a package that has changed count, so that what it was is known.
	old, now := requirements(keys, was, func(at string) int { return c.lineOf("-", at) }), requirements(keys, is, no)
	if len(old)+len(now) == 0 {
		x.add(Finding{Kind: depsOf, Path: c.path, Line: no(keys[0]), Says: "what is said of packages has changed",
			Text: show("+", keys[0])})
	}
	x.compare(c, old, now, registryOf(fold(c.path)))
	x.disagree(c, now)
}

// compare tells of packages that came, went and changed.
func (x *examination) compare(c *change, was, is map[string]req, registry string) {
	var came, other, went []string
	for _, name := range sorted(is) {
		p := is[name]
		old, had := was[name]
		f := Finding{Kind: depsOf, Path: c.path, Line: p.no}
		if near := nearPopular(registry, name); near != "" && !had {
			x.add(Finding{Kind: depsOf, Danger: High, Path: c.path, Line: p.no, Text: show("+", name),
				Says: "a package whose name is one letter from " + near})
		}
		switch {
		case strings.HasPrefix(p.version, inside):
		case p.from != "" && p.from != old.from:
			f.Danger, f.Says, f.Text = Medium, "a package comes from elsewhere", show("+", unescaped(p.at)+": "+p.from)
			if had {
				f.Danger, f.Says = High, "a package comes from elsewhere now"
			}
			x.add(f)
		case !had:
			came = append(came, name)
		case older(p.version, old.version):
			f.Danger, f.Says = Medium, "a version goes back"
			f.Text = show("+", fmt.Sprintf("%s %s, was %s", name, p.version, old.version))
			x.add(f)
		case old.version != p.version && version().FindString(p.version) == "":
			other = append(other, strings.TrimSpace(fmt.Sprintf("%s %s, was %s", name, p.version, old.version)))
		}
	}
	for _, name := range sorted(was) {
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
				Says: number(n, "package", "packages") + " " + s.one, Text: show(s.sign, list(s.names))})
		}
	}
}

func sorted(m map[string]req) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
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

var version = expr(`^[\s^~>=<v"'!(]*(\d+(?:\.\d+)*)["']?(?:[-+.][\w.]+)?(?:[ ,<]+[\d.<>= ]+)?["']?$`)

// older says whether a version is lower than another. What is no plain version is not.
func older(is, was string) bool {
	a, b := version().FindStringSubmatch(is), version().FindStringSubmatch(was)
	if a == nil || b == nil {
		return false
	}
	numbers := func(s string) (all []int) {
		for part := range strings.SplitSeq(s, ".") {
			n, _ := strconv.Atoi(part)
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(numbers(a[1]), numbers(b[1])) < 0
}

// disagree tells of packages that a manifest has just begun to ask for, and that the lockfile beside it lacks. It says
// nothing unless both were read whole.
func (x *examination) disagree(c *change, asked map[string]req) {
	for i := range listRows {
		r := &listRows[i]
		if r.read == nil || strings.TrimSuffix(fold(r.manifest), ".") != fold(path.Base(c.path)) {
			continue
		}
		for lock := range strings.FieldsSeq(r.at) {
			if i := strings.Index(r.manifest, "."); i > 0 && fold(r.manifest) != r.manifest { // as cargo spells it
				lock = r.manifest[:i] + path.Ext(lock)
			}
			name := path.Join(path.Dir(c.path), lock)
			o, err := x.object(x.in.Tip + ":" + name)
			if err != nil || o.Kind != "blob" || readable(string(o.Data)) != nil || strings.Contains(name, "\n") {
				continue
			}
			have, err := r.read(string(o.Data))
			if err != nil {
				continue
			}
			var missing []string
			known := r.locked(have)
			for _, n := range sorted(asked) {
				if made, ok := have["packages//"+asked[n].at]; ok && made != asked[n].version {
					x.add(Finding{Kind: depsOf, Danger: Medium, Path: name, Says: "the lockfile was made for another version",
						Text: show("", fmt.Sprintf("%s %s, not %s", n, made, asked[n].version))})
				}
				if p := asked[n]; p.from == "" && !known[normal(n)] && !strings.HasPrefix(p.version, inside) && n != "php" &&
					!strings.HasPrefix(n, "ext-") && n != "python" {
					missing = append(missing, n)
				}
			}
			if len(missing) > 0 {
				x.add(Finding{Kind: depsOf, Danger: Medium, Path: name, Count: len(missing),
					Says: "the lockfile lacks what " + path.Base(c.path) + " asks for", Text: show("", list(missing))})
			}
		}
	}
}

// locked are the names in a lockfile.
func (r *listRow) locked(have leaves) map[string]bool {
	known := map[string]bool{}
	for at, value := range have {
		for s := range strings.FieldsSeq(r.names) {
			if !keyMatch(s, at) {
				continue
			}
			name := strings.Split(at, "/")[1]
			if strings.HasSuffix(s, "/name") {
				name = value
			}
			name = strings.ReplaceAll(name, "~1", "/")
			if i := strings.LastIndex(name, "node_modules/"); i >= 0 {
				name = name[i+len("node_modules/"):]
			}
			known[normal(name)] = true
		}
	}
	return known
}

// normal is a package's name without what its tools ignore.
func normal(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

//go:embed popular.txt
var popularNames string

// popular are names that many use, by registry.
var popular = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(popularNames) {
		registry, names, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		all[registry] = map[string]bool{}
		for name := range strings.FieldsSeq(names) {
			all[registry][name] = true
		}
	}
	return all
})

// nearPopular is the popular name that a name is one letter from: one more, one less, another, or two the other way
// round.
func nearPopular(registry, name string) string {
	known := popular()[registry]
	if name = strings.ToLower(name); registry == "pypi" {
		name = strings.NewReplacer("_", "-", ".", "-").Replace(name)
	}
	if known == nil || known[name] || len(name) < 5 || len(name) > 100 {
		return ""
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	try := func(s string) bool { return known[s] && len(s) >= 5 }
	for i := range len(name) + 1 {
		head, tail := name[:i], name[i:]
		if tail != "" && try(head+tail[1:]) {
			return head + tail[1:]
		}
		if len(tail) > 1 && try(head+tail[1:2]+tail[:1]+tail[2:]) {
			return head + tail[1:2] + tail[:1] + tail[2:]
		}
		for _, l := range letters {
			if try(head + string(l) + tail) {
				return head + string(l) + tail
			}
			if tail != "" && try(head+string(l)+tail[1:]) {
				return head + string(l) + tail[1:]
			}
		}
	}
	return ""
}

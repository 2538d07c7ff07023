package gate

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// lockRow is a lockfile: how it is read, and which manifest beside it says what is wanted.
type lockRow struct {
	name, manifest string
	read           func(text string) []pkg
}

// lockRows is every lockfile that is read.
func lockRows() []lockRow {
	return []lockRow{
		{"package-lock.json", "package.json", lockNPM}, {"npm-shrinkwrap.json", "package.json", lockNPM},
		{"yarn.lock", "package.json", lockYarn}, {"pnpm-lock.yaml", "package.json", lockPnpm},
		{"bun.lock", "package.json", lockBun}, {"go.sum", "go.mod", lockGoSum}, {"cargo.lock", "cargo.toml", lockTOML},
		{"poetry.lock", "pyproject.toml", lockTOML}, {"uv.lock", "pyproject.toml", lockTOML}, {"pdm.lock",
			"pyproject.toml", lockTOML},
		{"pipfile.lock", "pipfile", lockJSON}, {"composer.lock", "composer.json", lockComposer}, {"gemfile.lock",
			"gemfile", lockGem},
		{"deno.lock", "", lockJSON}, {"packages.lock.json", "", lockJSON}, {"mix.lock", "", lockLines}, {"pubspec.lock",
			"", lockLines},
		{"podfile.lock", "", lockLines}, {"package.resolved", "", lockLines}, {"gradle.lockfile", "", lockLines},
		{"vendor/modules.txt", "", lockLines},
		{"flake.lock", "", lockJSON}, {"conan.lock", "", lockJSON}, {"pixi.lock", "", lockLines}, {"go.work.sum", "",
			lockGoSum},
		{"bun.lockb", "", lockLines}, {".terraform.lock.hcl", "", lockLines}, {"cartfile.resolved", "", lockLines},
		{"chart.lock", "", lockLines},
	}
}

func lockOf(name string) func(string) []pkg {
	for _, r := range lockRows() {
		if path.Base(r.name) == name {
			return r.read
		}
	}
	return nil
}

// lockfile compares two versions of a lockfile.
func (x *examination) lockfile(c *change, was, is []pkg) {
	had := hosts(was)
	if len(had) == 0 {
		had = usualHosts()
	}
	var strange []string
	at := 0
	for _, p := range is {
		if h := host(p.from); h != "" && !slices.Contains(had, h) && !slices.Contains(strange, h) {
			strange = append(strange, h)
			at = p.no
		}
	}
	if len(strange) > 0 {
		x.add(Finding{Kind: "packages", Danger: High, Path: c.path, Line: at, Count: len(strange),
			Says: "packages come from a host that they did not come from before", Text: show("+", list(strange))})
	}
	x.comparePackages(c, byName(was), byName(is), true)
	if x.locked == nil {
		x.locked = map[string]map[string]pkg{}
	}
	x.locked[c.path] = byName(is)
}

func hosts(list []pkg) (all []string) {
	for _, p := range list {
		if h := host(p.from); h != "" && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

// usualHosts are where packages come from if nobody says otherwise.
func usualHosts() []string {
	return []string{"registry.npmjs.org", "registry.yarnpkg.com", "github.com", "codeload.github.com", "pypi.org",
		"files.pythonhosted.org",
		"crates.io", "index.crates.io", "static.crates.io", "rubygems.org", "packagist.org", "api.github.com",
		"npm.jsr.io", "jsr.io", "deno.land",
		"esm.sh", "repo.maven.apache.org"}
}

func host(from string) string {
	i := strings.Index(from, "://")
	if i < 0 {
		return ""
	}
	start := strings.LastIndexAny(from[:i], "+ \"'(") + 1
	u, err := url.Parse(strings.Trim(from[start:], "\"' )"))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

func lockNPM(text string) (all []pkg) {
	now := map[string]*pkg{}
	var order []string
	for _, l := range flattenJSON(text) {
		at := strings.LastIndexByte(l.key, '/')
		owner, field := l.key[:max(0, at)], l.key[at+1:]
		switch field {
		case "version", "resolved", "integrity", "hasInstallScript":
		default:
			continue
		}
		name := owner
		if i := strings.LastIndex(owner, "node_modules/"); i >= 0 {
			name = owner[i+len("node_modules/"):]
		} else if i := strings.LastIndex(owner, "dependencies/"); i >= 0 {
			name = owner[i+len("dependencies/"):]
		} else if owner == "packages/" || owner == "packages" {
			continue
		}
		p := now[owner]
		if p == nil {
			p = &pkg{name: name, no: l.no}
			now[owner], order = p, append(order, owner)
		}
		switch field {
		case "version":
			p.version = l.value
		case "resolved":
			p.from = l.value
		case "integrity":
			p.sum = l.value
		case "hasInstallScript":
			p.scripts = l.value == "true"
		}
	}
	for _, o := range order {
		all = append(all, *now[o])
	}
	return all
}

// blocks reads files in which a line of its own begins a package, and indented ones say more of it.
func blocks(text string, head func(string) (name, version string, ok bool), field func(p *pkg,
	line string)) (all []pkg) {
	no := 0
	for l := range strings.Lines(text) {
		no++
		l = strings.TrimRight(l, "\r\n")
		if name, version, ok := head(l); ok {
			if len(all) == maxLeaves {
				return all
			}
			all = append(all, pkg{name: name, version: version, no: no})
		} else if len(all) > 0 {
			field(&all[len(all)-1], strings.TrimSpace(l))
		}
	}
	return all
}

func lockYarn(text string) []pkg {
	return blocks(text, func(l string) (string, string, bool) {
		if l == "" || l[0] == ' ' || l[0] == '#' || !strings.HasSuffix(l, ":") || l == "__metadata:" {
			return "", "", false
		}
		first, _, _ := strings.Cut(strings.Trim(strings.TrimSuffix(l, ":"), `"`), ",")
		if at := strings.LastIndexByte(first, '@'); at > 0 {
			first = first[:at]
		}
		if at := strings.Index(first, "@npm:"); at > 0 {
			first = first[:at]
		}
		return strings.Trim(first, `"`), "", true
	}, func(p *pkg, l string) {
		key, value, _ := strings.Cut(l, " ")
		value = strings.Trim(value, `" `)
		switch strings.TrimSuffix(key, ":") {
		case "version":
			p.version = value
		case "resolved", "resolution":
			p.from, p.sum, _ = strings.Cut(value, "#")
		case "integrity", "checksum":
			p.sum = value
		}
	})
}

func lockPnpm(text string) []pkg {
	re := regexp.MustCompile(`^  ['"]?/?((?:@[\w.-]+/)?[\w.-]+)[@/]([^:('"]+)[^:]*['"]?:(?:\s*\{\})?$`)
	return blocks(text, func(l string) (string, string, bool) {
		m := re.FindStringSubmatch(l)
		if m == nil {
			return "", "", false
		}
		return m[1], m[2], true
	}, func(p *pkg, l string) {
		if _, v, ok := strings.Cut(l, "integrity: "); ok {
			p.sum = strings.Trim(v, "{} ,")
		}
		if _, v, ok := strings.Cut(l, "tarball: "); ok {
			p.from = strings.Trim(v, "{} ,")
		}
		p.scripts = p.scripts || l == "requiresBuild: true"
	})
}

func lockBun(text string) (all []pkg) {
	for _, l := range flattenJSON(text) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(l.key, "/[]"), "packages/"); ok && strings.HasSuffix(l.key,
			"/[]") {
			at := strings.LastIndexByte(l.value, '@')
			if at > 0 {
				all = append(all, pkg{name: name, version: l.value[at+1:], no: l.no})
			} else if strings.HasPrefix(l.value, "sha") && len(all) > 0 {
				all[len(all)-1].sum = l.value
			} else if strings.Contains(l.value, "://") && len(all) > 0 {
				all[len(all)-1].from = l.value
			}
		}
	}
	return all
}

func lockGoSum(text string) (all []pkg) {
	no := 0
	for l := range strings.Lines(text) {
		no++
		if f := strings.Fields(l); len(f) == 3 && len(all) < maxLeaves {
			all = append(all, pkg{name: f[0] + " " + f[1], sum: f[2], no: no})
		}
	}
	return all
}

// lockTOML reads lists of packages: cargo's, poetry's, uv's.
func lockTOML(text string) []pkg {
	all := blocks(text, func(l string) (string, string, bool) { return "", "", l == "[[package]]" }, func(p *pkg,
		l string) {
		key, value, ok := strings.Cut(l, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.TrimSpace(key) {
		case "name":
			p.name = value
		case "version":
			p.version = value
		case "source", "url":
			p.from = value
		case "checksum":
			p.sum = value
		default:
			if ok && strings.Contains(l, "sha256:") {
				p.sum += value
			}
		}
	})
	return slices.DeleteFunc(all, func(p pkg) bool { return p.name == "" })
}

func lockComposer(text string) []pkg {
	var all []pkg
	for _, l := range flattenJSON(text) {
		switch {
		case strings.HasSuffix(l.key, "[]/name") && strings.HasPrefix(l.key, "packages"):
			all = append(all, pkg{name: l.value, no: l.no})
		case len(all) == 0:
		case strings.HasSuffix(l.key, "[]/version"):
			all[len(all)-1].version = l.value
		case strings.HasSuffix(l.key, "dist/url"):
			all[len(all)-1].from = l.value
		case strings.HasSuffix(l.key, "dist/shasum"):
			all[len(all)-1].sum = l.value
		}
	}
	return all
}

func lockGem(text string) []pkg {
	re := regexp.MustCompile(`^    ([\w.-]+) \(([^)]+)\)$`)
	from := ""
	return blocks(text, func(l string) (string, string, bool) {
		if r, ok := strings.CutPrefix(l, "  remote: "); ok {
			from = r
		}
		m := re.FindStringSubmatch(l)
		if m == nil {
			return "", "", false
		}
		return m[1], m[2], true
	}, func(p *pkg, _ string) { p.from = from })
}

// lockJSON takes each value for a package of its own: what changed is told, if not understood.
func lockJSON(text string) (all []pkg) {
	for _, l := range flattenJSON(text) {
		p := pkg{name: l.key, version: l.value, no: l.no}
		if strings.Contains(l.value, "://") {
			p.from = l.value
		}
		all = append(all, p)
	}
	return all
}

// lockLines does the same to lines.
func lockLines(text string) (all []pkg) {
	no := 0
	for l := range strings.Lines(text) {
		no++
		if t := strings.TrimSpace(l); t != "" && len(all) < maxLeaves && !strings.HasPrefix(t, "#") {
			all = append(all, pkg{name: t, no: no})
		}
	}
	return all
}

// disagreements looks for packages that a manifest has just begun to ask for, and that the lockfile beside it lacks.
func (x *examination) disagreements() error {
	for _, c := range x.changes {
		asked := x.asked[c]
		if len(asked) == 0 {
			continue
		}
		for _, r := range lockRows() {
			if r.manifest == "" || r.manifest != strings.ToLower(path.Base(c.path)) {
				continue
			}
			if err := x.disagree(c, r, asked); err != nil {
				return err
			}
		}
	}
	return nil
}

// disagree compares a manifest with one lockfile, if that is there.
func (x *examination) disagree(c *change, r lockRow, asked map[string]pkg) error {
	name := path.Join(path.Dir(c.path), lockName(r.name))
	have, ok := x.locked[name]
	if !ok {
		text, there, err := x.at(name)
		if err != nil || !there {
			return err
		}
		have = byName(r.read(text))
	}
	known := map[string]bool{}
	for n := range have {
		known[normal(strings.Fields(n)[0])] = true
	}
	var missing []string
	for _, n := range sortedNames(asked) {
		p := asked[n]
		if !known[normal(n)] && elsewhere(p.version) == "" && p.from == "" && !strings.Contains(p.version, "workspace") {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		x.add(Finding{Kind: "dependencies", Danger: Medium, Path: name, Count: len(missing),
			Says: "the lockfile lacks what " + path.Base(c.path) + " asks for", Text: show("", list(missing))})
	}
	return nil
}

// lockName is how a lockfile is really spelled.
func lockName(lower string) string {
	switch lower {
	case "cargo.lock":
		return "Cargo.lock"
	case "pipfile.lock":
		return "Pipfile.lock"
	case "gemfile.lock":
		return "Gemfile.lock"
	}
	return lower
}

// normal is a package's name without what its tools ignore.
func normal(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

// at reads a file of the tip.
func (x *examination) at(name string) (text string, there bool, err error) {
	if strings.ContainsAny(name, "\n") {
		return "", false, nil
	}
	if _, err := x.blob(x.in.Tip); err != nil { // starts it
		return "", false, err
	}
	o, err := x.cat.Get(x.in.Tip+":"+name, maxManifest)
	return string(o.Data), err == nil && o.Kind == "blob", err
}

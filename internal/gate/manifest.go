package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

// keyRow is a key of a manifest and what a change of it can do. A star in a key is any one part, two are any number.
type keyRow struct {
	file string // names, in lower case
	keys string
	kind Kind // "dependencies" for a package
	says string
}

// keyRows is what is known of manifests. The first row that fits a key counts.
var keyRows = [...]keyRow{
	{"package.json", `scripts/preinstall scripts/install scripts/postinstall scripts/prepare scripts/preprepare
		scripts/postprepare scripts/prepublish scripts/prepublishOnly scripts/prepack scripts/postpack scripts/dependencies
		scripts/predependencies scripts/postdependencies scripts/pnpm:devPreinstall gypfile`,
		"install", "npm runs it at install or when packing"},
	{"package.json", `pnpm/onlyBuiltDependencies/** pnpm/neverBuiltDependencies/** trustedDependencies/** allowScripts/**
		lavamoat/** dependenciesMeta/** packageManager pnpm/dangerously** devEngines/**`, "install",
		"decides which packages may run scripts at install, or which program installs"},
	{"package.json", `scripts/pretest* scripts/test* scripts/posttest* scripts/*:test scripts/coverage jest/** ava/**
	mocha/**
		nyc/** c8/** tap/** vitest/** cypress/**`, "test", "npm test runs it"},
	{"package.json", "husky/** lint-staged/** simple-git-hooks/** pre-commit/** pre-push/** gitHooks/** commitlint/** " +
		"config/commitizen/** " +
		"nano-staged/** scripts/pre-commit scripts/commit* scripts/precommit scripts/prepush scripts/lint-staged",
		"commit", "runs when you commit"},
	{"package.json", "scripts/** browserify/** babel/** wireit/** nx/** bin bin/**", "build", "npm runs it, or gives " +
		"it a name on the PATH"},
	{"package.json", "publishConfig/** repository/directory/**", "packages", "decides where packages go and come from"},
	{"package.json", "dependencies/* devDependencies/* optionalDependencies/* peerDependencies/* overrides/** " +
		"resolutions/** " +
		"pnpm/overrides/** bundledDependencies/** bundleDependencies/** pnpm/patchedDependencies/** catalog/** catalogs/**",
		"dependencies", ""},
	{"composer.json", "scripts/** config/allow-plugins/** config/allow-plugins extra/installer** autoload/files/**",
		"install",
		"composer runs it at install"},
	{"composer.json", "repositories/** config/secure-http minimum-stability", "packages", "decides where packages come " +
		"from"},
	{"composer.json", "require/* require-dev/* replace/* provide/*", "dependencies", ""},
	{"deno.json deno.jsonc", "tasks/**", "build", "deno task runs it"},
	{"deno.json deno.jsonc jsr.json", "imports/**", "dependencies", ""},
	{"pyproject.toml", "build-system/** tool/hatch/build/hooks/** tool/setuptools/cmdclass/** tool/setuptools/cmdclass " +
		"tool/poetry/build " +
		"tool/poetry/build/** tool/pdm/build/** tool/maturin/** tool/scikit-build/** tool/hatch/metadata/hooks/** " +
		"tool/setuptools/ext-modules/**",
		"install", "runs when the package is installed"},
	{"pyproject.toml", "tool/poetry/source/** tool/uv/index/** tool/uv/sources/** tool/uv/*index* " +
		"tool/uv/find-links/** tool/pdm/source/** " +
		"tool/uv/index-url tool/uv/extra-index-url tool/uv/pip/** tool/hatch/envs/*/pip** tool/rye/sources/** " +
		"tool/pixi/project/channels/** tool/uv/no-build** " +
		"tool/pixi/workspace/channels/**",
		"packages", "decides where packages come from"},
	{"pyproject.toml", "tool/pytest/** tool/tox/** tool/nox/** tool/hatch/envs/*/scripts/** tool/hatch/envs/*/scripts",
		"test", "runs with the tests"},
	{"pyproject.toml", "tool/poe/** tool/pdm/scripts/** tool/taskipy/** tool/rye/scripts/** tool/invoke/** " +
		"tool/pixi/tasks/** tool/pixi/**/tasks/** tool/cibuildwheel/**",
		"build", "runs with the project's tasks"},
	{"pyproject.toml", "project/dependencies/** project/optional-dependencies/** dependency-groups/** " +
		"tool/poetry/dependencies/* tool/poetry/dev-dependencies/* " +
		"tool/poetry/group/*/dependencies/* tool/pdm/dev-dependencies/** tool/uv/dev-dependencies/** " +
		"tool/uv/constraint-dependencies/** " +
		"tool/uv/override-dependencies/** tool/rye/dev-dependencies/** tool/hatch/envs/*/dependencies/** " +
		"tool/hatch/envs/*/extra-dependencies/**",
		"dependencies", ""},
	{"pipfile", "packages/* dev-packages/*", "dependencies", ""},
	{"pipfile", "scripts/*", "build", "pipenv runs it"},
	{"setup.cfg", "options/install_requires/** options/extras_require/**", "dependencies", ""},
	{"cargo.toml", "package/build package/links lib/proc-macro lib/proc_macro package/metadata/scripts/**", "build",
		"cargo runs it at every build"},
	{"cargo.toml", "patch/** replace/** source/**", "packages", "takes crates from elsewhere"},
	{"cargo.toml", "dependencies/** dev-dependencies/** build-dependencies/** target/*/dependencies/** " +
		"target/*/dev-dependencies/** " +
		"target/*/build-dependencies/** workspace/dependencies/**", "dependencies", ""},
	{"pixi.toml", "dependencies/* pypi-dependencies/*", "dependencies", ""},
	{"pubspec.yaml", "", "dependencies", ""},
	{"vcpkg.json", "dependencies/**", "dependencies", ""},
	{"angular.json", "", "build", ""},
}

func isManifest(p string) bool {
	p = strings.ToLower(p)
	name := path.Base(p)
	return formatOf(p) != nil || lockOf(name) != nil
}

// formatOf is how a manifest is read.
func formatOf(p string) func(string) []leaf {
	switch name := path.Base(p); {
	case name == "package.json", name == "composer.json", name == "deno.json", name == "deno.jsonc",
		name == "jsr.json", name == "vcpkg.json":
		return flattenJSON
	case name == "pyproject.toml", name == "cargo.toml", name == "pipfile", name == "pixi.toml":
		return flattenTOML
	case name == "go.mod":
		return flattenGoMod
	case isRequirements(p):
		return flattenRequirements
	case name == "gemfile" || name == "gems.rb":
		return flattenGemfile
	case name == "pom.xml":
		return flattenPOM
	case strings.HasSuffix(name, ".gradle") || strings.HasSuffix(name, ".gradle.kts") || name == "libs.versions.toml":
		return flattenGradle
	case strings.HasSuffix(name, ".csproj") || strings.HasSuffix(name, ".fsproj") || name == "directory.packages.props" ||
		name == "packages.config":
		return flattenNuGet
	case name == "pubspec.yaml" || name == "environment.yml" || name == "environment.yaml" || name == "chart.yaml":
		return flattenYAMLDeps
	case name == "mix.exs":
		return flattenMix
	}
	return nil
}

func isRequirements(p string) bool {
	name := path.Base(p)
	if ok, _ := path.Match("requirements*.txt", name); ok {
		return true
	}
	if ok, _ := path.Match("*requirements.txt", name); ok {
		return true
	}
	return strings.Contains("/"+p, "/requirements/") && strings.HasSuffix(name, ".txt") ||
		(strings.HasPrefix(name, "requirements") || strings.Contains("/"+p, "/requirements/")) && strings.HasSuffix(name,
			".in") ||
		strings.HasPrefix(name, "constraints") && strings.HasSuffix(name, ".txt")
}

// manifests looks at what changed in manifests and lockfiles, as a whole and not line by line.
func (x *examination) manifests() error {
	for _, c := range x.changes {
		if c.gone() || c.binary || c.wasOID == c.isOID || within(strings.ToLower(c.path), fixtures) {
			continue
		}
		lower := strings.ToLower(c.path)
		format, lock := formatOf(lower), lockOf(path.Base(lower))
		if format == nil && lock == nil {
			continue
		}
		was, is, err := x.both(c)
		if err != nil {
			return err
		}
		if format != nil {
			x.manifest(c, lower, format(was), format(is))
		}
		if lock != nil {
			x.lockfile(c, lock(was), lock(is))
		}
	}
	return x.disagreements()
}

// maxManifest is how large a manifest or lockfile may be.
const maxManifest = 32 << 20

// both reads a file as it was and as it is.
func (x *examination) both(c *change) (was, is string, err error) {
	if !c.fresh() {
		if was, err = x.blob(c.wasOID); err != nil {
			return "", "", err
		}
	}
	is, err = x.blob(c.isOID)
	return was, is, err
}

func (x *examination) blob(oid string) (string, error) {
	if x.cat == nil {
		cat, err := x.host.CatFile(x.ctx)
		if err != nil {
			return "", err
		}
		x.cat = cat
	}
	o, err := x.cat.Get(oid, maxManifest)
	if err != nil || o.Kind != "blob" {
		return "", err
	}
	if o.Size > maxManifest {
		x.note("a manifest of more than 32 MiB")
	}
	return string(o.Data), nil
}

func (x *examination) note(what string) {
	if what = "not looked at: " + what; !slices.Contains(x.notes, what) {
		x.notes = append(x.notes, what)
	}
}

// manifest compares the values of a manifest.
func (x *examination) manifest(c *change, lower string, was, is []leaf) {
	name := path.Base(lower)
	had := map[string]int{}
	for _, l := range was {
		had[l.key+"\x00"+l.value]++
	}
	has := map[string]int{}
	for _, l := range is {
		has[l.key+"\x00"+l.value]++
	}
	found := map[string]*Finding{}
	var order []string
	tell := func(kind Kind, says, sign string, l leaf) {
		if f := found[string(kind)]; f != nil {
			f.Count++
			return
		}
		found[string(kind)] = &Finding{Kind: kind, Path: c.path, Line: l.no, Says: says,
			Text: show(sign, lastPart(l.key)+": "+l.value), rule: says}
		order = append(order, string(kind))
	}
	var before, now []leaf
	for _, l := range is {
		r := keyRowOf(name, l.key)
		switch {
		case r == nil || l.value == "" && !strings.Contains(r.keys, "dependencies"):
		case r.kind == "dependencies":
			now = append(now, l)
		case had[l.key+"\x00"+l.value] == 0:
			tell(r.kind, r.says, "+", l)
		}
	}
	for _, l := range was {
		r := keyRowOf(name, l.key)
		switch {
		case r == nil:
		case r.kind == "dependencies":
			before = append(before, l)
		case has[l.key+"\x00"+l.value] == 0 && found[string(r.kind)] == nil && removalCounts(r.kind):
			tell(r.kind, r.says, "-", l)
		}
	}
	for _, k := range order {
		x.add(*found[k])
	}
	x.packages(c, before, now)
}

// removalCounts says whether taking something out is worth a word.
func removalCounts(k Kind) bool { return k == "packages" || k == "test" }

// keyRowOf finds the row for a key. Files that have no keys of their own are read into "dependencies/NAME".
func keyRowOf(name, key string) *keyRow {
	for i := range keyRows {
		r := &keyRows[i]
		if slices.Contains(strings.Fields(r.file), name) &&
			slices.ContainsFunc(strings.Fields(r.keys), func(p string) bool { return keyMatch(p, key) }) {
			return r
		}
	}
	if rest, ok := strings.CutPrefix(key, plainDependency); ok && rest != "" {
		return &anyDependency
	}
	return nil
}

// plainDependency is where the formats without keys put their packages.
const plainDependency = "\x00/"

var anyDependency = keyRow{kind: "dependencies", keys: "dependencies"}

// keyMatch compares a key with a pattern, part by part. The last part may have stars in it.
func keyMatch(pattern, key string) bool {
	for pattern != "" {
		p, restP, _ := strings.Cut(pattern, "/")
		if p == "**" && restP == "" {
			return true
		}
		if key == "" {
			return false
		}
		k, restK, moreK := strings.Cut(key, "/")
		if strings.HasSuffix(p, "**") && restP == "" {
			return strings.HasPrefix(k, strings.TrimSuffix(p, "**"))
		}
		if ok, _ := path.Match(p, strings.ReplaceAll(k, "/", "")); !ok {
			return false
		}
		if restP == "" {
			return !moreK || p == "*"
		}
		pattern, key = restP, restK
	}
	return key == ""
}

func lastPart(key string) string {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(key, plainDependency), "/[]"), "/")
	return safetext.Line(parts[len(parts)-1])
}

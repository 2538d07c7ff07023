package table

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// CarriesText says that an option's value is prose or a pattern, in which a path is only spoken of. Names that mean
// other things too have to have a value that is more than a word.
func CarriesText(option string, a word.Arg) bool {
	option = strings.ToLower(option)
	known, v := a.Worst() == word.Literal, a.Known()
	switch {
	case word.Listed(" message msg body title description comment reason subject summary annotation changelog pattern "+
		"regex regexp grep filter match query tests test-name-pattern testnamepattern header release-notes "+
		"commit-message prompt question caption alt footer exclude exclude-dir ignore ignore-path-pattern skip "+
		"search label jql xlabel ylabel annotate ", option) ||
		strings.HasPrefix(option, "define:") && strings.Contains(v, `"`): // of esbuild
		return true
	case word.Listed(" q c e execute command ", option):
		return known && (isQuery(v) || isSubstitution(v))
	case option == "ldflags": // values of variables, and nothing else
		rest := strings.NewReplacer("-ldflags=", "", "-X ", "", " -s", "", " -w", "").Replace(" " + v)
		return known && strings.Contains(v, "-X ") && !strings.ContainsAny(rest, "'\"") && !strings.Contains(rest, " -") &&
			!strings.Contains(rest, "=-")
	case option == "m":
		return known && strings.Contains(v, " ") && !strings.ContainsAny(v, "=;|<>$`")
	case word.Listed(" k t b n h d z text note notes name desc status detail details tag ", option) ||
		strings.HasSuffix(option, "-name"):
		return known && isProse(v)
	}
	return false
}

// isQuery says that a value asks a database and writes nothing.
func isQuery(v string) bool {
	words := strings.Fields(strings.ToLower(v))
	return len(words) > 1 && word.Listed(" select show describe explain ", words[0]) && !strings.ContainsAny(v, ";\\") &&
		!slices.Contains(words, "into") && !strings.Contains(strings.ToLower(v), "file(")
}

// isSubstitution says that a value is an editor's s/a/b/ or g/a/d over some lines, with nothing behind it.
func isSubstitution(v string) bool {
	v = strings.TrimLeft(v, "%.,$0123456789")
	if len(v) < 2 || !strings.ContainsAny(v[1:2], "/#@!,:~") {
		return false
	}
	parts := strings.Split(v[2:], v[1:2])
	if v[0] == 's' && len(parts) == 3 {
		return strings.Trim(parts[2], "gceiIn") == "" && !strings.HasPrefix(parts[1], `\=`)
	}
	return (v[0] == 'g' || v[0] == 'v') && len(parts) == 2 && strings.Trim(parts[1], "dj") == ""
}

// isProse tells a sentence from a command or an assignment.
func isProse(v string) bool {
	words := strings.Fields(v)
	if len(words) < 2 || strings.ContainsAny(v, ";|<>$`{}") {
		return false
	}
	if first := words[0]; strings.ContainsAny(first, "/=.-_:") || IsCommandWord(first) {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "-") && len(w) > 1 || strings.Contains(w, "=")
	})
}

// IsCode says that the value of an option is program text.
func IsCode(option string, a word.Arg) bool {
	return word.Listed(" e E c eval evaluate execute expr expression print p runner ", option) &&
		!strings.HasPrefix(a.Prefix(), "-") && strings.ContainsAny(a.Known(), "([") && strings.ContainsAny(a.Known(), "\"'")
}

// IsModule names the programs that may stand behind python -m.
func IsModule(name string) bool {
	return word.Listed(" pip pytest ruff black isort flake8 pylint yapf bandit ipykernel jupyter json.tool ", name)
}

// TakesCommand says that the value of an option is run.
func TakesCommand(option string) bool {
	return word.Listed(" exec run command cmd c e x shell s hook script on-change onchange before after pre post "+
		"exec-batch sh init-cmd ", option)
}

// IsCommandWord names the commands that are looked for where any program may stand in front of another.
func IsCommandWord(name string) bool {
	return word.Listed(" git rm mv cp ln chmod sudo env sh bash dash zsh ksh fish cd xargs cco exec ", name)
}

// HoldsProse says that a file is for people.
func HoldsProse(name string) bool {
	return word.Listed(" md txt rst adoc csv log html svg tex lock sum mdx po snap ",
		name[strings.LastIndexByte(name, '.')+1:])
}

// IsTaskFile says that some program looks for commands in a file of this name.
func IsTaskFile(name string) bool {
	lower := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	return word.Listed(" makefile gnumakefile package.json justfile taskfile.yml taskfile.yaml rakefile procfile "+
		"earthfile vagrantfile gulpfile.js "+
		"gruntfile.js build.xml pom.xml build.gradle build.gradle.kts settings.gradle sconstruct wscript meson.build "+
		"cmakelists.txt dune build.zig xmake.lua premake5.lua noxfile.py tox.ini dodo.py tasks.py fabfile.py "+
		"setup.py conftest.py pyproject.toml composer.json deno.json mix.exs rebar.config package.yaml build.sbt "+
		"project.clj build.ninja lefthook.yml .pre-commit-config.yaml cargo.toml build.rs mise.toml .mise.toml "+
		"turbo.json nx.json lerna.json magefile.go wercker.yml .justfile tup.config tupfile buf.gen.yaml ", lower) ||
		word.Listed(" .mk .just .gradle ", path.Ext(lower)) ||
		strings.HasSuffix(lower, ".config.js") || strings.HasSuffix(lower, ".config.ts")
}

// RecordsOnly names the directories that a build is told of and that only an installation writes.
func RecordsOnly(name string) bool {
	return word.Listed(" localstatedir runstatedir sharedstatedir ",
		strings.TrimPrefix(strings.TrimLeft(name, "-"), "D"))
}

// LanguageOf returns the language of a source file by its extension.
func LanguageOf(ext string) string {
	for _, l := range [...]struct{ name, extensions string }{
		{"python", " .py .pyw "},
		{"javascript", " .js .mjs .cjs .ts .mts .cts .tsx .jsx "},
		{"perl", " .pl .pm .t "},
		{"ruby", " .rb .rake .gemspec "},
		{"php", " .php "},
		{"lua", " .lua "},
		{"go", " .go .rs .c .cc .cpp .java .kt .swift .zig .cs .scala .groovy .gradle "},
		{"other", " .tcl .r .R .jl .exs .ex .hs .ml .csx .fsx .clj .sc .rkt .scm .lisp .erl .escript .nix "},
	} {
		if word.Listed(l.extensions, ext) {
			return l.name
		}
	}
	return ""
}

// LastWord is the last part of a variable's name.
func LastWord(name string) string {
	return name[strings.LastIndexByte(name, '_')+1:]
}

// IgnoresVariables names the programs that obey none but those that are judged where they are set.
func IgnoresVariables(prog string) bool {
	return word.Listed(" git cp mv ln rm rmdir mkdir chmod chown touch tee dd zip unzip sed awk gawk mawk find "+
		"xargs env sudo nice timeout time nohup rsync kill truncate install mktemp gzip gunzip sleep jq gh ", prog)
}

// NamesTool says whether a variable names where a tool is installed.
func NamesTool(name string) bool {
	return word.Listed(" JAVA_HOME JDK_HOME GOROOT ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME CUDA_HOME M2_HOME "+
		"MAVEN_HOME GRADLE_HOME NVM_DIR PYENV_ROOT SDKMAN_DIR ", name)
}

// DirectsWrites says whether tools take a variable of this name as a place to write to.
func DirectsWrites(name string) bool {
	upper := strings.ToUpper(name)
	if word.Listed(" HOME DESTDIR PREFIX GOBIN GOPATH GOCACHE GOMODCACHE TMPDIR OUT OUTDIR OUTPUT O DIST "+
		"PYTHONUSERBASE PYTHONPYCACHEPREFIX HISTFILE SQLITE_HISTORY GNUPGHOME LOG LOGFILE GOTMPDIR GOCOVERDIR GOENV "+
		"CDPATH DOCKER_CONFIG ", upper) {
		return true
	}
	if NamesTool(upper) || upper == "SSL_CERT_FILE" || upper == "SSL_CERT_DIR" {
		return false
	}
	if strings.Contains(upper, "_") && word.Listed(" DIR HOME FILE LOG PREFIX OUT OUTPUT DEST TARGET CACHE ROOT FOLDER "+
		"STORE HISTORY USERCONFIG GLOBALCONFIG ", LastWord(upper)) {
		return true
	}
	return strings.HasPrefix(upper, "NPM_CONFIG_") || strings.HasPrefix(upper, "XDG_") || strings.HasPrefix(upper, "PIP_")
}

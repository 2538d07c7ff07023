package table

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// CarriesText says that an option's value is prose or a pattern, in which a
// path is only spoken of. Names that mean other things too have to have a value
// that is more than a word.
func CarriesText(option string, a word.Arg) bool {
	switch strings.ToLower(option) {
	case "message", "msg", "body", "title", "description", "comment", "reason", "subject", "summary", "annotation",
		"changelog",
		"pattern", "regex", "regexp", "grep", "filter", "match", "query", "tests", "test-name-pattern", "testnamepattern",
		"header",
		"release-notes", "commit-message", "prompt", "question", "caption", "alt", "footer", "exclude", "exclude-dir",
		"ignore", "ignore-path-pattern", "skip":
		return true
	case "q", "c", "e", "execute", "command":
		return a.Worst() == word.Literal && isQuery(a.Known())
	case "m":
		return a.Worst() == word.Literal && strings.Contains(a.Known(), " ") && !strings.ContainsAny(a.Known(), "=;|<>$`")
	case "k", "t", "b", "n", "h", "d", "text", "note", "notes", "name", "desc", "label", "search", "status", "detail",
		"details", "tag", "jql":
		return a.Worst() == word.Literal && isProse(a.Known())
	}
	return false
}

// isQuery says that a value asks a database and writes nothing.
func isQuery(v string) bool {
	words := strings.Fields(strings.ToLower(v))
	return len(words) > 1 && word.Listed(" select show describe explain ", words[0]) && !strings.ContainsAny(v, ";\\") &&
		!slices.Contains(words, "into") && !strings.Contains(strings.ToLower(v), "file(")
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
	switch option {
	case "e", "E", "c", "eval", "evaluate", "execute", "expr", "expression", "print", "p":
		return !strings.HasPrefix(a.Prefix(), "-") && strings.Contains(a.Known(), "(") &&
			strings.ContainsAny(a.Known(), "\"'")
	}
	return false
}

// TakesCommand says that the value of an option is run.
func TakesCommand(option string) bool {
	return word.Listed(" exec run command cmd c e x shell s hook script on-change onchange before after pre post "+
		"exec-batch sh init-cmd ", option)
}

// IsCommandWord names the commands that are looked for where any program may
// stand in front of another.
func IsCommandWord(name string) bool {
	return word.Listed(" git rm mv cp ln chmod sudo env sh bash dash zsh ksh fish cd eval xargs cco exec ", name)
}

// HoldsProse says that a file is for people.
func HoldsProse(name string) bool {
	switch ext := name[strings.LastIndexByte(name, '.')+1:]; ext {
	case "md", "txt", "rst", "adoc", "csv", "log", "html", "svg", "tex", "lock", "sum", "mdx", "po", "snap":
		return true
	}
	return false
}

// IsTaskFile says that some program looks for commands in a file of this name.
func IsTaskFile(name string) bool {
	lower := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if word.Listed(" justfile taskfile.yml taskfile.yaml rakefile procfile earthfile vagrantfile gulpfile.js "+
		"gruntfile.js build.xml pom.xml build.gradle build.gradle.kts settings.gradle sconstruct wscript meson.build "+
		"cmakelists.txt dune build.zig xmake.lua premake5.lua noxfile.py tox.ini dodo.py tasks.py fabfile.py "+
		"setup.py conftest.py pyproject.toml composer.json deno.json mix.exs rebar.config package.yaml build.sbt "+
		"project.clj build.ninja lefthook.yml .pre-commit-config.yaml cargo.toml build.rs mise.toml .mise.toml "+
		"turbo.json nx.json lerna.json magefile.go wercker.yml .justfile tup.config tupfile ", lower) {
		return true
	}
	return slices.ContainsFunc([]string{".mk", ".just", ".config.js", ".config.ts", ".gradle"}, func(end string) bool {
		return strings.HasSuffix(lower, end)
	})
}

// RecordsOnly names the directories that a build is told of and that only an
// installation writes.
func RecordsOnly(name string) bool {
	switch strings.TrimPrefix(strings.TrimLeft(name, "-"), "D") {
	case "localstatedir", "runstatedir", "sharedstatedir":
		return true
	}
	return false
}

// LanguageOf returns the language of a source file by its extension.
func LanguageOf(ext string) string {
	switch ext {
	case ".py", ".pyw":
		return "python"
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx":
		return "javascript"
	case ".pl", ".pm", ".t":
		return "perl"
	case ".rb", ".rake", ".gemspec":
		return "ruby"
	case ".php":
		return "php"
	case ".lua":
		return "lua"
	case ".go", ".rs", ".c", ".cc", ".cpp", ".java", ".kt", ".swift", ".zig", ".cs", ".scala", ".groovy", ".gradle":
		return "go"
	case ".tcl", ".r", ".R", ".jl", ".exs", ".ex":
		return "other"
	}
	return ""
}

// ProgramOptions are the options of one interpreter.
type ProgramOptions struct {
	Text   string // short options with program text
	Long   []string
	Valued string // other short options with a value
	Load   []string
	Last   string // short options behind which everything is the program's
}

// OptionsOf are the options of the interpreters of a language.
func OptionsOf(lang string) ProgramOptions {
	switch lang {
	case "python":
		return ProgramOptions{Text: "c", Valued: "mWXQ", Last: "cm"}
	case "javascript":
		return ProgramOptions{Text: "ep", Long: []string{"--eval", "--print", "-pe"}, Valued: "rCi",
			Load: []string{"-r", "--require", "--import", "--loader", "--experimental-loader"}}
	case "perl":
		return ProgramOptions{Text: "eE", Valued: "IMmxi*F*"}
	case "ruby":
		return ProgramOptions{Text: "e", Valued: "IrCEi*F*"}
	case "php":
		return ProgramOptions{Text: "rBRE", Long: []string{"--run"}, Valued: "dcfzt"}
	case "lua":
		return ProgramOptions{Text: "e", Valued: "l"}
	}
	return ProgramOptions{Long: []string{"-e", "-c", "-E", "--eval", "-eval", "--execute", "--expression", "-Command",
		"-command", "-g", "--batch-string"}}
}

// LastWord is the last part of a variable's name.
func LastWord(name string) string {
	return name[strings.LastIndexByte(name, '_')+1:]
}

// IgnoresVariables names the programs that obey none but those that are judged
// where they are set.
func IgnoresVariables(prog string) bool {
	return word.Listed(" git cp mv ln rm rmdir mkdir chmod chown touch tee dd tar zip unzip sed awk gawk mawk find "+
		"xargs env sudo nice timeout time nohup rsync kill truncate install mktemp gzip gunzip sleep jq gh ", prog)
}

// NamesTool says whether a variable names where a tool is installed.
func NamesTool(name string) bool {
	return word.Listed(" JAVA_HOME JDK_HOME GOROOT ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME CUDA_HOME M2_HOME "+
		"MAVEN_HOME GRADLE_HOME NVM_DIR PYENV_ROOT SDKMAN_DIR ", name)
}

// DirectsWrites says whether tools take a variable of this name as a place to
// write to.
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
	for _, suffix := range []string{"_DIR", "_HOME", "_FILE", "_LOG", "_PREFIX", "_OUT", "_OUTPUT", "_DEST", "_TARGET",
		"_CACHE", "_ROOT", "_FOLDER", "_STORE", "_HISTORY", "USERCONFIG", "GLOBALCONFIG"} {
		if strings.HasSuffix(upper, suffix) {
			return true
		}
	}
	return strings.HasPrefix(upper, "NPM_CONFIG_") || strings.HasPrefix(upper, "XDG_") || strings.HasPrefix(upper, "PIP_")
}

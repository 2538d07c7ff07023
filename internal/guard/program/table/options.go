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
	for _, w := range words {
		if strings.HasPrefix(w, "-") && len(w) > 1 || strings.Contains(w, "=") {
			return false
		}
	}
	return true
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
	for _, end := range [...]string{".mk", ".just", ".config.js", ".config.ts", ".gradle"} {
		if strings.HasSuffix(lower, end) {
			return true
		}
	}
	return false
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

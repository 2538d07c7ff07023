package cruising

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

// messages gives what the project's own code may say to a person: its texts as they are put together, with X for what
// is known only when it runs.
func messages(t *testing.T, each func(path, text string)) {
	t.Helper()
	must.Do(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains(tools, d.Name()) {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BinaryExpr:
				text, isText := folded(n)
				if isText {
					each(path, text)
				}
				return !isText
			case *ast.BasicLit:
				if text, isText := folded(n); isText {
					each(path, text)
				}
			}
			return true
		})
		return nil
	}))
}

// tools are packages that speak to tests and to engineers.
var tools = []string{"bench", "forgetest", "cruisetest", "boxtest", "agenttest", "githubfake", "giteatest", "gittest",
	"viewtest", "temporaltest", "testdata", "probe", "crash"}

// folded puts a text together.
func folded(e ast.Expr) (text string, isText bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return folded(e.X)
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, isLeft := folded(e.X)
		right, isRight := folded(e.Y)
		return left + right, e.Op == token.ADD && (isLeft || isRight)
	}
	return "X", false
}

var (
	hint     = regexp.MustCompile("\\bcco ([a-z][^`\n;,()]*)")
	hintFlag = regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`)
	word     = regexp.MustCompile(`^[a-z-]+$`)
)

// Guards against advice to use a command that there is not, or a flag that the command does not have.
func TestHintsNameFlagsThatTheirCommandsHave(t *testing.T) {
	streams, _, _ := term.Test("")
	root := must.Get(cli.Root(streams, Commands))(t)
	argument := regexp.MustCompile(`"[^"]*"`)
	commands, flags := 0, 0
	advised := func(path, said string) {
		said, _, _ = strings.Cut(argument.ReplaceAllString(said, "X"), " -- ")
		words := strings.Fields(said)
		if i := slices.IndexFunc(words, func(w string) bool { return !word.MatchString(w) }); i >= 0 {
			words = words[:i]
		}
		c, _, err := root.Find(words)
		if err != nil || c == root {
			return
		}
		commands++
		for _, f := range hintFlag.FindAllStringSubmatch(said, -1) {
			flags++
			if !has(c, f[1]) {
				t.Errorf("%s: %q names --%s, which `%s` does not have", path, said, f[1], c.CommandPath())
			}
		}
	}
	quoted := regexp.MustCompile("`cco ([a-z][a-z-]*(?: [a-z][a-z-]*)*)")
	messages(t, func(path, text string) {
		for _, m := range hint.FindAllStringSubmatch(text, -1) {
			for _, said := range regexp.MustCompile(` (?:or|and|&&) `).Split(m[1], -1) {
				advised(path, strings.TrimPrefix(said, "cco "))
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			if c, rest, err := root.Find(strings.Fields(m[1])); err != nil || c == root || c.HasSubCommands() && len(rest) > 0 {
				t.Errorf("%s: there is no `cco %s`", path, m[1])
			}
		}
		if strings.HasSuffix(path, filepath.Join("cli", "live", "model.go")) && strings.Contains(text, " ID") {
			advised(path, text) // what a key of the live list runs
		}
	})
	if commands < 200 || flags < 60 {
		t.Errorf("only %d commands and %d flags were found in hints: are the patterns still right?", commands, flags)
	}
}

func has(c *cobra.Command, flag string) bool {
	c.InitDefaultHelpFlag()
	return c.Flags().Lookup(flag) != nil || c.InheritedFlags().Lookup(flag) != nil
}

// many are words behind a number that is never one, or that have no plural. Sessions are listed where there are
// several.
var many = []string{"is", "was", "has", "as", "ms", "times", "bytes", "draws", "lives", "ways", "descriptors", "links",
	"objects", "dots", "sessions"}

// Guards against "1 commits": what is counted goes through unit.Count, and only limits, which are large, are
// written out.
func TestNothingIsCountedInThePluralAlone(t *testing.T) {
	counted := regexp.MustCompile(`(\S+ \S+ |\S+ |^)%d (?:more |new |other |of your )*([a-z]+s)\b`)
	limit := regexp.MustCompile(`\b(than|most|least|between|first|limit of|limit|about|only|over the limit of) $`)
	seen := 0
	messages(t, func(path, text string) {
		for _, m := range counted.FindAllStringSubmatch(text, -1) {
			seen++
			if !limit.MatchString(m[1]) && !slices.Contains(many, m[2]) {
				t.Errorf("%s: %q says %q also of one", path, text, m[0])
			}
		}
	})
	if seen < 10 {
		t.Errorf("only %d were found: is the pattern still right?", seen)
	}
}

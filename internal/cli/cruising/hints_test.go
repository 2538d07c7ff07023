package cruising

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

var (
	hint     = regexp.MustCompile("`(cco [a-z][^`\n]*)`")
	joined   = regexp.MustCompile("\"\\s*\\+\\s*\"|\" *\\+[^\"\\n]*\\+\\s*\"")
	hintFlag = regexp.MustCompile(`--[a-z][a-z-]*`)
)

// Guards against advice to use a flag that the command does not have.
func TestHintsNameFlagsThatTheirCommandsHave(t *testing.T) {
	streams, _, _ := term.Test("")
	root := must.Get(cli.Root(streams, Commands))(t)
	seen := 0
	must.Do(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text := joined.ReplaceAllString(string(must.Get(os.ReadFile(path))(t)), " ")
		for _, m := range hint.FindAllStringSubmatch(strings.ReplaceAll(text, " && cco", "`, `cco"), -1) {
			said, _, _ := strings.Cut(m[1], " -- ")
			c, _, err := root.Find(strings.Fields(said)[1:])
			if err != nil || c == root {
				t.Errorf("%s: no command for %q", path, said)
				continue
			}
			for _, f := range hintFlag.FindAllString(said, -1) {
				seen++
				if !has(c, f[2:]) {
					t.Errorf("%s: %q names %s, which `%s` does not have", path, said, f, c.CommandPath())
				}
			}
		}
		return nil
	}))
	if seen < 40 {
		t.Errorf("only %d flags were found in hints: is the pattern still right?", seen)
	}
}

func has(c *cobra.Command, flag string) bool {
	c.InitDefaultHelpFlag()
	return c.Flags().Lookup(flag) != nil || c.InheritedFlags().Lookup(flag) != nil
}

package cruising

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

// withoutJSON are the commands whose result is no value: a terminal, a program's own output, a text for another
// program.
var withoutJSON = []string{
	"cco box attach", "cco box shell", "cco box template", "cco guard hook", "cco guard prompt", "cco cruise serve",
	"cco cruise worker", "cco guard run", "cco help", "cco completion bash", "cco completion fish",
	"cco completion powershell",
	"cco completion zsh", "cco acp", "cco mcp",
}

var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// Guards against a command that a user or a program has to guess about: each has an example that its own flags and
// arguments fit, its exit codes, and a result that a program can read.
func TestEveryCommandHelps(t *testing.T) {
	io, _, _ := term.Test("")
	root := must.Get(cli.Root(io, Commands))(t)
	seen := 0
	walk(root, func(c *cobra.Command) {
		seen++
		name := c.CommandPath()
		if c.Short == "" {
			t.Errorf("%s says not what it does", name)
		}
		if !strings.Contains(c.Example, name) {
			t.Errorf("%s has no example of itself", name)
		}
		for line := range strings.Lines(c.Example) {
			fits(t, root, name, strings.TrimSpace(line))
		}
		if !slices.Contains(withoutJSON, name) && c.Flags().Lookup("json") == nil {
			t.Errorf("%s has no --json", name)
		}
		streams, out, _ := term.Test("")
		args := append(strings.Fields(name)[1:], "--help")
		if name == "cco help" {
			args = []string{"help", "help"}
		}
		if code := cli.Run(t.Context(), streams, args, Commands); code != 0 {
			t.Errorf("%s --help exits with %d", name, code)
		}
		for _, want := range []string{"Usage:", "Examples:", "\n  0    "} {
			if own := name == "cco box shell" && want[0] == '\n'; !own && !strings.Contains(out.String(), want) {
				t.Errorf("%s --help has no %q:\n%s", name, want, out)
			}
		}
	})
	if seen < 50 {
		t.Errorf("only %d commands were seen", seen)
	}
}

// walk calls each for every command that does something and that people are told of.
func walk(c *cobra.Command, each func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		walk(sub, each)
	}
	if c.Runnable() && !c.HasSubCommands() && !c.Hidden {
		each(c)
	}
}

// fits sees that cco would take an example's words.
func fits(t *testing.T, root *cobra.Command, name, line string) {
	t.Helper()
	_, call, ok := strings.Cut(" "+line, " cco ")
	if !ok {
		return // another program's
	}
	call, _, _ = strings.Cut(call, " | ")
	call, _, _ = strings.Cut(call, " && ")
	var words []string
	for _, w := range strings.Fields(quoted.ReplaceAllString(call, "text")) {
		if !strings.ContainsAny(w, "<>") {
			words = append(words, w)
		}
	}
	c, rest, err := root.Find(words)
	if err != nil || !c.Runnable() {
		t.Errorf("%s: %q: %v", name, line, err)
		return
	}
	for _, w := range rest {
		if w == "--" {
			return // what follows is another program's
		}
		if flag, ok := strings.CutPrefix(w, "--"); ok && flag != "" {
			flag, _, _ = strings.Cut(flag, "=")
			if c.Flags().Lookup(flag) == nil && c.InheritedFlags().Lookup(flag) == nil {
				t.Errorf("%s: %q: no flag --%s", name, line, flag)
			}
		}
	}
}

func TestTheShellIsOfferedPhasesAndAgents(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cruise", "start", "--phase", "b"}, "building\n"},
		{[]string{"cruise", "start", "--through", ""}, "validating\n"},
		{[]string{"cruise", "start", "--reviewer", "g"}, "gemini\n"},
	} {
		streams, out, _ := term.Test("")
		cli.Run(t.Context(), streams, append([]string{cobra.ShellCompRequestCmd}, c.args...), Commands)
		if !strings.HasPrefix(out.String(), c.want) && !strings.Contains(out.String(), "\n"+c.want) {
			t.Errorf("%v: %s", c.args, out)
		}
	}
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/term"
)

// mayExit are the codes that commands can end with beside those that all have: 0, 1 and 2.
var mayExit = map[string][]int{
	"agent check": {exitInterrupted}, "agent install": {exitInterrupted}, "agent remove": {exitNotFound, exitState},
	"agent update":  {exitInterrupted},
	"answer":        {exitNotFound, exitState, exitInterrupted},
	"box attach":    {exitNotFound, exitState, exitInterrupted},
	"box create":    {exitState, exitIsolation, exitInterrupted},
	"box destroy":   {exitNotFound, exitState, exitInterrupted},
	"box diff":      {exitNotFound, exitState},
	"box kill":      {exitNotFound, exitState},
	"box logs":      {exitNotFound, exitInterrupted},
	"box net allow": {exitNotFound}, "box net deny": {exitNotFound}, "box net list": {exitNotFound},
	"box net log":             {exitNotFound, exitInterrupted},
	"box provision":           {exitNotFound, exitState, exitInterrupted},
	"box prune":               {exitState, exitInterrupted},
	"box pull":                {exitNotFound, exitState, exitTimeout, exitInterrupted},
	"box push":                {exitNotFound, exitState, exitIsolation, exitInterrupted},
	"box restore":             {exitNotFound, exitState},
	"box sessions":            {exitNotFound},
	"box start":               {exitNotFound, exitState, exitIsolation, exitInterrupted},
	"box status":              {exitNotFound},
	"box stop":                {exitNotFound},
	"box verify":              {exitNotFound, exitState, exitInterrupted},
	"cruise cleanup":          {exitNotFound, exitState, exitInterrupted},
	"cruise commands install": {exitState},
	"cruise fix":              {exitNotFound, exitState},
	"cruise logs":             {exitNotFound, exitInterrupted},
	"cruise pause":            {exitNotFound, exitState},
	"cruise resume":           {exitNotFound, exitState},
	"cruise serve":            {exitState, exitInterrupted},
	"cruise start":            {exitNotFound, exitState, exitIsolation},
	"cruise status":           {exitNotFound, exitInterrupted},
	"guard canary":            {exitNotFound, exitState},
	"guard check":             {exitDenied},
	"guard log":               {exitInterrupted},
	"guard uninstall":         {exitState},
	"run":                     {exitNotFound, exitState, exitIsolation, exitInterrupted},
}

// ownExits are commands whose help says itself what their codes mean.
var ownExits = []string{"box shell", "box wait"}

// withExits is cobra's help, and below it the codes that a command can end with.
func withExits(io *term.Streams, usual func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) {
		usual(c, args)
		name := strings.TrimPrefix(c.CommandPath(), "cco ")
		if c.HasSubCommands() || !c.Runnable() || slices.Contains(ownExits, name) {
			return
		}
		io.Printf("\nExit codes:\n%s", exitText(append([]int{exitDone, exitWrong, exitUsage}, mayExit[name]...)))
	}
}

// exitText lists codes, or all for nil.
func exitText(codes []int) string {
	var b strings.Builder
	for _, e := range exits {
		if codes == nil || slices.Contains(codes, e.code) {
			fmt.Fprintf(&b, "  %-4d %s\n", e.code, e.means)
		}
	}
	return b.String()
}

// topics are helps that are about no command.
func (a *commands) topics() []*cobra.Command {
	topic := func(use, short string, text func() (string, error)) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short}
		c.SetHelpFunc(func(*cobra.Command, []string) {
			words, err := text()
			if err != nil {
				a.IO.Fail(err)
				return
			}
			a.IO.Printf("%s", words)
		})
		return c
	}
	return []*cobra.Command{
		topic("settings", "All settings, their defaults and what they are for", settingsText),
		topic("exit-codes", "What the exit codes of cco mean", func() (string, error) { return exitText(nil), nil }),
		topic("plan", "How a plan is written", func() (string, error) { return planText, nil }),
	}
}

// settingsText describes the settings.
func settingsText() (string, error) {
	all, err := app.DefaultSettings()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("Settings are in ~/.config/cco/config.toml; `cco config set NAME VALUE` writes one.\n" +
		"A repository's .cco.toml can tighten them; a variable overrides both.\n")
	group := ""
	for _, s := range all {
		if g, _, _ := strings.Cut(s.Name, "."); g != group {
			group = g
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %-26s %s\n", s.Name, s.About)
		var more []string
		if s.Value != nil {
			more = append(more, "default "+s.Text())
		}
		if len(s.Words) > 0 {
			more = append(more, "one of "+strings.Join(s.Words, ", "))
		}
		if s.Env != "" {
			more = append(more, "variable "+s.Env)
		}
		if len(more) > 0 {
			fmt.Fprintf(&b, "  %-26s   %s\n", "", strings.Join(more, "; "))
		}
	}
	return b.String(), nil
}

const planText = `A plan is a Markdown file that says what is to be done. It is in the repository,
committed or not, or comes from standard input (-), or is a line of text (-m).

An agent with a model reads it as a person would. Short tasks, each with what must be
true afterwards and how to see that, are carried out best, one commit each:

  # A greeting

  ## Task 1: Write it

  Make greet.sh print "hello". See that ` + "`sh greet.sh`" + ` does.

  ## Task 2: Test it

  Add test.sh, which fails if the greeting changes.

The agent script has no model. A task is a heading "Task N" of any level; the blocks of
shell below it (fences marked sh, bash or shell) are run one after the other, and what
they changed becomes one commit with the heading as its message. The first command
that fails ends the run, and what was done stays:

  ## Task 1: Write it

  ~~~sh
  echo 'echo hello' > greet.sh
  ~~~
`

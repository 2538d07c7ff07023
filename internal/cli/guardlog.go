package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/term"
)

// followEvery is how often a followed log is looked at.
const followEvery = 200 * time.Millisecond

func guardLogCommand(a *commands) *cobra.Command {
	var follow, asJSON bool
	c := &cobra.Command{
		Use: "log", Short: "Show what the guard denied or noted, and what the canary found", Args: AtMost(0),
		Example: "  cco guard log\n  cco guard log --follow --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := audit.Open(a.Dirs.Data, time.Now)
			show := func(e audit.Entry) error { return a.entry(e, asJSON) }
			if follow {
				return log.Follow(cmd.Context(), followEvery, show)
			}
			return log.Read(show)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is written from now on")
	c.Flags().BoolVar(&asJSON, "json", false, "print the entries as JSON lines")
	return c
}

func (a *commands) entry(e audit.Entry, asJSON bool) error {
	if asJSON {
		return a.IO.JSONLine(e)
	}
	what := e.Kind
	if e.Rule != "" {
		what += " " + e.Rule
	}
	who := strings.TrimSpace(e.Session + " " + e.Agent)
	a.IO.Printf("%s  %s  %s  %s\n", a.IO.Paint(term.Dim, e.Time.Local().Format("2006-01-02 15:04:05")), safetext.Text(who),
		a.IO.Paint(term.Red, safetext.Text(what)), strings.ReplaceAll(safetext.Text(e.Reason), "\n", " "))
	return nil
}

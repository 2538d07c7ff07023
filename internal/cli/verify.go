package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/term"
)

func verifyCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "verify [NAME]", Short: "Try to break out of a box, and show what held", Args: AtMost(1),
		Long: `Try every known way out of a box from inside it: the host's files, processes,
sockets and keys, other sessions, the kernel's own doors. It prints what held, and
ends with exit 1 if anything that the backend promises did not hold.`,
		Example: "  cco box verify\n  cco box verify web --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			results, err := a.Verify(cmd.Context(), named(cfg, args))
			if err != nil {
				return err
			}
			return a.verdicts(results, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *commands) verdicts(results []verify.Result, asJSON bool) error {
	held, broken := 0, 0
	rows := [][]string{{"HELD", "PROBE", "WHAT"}}
	for _, r := range results {
		mark := "yes"
		switch {
		case r.Held:
			held++
		case r.Promised:
			broken++
			mark = "NO"
		default:
			mark = "no, not promised"
		}
		what := r.What
		if r.Detail != "" && !r.Held {
			what += ": " + r.Detail
		}
		rows = append(rows, []string{mark, r.Probe, what})
	}
	if asJSON {
		if err := a.IO.JSON(results); err != nil {
			return err
		}
	} else {
		a.IO.Table(rows)
		a.IO.Printf("%s\n", a.IO.Paint(term.Bold, fmt.Sprintf("%d of %d held", held, len(results))))
	}
	if broken > 0 {
		return fmt.Errorf("%s did not hold", count(broken, "promise"))
	}
	return nil
}

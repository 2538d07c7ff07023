package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/doctor"
	"github.com/cco-dev/cco/internal/term"
)

func doctorCommand(a *commands) *cobra.Command {
	var offline, asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check this machine, and say how to mend what is missing", Args: AtMost(0),
		Long: `Check this machine: git, room on the disk, what isolates boxes, agents, and the keys of
those that are installed, which their providers are asked about at no cost.`,
		Example: "  cco doctor\n  cco doctor --offline --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := a.Diagnose(cmd.Context(), offline)
			if err != nil {
				return err
			}
			return a.diagnosis(checks, asJSON)
		},
	}
	c.Flags().BoolVar(&offline, "offline", false, "ask no provider")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// diagnosis shows checks, and gives an error without a message if one of them has failed.
func (a *commands) diagnosis(checks []doctor.Check, asJSON bool) error {
	if asJSON {
		if err := a.IO.JSON(checks); err != nil {
			return err
		}
	} else {
		a.listChecks(checks)
	}
	if !doctor.Healthy(checks) {
		return &statusError{exitWrong}
	}
	return nil
}

func (a *commands) listChecks(checks []doctor.Check) {
	colours := map[doctor.Level]term.Colour{doctor.OK: term.Green, doctor.Warn: term.Yellow, doctor.Fail: term.Red}
	for _, c := range checks {
		level := a.IO.Paint(colours[c.Level], string(c.Level)) + strings.Repeat(" ", 5-len(c.Level))
		a.IO.Printf("%s %-24s %s\n", level, c.Name, c.Detail)
		if c.Mend != "" && c.Level != doctor.OK {
			a.IO.Printf("%s\n", indent(c.Mend, strings.Repeat(" ", 31)))
		}
	}
}

func indent(text, by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) }

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/session"
)

func sayCommand(a *commands) *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use: "say ID TEXT | -", Short: "Type something into a running session",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return app.Usagef("what is said to which session? See `%s --help`", cmd.CommandPath())
			case len(args) == 1:
				return app.Usagef("what is said to it? The text is missing, see `%s --help`", cmd.CommandPath())
			case len(args) > 2:
				return app.Usagef("too many arguments: %q; put what is said into quotes", args[2:])
			}
			return nil
		},
		Long: `Type something into the terminal of a running session, and press Enter: at once if its
agent takes that into the turn that is under way (claude, codex), otherwise when it is
at its prompt next. It is pasted, without control characters; - reads it from standard
input. What somebody has typed there without Enter is entered with it.`,
		Example: `  cco box say 3f9c01aa "Use tabs, and leave the tests alone"
  cco box say 3f9c01aa - <notes.txt`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			id, err := s.Resolve(ctx, args[0])
			if err != nil {
				return err
			}
			text, err := a.answerText(ctx, id, "", args[1:])
			if err != nil {
				return err
			}
			later, err := s.Say(ctx, id, text)
			if err != nil {
				return err
			}
			rec, err := s.Get(ctx, id)
			if err != nil {
				return err
			}
			if later {
				return Tell(a.IO, *asJSON, rec, "session %s will be told at its next turn", id)
			}
			return Tell(a.IO, *asJSON, rec, "session %s was told", id)
		}),
	}
	asJSON = JSONFlag(c)
	return c
}

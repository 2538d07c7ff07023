package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

func attentionCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "attention", Short: "List what waits for you: questions, limits, work that failed", Args: AtMost(0),
		Long: `List the sessions that get no further without you: agents with a question first,
then those that have reached a limit, then those that failed and left work that
exists nowhere else. Of each kind, what has waited longest comes first.`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, _ []string) error {
			needs, err := s.Attention(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(needs)
			}
			if len(needs) == 0 {
				a.IO.Say("nothing waits for you")
				return nil
			}
			for _, n := range needs {
				a.IO.Printf("%s  %s  %s  %s\n", n.ID, a.IO.Paint(term.Bold, needWords(n.Kind)), age(time.Since(n.Since)),
					safetext.Text(n.Title))
				for line := range strings.Lines(n.Words) {
					a.IO.Printf("  %s\n", safetext.Text(strings.TrimRight(line, "\n")))
				}
				a.IO.Printf("  %s\n", a.IO.Paint(term.Dim, n.Next))
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func needWords(k session.NeedKind) string {
	switch k {
	case session.NeedAnswer:
		return "asks"
	case session.NeedLimit:
		return "paused"
	case session.NeedLook:
		return "failed"
	}
	return string(k)
}

func answerCommand(a *commands) *cobra.Command {
	var f runFlags
	var detach, asJSON bool
	c := &cobra.Command{
		Use: "answer ID [TEXT | -]", Short: "Answer an agent's question, so that it goes on", Args: cobra.ArbitraryArgs,
		Long: `Answer the question of a session's agent: its conversation goes on with the
answer, in the same workspace. Without a text your editor is opened; with - the
answer is read from standard input.`,
		Example: `  cco attention
  cco answer 3f9c01aa "The second one, and drop the old table"
  cco answer 3f9c01aa - <notes.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usagef("session id missing, see `%s --help`", cmd.CommandPath())
			}
			if len(args) > 2 {
				return app.Usagef("too many arguments: %q; put the answer into quotes", args[2:])
			}
			return a.answer(cmd.Context(), f, args, detach, asJSON)
		},
	}
	c.ValidArgsFunction = completeFirst(a.sessionIDs)
	f.add(c)
	c.Flags().BoolVarP(&detach, "detach", "d", false, "return when the agent has started")
	c.Flags().BoolVar(&asJSON, "json", false, "print the session as JSON in the end; the agent's output goes to stderr")
	return c
}

func (a *commands) answer(ctx context.Context, f runFlags, args []string, detach, asJSON bool) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	o := a.RunOptions(cfg)
	if err := f.apply(&o.Run); err != nil {
		return err
	}
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	// Check before the editor opens, so that nobody writes in vain.
	rec, err := s.Asks(ctx, args[0])
	if err != nil {
		return err
	}
	text, err := a.answerText(ctx, rec, args[1:])
	if err != nil {
		return err
	}
	shown := showing{since: time.Now(), asJSON: asJSON, bell: cfg.Notify.Bell}
	rec, live, err := s.Answer(ctx, rec.ID, text, o)
	switch {
	case err != nil:
		return err
	case live:
		a.IO.Say("session %s has your answer; follow it with `cco box attach %s`", rec.ID, rec.ID)
		return nil
	case detach:
		return a.started(ctx, s, rec, shown)
	}
	return a.follow(ctx, s, rec, shown)
}

// maxAnswer bounds what is read; no answer is that long.
const maxAnswer = 1 << 20

func (a *commands) answerText(ctx context.Context, rec store.Session, args []string) (string, error) {
	switch {
	case len(args) == 1 && args[0] != "-":
		return args[0], nil
	case len(args) == 1:
		data, err := io.ReadAll(io.LimitReader(a.IO.In, maxAnswer))
		return string(data), err
	case a.IO.InTTY && a.IO.OutTTY:
		return a.edit(ctx, rec)
	}
	return "", app.Usagef("what is the answer? Give a text, or - to read it from standard input")
}

// edit lets the user write an answer below the question, as git does for messages.
func (a *commands) edit(ctx context.Context, rec store.Session) (string, error) {
	editor := a.Env("VISUAL")
	if editor == "" {
		editor = a.Env("EDITOR")
	}
	if editor == "" {
		return "", app.Usagef("no editor: set EDITOR, or give the answer as an argument")
	}
	dir, err := os.MkdirTemp("", "cco-answer-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var b strings.Builder
	b.WriteString("\n")
	for line := range strings.Lines("Session " + rec.ID + " asks:\n\n" + rec.Question) {
		b.WriteString(strings.TrimRight("# "+safetext.Text(strings.TrimRight(line, "\n")), " ") + "\n")
	}
	b.WriteString("#\n# Lines that begin with # are left out. An empty answer changes nothing.\n")
	path := filepath.Join(dir, "ANSWER")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return "", err
	}
	// The user's command, which may have arguments.
	err = proc.Run(ctx, proc.Cmd{Argv: []string{"sh", "-c", editor + ` "$1"`, "sh", path}, Stdin: a.IO.In,
		Stdout: a.IO.Out, Stderr: a.IO.Err})
	if err != nil {
		return "", fmt.Errorf("editor: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return withoutComments(string(data))
}

func withoutComments(text string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	if strings.TrimSpace(b.String()) == "" {
		return "", errors.New("the answer is empty, so nothing was changed")
	}
	return strings.TrimSpace(b.String()), nil
}

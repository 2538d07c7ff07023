package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/term"
)

// attentionFlags are those of `cco attention`.
type attentionFlags struct {
	repo          string
	later         string
	asJSON, watch bool
	key           string // of the repository
}

func attentionCommand(a *commands) *cobra.Command {
	var f attentionFlags
	c := &cobra.Command{
		Use: "attention", Short: "List what waits for you: finished agents, questions, limits, work to pull",
		Args: AtMost(0),
		Long: `List the sessions and phases that get no further without you: agents that have
finished and sit at their prompts first, then those with a question, then those
that have reached a limit, then phases whose trouble does not pass by itself, then
sessions that failed and left work that exists nowhere else, then those that are
done and wait to be pulled. Of each kind, what has waited longest comes first.

--later ID hides one until something about it changes. --watch goes on and prints the
list again whenever it changes, with --json as one line each time.`,
		Example: `  cco attention
  cco attention --repo . --json
  cco attention --later 3f9c01aa
  cco attention --watch --json`,
		PreRunE: func(*cobra.Command, []string) error {
			if f.later != "" && (f.watch || f.asJSON || f.repo != "") {
				return app.Usagef("--later goes with no other flag")
			}
			return nil
		},
		RunE: a.withPhases(a.onSessions(func(ctx context.Context, s *session.Service, _ []string) error {
			return a.attention(ctx, s, f)
		})),
	}
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&f.repo, "repo", "", "only what waits in the repository of `DIR`")
	c.Flags().StringVar(&f.later, "later", "", "hide the session or phase `ID` until something about it changes")
	c.Flags().BoolVar(&f.watch, "watch", false, "go on, and print the list whenever it changes")
	return c
}

func (a *commands) attention(ctx context.Context, s *session.Service, f attentionFlags) error {
	if f.later != "" {
		id, err := attention.Of(s).Later(ctx, f.later)
		if err != nil {
			return err
		}
		a.IO.Say("%s is not listed until something changes", id)
		return nil
	}
	if f.repo != "" {
		repo, err := a.OpenRepo(ctx, filepath.Join(a.Dir, f.repo))
		if filepath.IsAbs(f.repo) {
			repo, err = a.OpenRepo(ctx, f.repo)
		}
		if err != nil {
			return app.Usagef("--repo: %v", err)
		}
		f.repo, f.key = repo.Top, repo.Key()
	}
	if n, err := attention.Of(s).Unwatched(ctx); err != nil || n > 0 {
		if err != nil {
			return err
		}
		a.IO.Warn("nobody watches %s: no engine runs; `%s` starts one", count(n, "phase"), attention.Runner)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for before := []attention.Need(nil); ; {
		needs, err := attention.Of(s).Needs(ctx)
		if err != nil {
			return err
		}
		needs = slices.DeleteFunc(needs, func(n attention.Need) bool {
			return f.repo != "" && n.Repo != f.repo && (n.Key == "" || n.Key != f.key)
		})
		if before == nil || !slices.Equal(needs, before) {
			if err := a.showNeeds(needs, f); err != nil {
				return err
			}
			before = needs
		}
		if !f.watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (a *commands) showNeeds(needs []attention.Need, f attentionFlags) error {
	switch {
	case f.asJSON && f.watch:
		return a.IO.JSONLine(needs)
	case f.asJSON:
		return a.IO.JSON(needs)
	case len(needs) == 0:
		a.IO.Say("nothing waits for you")
		return nil
	}
	counts := map[attention.NeedKind]int{}
	words := map[attention.NeedKind]string{}
	for _, g := range attention.Groups() {
		words[g.Kind] = g.Word
	}
	for _, n := range needs {
		counts[n.Kind]++
		a.IO.Printf("%s  %s  %s  %s  %s\n", n.ID, a.IO.Paint(term.Bold, words[n.Kind]), Age(time.Since(n.Since)),
			safetext.Text(filepath.Base(n.Repo)), safetext.Text(n.Title))
		for line := range strings.Lines(n.Words) {
			a.IO.Printf("  %s\n", safetext.Text(strings.TrimRight(line, "\n")))
		}
		a.IO.Printf("  %s\n", a.IO.Paint(term.Dim, n.Next))
	}
	var parts []string
	for _, g := range attention.Groups() {
		if n := counts[g.Kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, g.Word))
		}
	}
	verb := "wait"
	if len(needs) == 1 {
		verb = "waits"
	}
	a.IO.Printf("%d %s: %s\n", len(needs), verb, strings.Join(parts, ", "))
	return nil
}

func answerCommand(a *commands) *cobra.Command {
	var f runFlags
	var shown showing
	c := &cobra.Command{
		Use: "answer ID [TEXT | -]", Short: "Answer an agent's question, so that it goes on",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return app.Usagef("session id missing, see `%s --help`", cmd.CommandPath())
			case len(args) > 2:
				return app.Usagef("too many arguments: %q; put the answer into quotes", args[2:])
			}
			return nil
		},
		Long: `Answer the question of a session's agent: its conversation goes on with the
answer, in the same workspace. Without a text your editor is opened; with - the
answer is read from standard input.`,
		Example: `  cco attention
  cco answer 3f9c01aa "The second one, and drop the old table"
  cco answer 3f9c01aa - <notes.txt`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			return a.answer(ctx, s, f, args, shown)
		}),
	}
	c.ValidArgsFunction = completeFirst(a.waiting)
	f.add(c)
	c.Flags().BoolVarP(&shown.detach, "detach", "d", false, "return when the agent has started")
	c.Flags().BoolVar(&shown.asJSON, "json", false,
		"print the session as JSON in the end; the agent's output goes to stderr")
	return c
}

func (a *commands) answer(ctx context.Context, s *session.Service, f runFlags, args []string, shown showing) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	o := a.RunOptions(cfg)
	if err := f.apply(&o.Run); err != nil {
		return err
	}
	shown.since, shown.bell, shown.terminal = time.Now(), cfg.Notify.Bell, cfg.Terminal
	id, err := s.Resolve(ctx, args[0])
	if err != nil {
		return err
	}
	rec, live, err := s.HandOff().Answer(ctx, id, func(question string) (string, error) {
		return a.answerText(ctx, id, question, args[1:])
	}, o)
	if err != nil {
		return err
	}
	if live {
		a.IO.Say("session %s has your answer; follow it with `cco box attach %s`", id, id)
		return nil
	}
	return a.showRun(ctx, s, rec, shown)
}

// maxAnswer bounds what is read; no answer is that long.
const maxAnswer = 1 << 20

func (a *commands) answerText(ctx context.Context, id, question string, args []string) (string, error) {
	switch {
	case len(args) == 1 && args[0] != "-":
		return args[0], nil
	case len(args) == 1:
		data, err := io.ReadAll(io.LimitReader(a.IO.In, maxAnswer))
		return string(data), err
	case a.IO.InTTY && a.IO.OutTTY:
		return a.edit(ctx, id, question)
	}
	return "", app.Usagef("what is the answer? Give a text, or - to read it from standard input")
}

// edit lets the user write an answer below the question, as git does for messages.
func (a *commands) edit(ctx context.Context, id, question string) (string, error) {
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
	for line := range strings.Lines("Session " + id + " asks:\n\n" + question) {
		b.WriteString(strings.TrimRight("# "+safetext.Text(strings.TrimRight(line, "\n")), " ") + "\n")
	}
	b.WriteString("#\n# Lines that begin with # are left out. An empty answer changes nothing.\n")
	path := filepath.Join(dir, "ANSWER")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return "", err
	}
	// The user's command, which may have arguments.
	cmd := proc.Cmd{Argv: []string{"sh", "-c", editor + ` "$1"`, "sh", path}, Stdin: a.IO.In, Stdout: a.IO.Out,
		Stderr: a.IO.Err}
	if tty, ok := a.IO.In.(*os.File); ok {
		attr, back := term.Foreground(tty)
		cmd.Attr = attr
		defer back()
	}
	err = proc.Run(ctx, cmd)
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

package cruising

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/term"
)

// maxReply bounds what is read from standard input: a forge takes less.
const maxReply = 64 << 10

func (t *tool) pr() *cobra.Command {
	c := cli.Group("pr", "Look at the pull request of the current branch, and answer on it",
		`Show the pull request of the branch that is checked out, as cruise sees it.
The forge is found by the git remote; --forge and --repo say otherwise.

  cco pr status              its state, its checks, and what is left of limits
  cco pr comments            everything that was said on it
  cco pr reply ID "Done."    answer a comment, in its thread if it has one`)
	var w phases.Where
	c.PersistentFlags().StringVar(&w.Forge, "forge", "",
		"github or gitea, where the host doesn't tell; with an address: gitea=https://git.example.org")
	c.PersistentFlags().StringVar(&w.Repo, "repo", "", "OWNER/NAME or HOST/OWNER/NAME, instead of what the remote says")
	c.PersistentFlags().StringVar(&w.Remote, "remote", "", "the git remote that is meant")
	c.PersistentFlags().StringVar(&w.Branch, "branch", "", "the branch that is meant, instead of the current one")
	c.AddCommand(t.prStatus(&w), t.prComments(&w), t.prReply(&w))
	return c
}

// onPull is the shape of commands about the pull request of a branch.
func (t *tool) onPull(w *phases.Where, do func(ctx context.Context, f phases.Forge, p forge.Pull,
	args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if w.Branch == "" {
			repo, err := t.OpenRepo(ctx, t.Dir)
			if err != nil {
				return err
			}
			head, err := repo.Head(ctx)
			if err != nil {
				return err
			}
			w.Branch = head.Branch
		}
		st, err := t.Store(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = st.Close() }()
		f, err := t.Forge(ctx, st, t.Dir, *w)
		if err != nil {
			return err
		}
		p, err := f.Find(ctx, w.Branch)
		if err != nil {
			return err
		}
		return do(ctx, f, p, args)
	}
}

// prStatus is what `cco pr status` shows.
type prStatus struct {
	forge.Pull
	Limits []forge.Limit `json:"limits,omitempty"`
}

func (t *tool) prStatus(w *phases.Where) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Show the state of the pull request", Args: cli.AtMost(0),
		Example: "  cco pr status\n  cco pr status --branch feature --json",
		RunE: t.onPull(w, func(ctx context.Context, f phases.Forge, p forge.Pull, _ []string) error {
			p, err := f.Pull(ctx, p.Number)
			if err != nil {
				return err
			}
			s := prStatus{p, f.Limits()}
			if asJSON {
				return t.IO.JSON(s)
			}
			showStatus(t.IO, s)
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func showStatus(out *term.Streams, s prStatus) {
	state := string(s.State)
	if s.Draft {
		state += ", draft"
	}
	out.Printf("#%d %s\n", s.Number, safetext.Text(s.Title))
	rows := [][]string{{"STATE", "MERGE", "CHECKS", "FROM", "INTO", "HEAD", "BY"},
		{state, string(s.Mergeable), string(s.Checks.State), s.Head.Name, s.Base.Name,
			fmt.Sprintf("%.10s", s.Head.Commit), s.Author}}
	out.Table(rows)
	for _, c := range s.Checks.All {
		if c.State != forge.ChecksPassed {
			out.Printf("%s: %s %s\n", c.State, safetext.Text(c.Name), safetext.Text(c.URL))
		}
	}
	out.Printf("%s\n", safetext.Text(s.URL))
	for _, l := range s.Limits {
		left := fmt.Sprintf("limit %s: %d of %d left until %s", l.Resource, l.Remaining, l.Limit,
			l.Reset.Local().Format("15:04"))
		if l.Remaining*10 < l.Limit || l.Limit == 0 {
			out.Warn("%s", left)
		} else {
			out.Detail("%s", left)
		}
	}
}

func (t *tool) prComments(w *phases.Where) *cobra.Command {
	var asJSON bool
	var since string
	c := &cobra.Command{
		Use: "comments", Short: "Show everything that was said on the pull request", Args: cli.AtMost(0),
		Long: `Show comments, line comments and reviews, oldest first. The words are those of
others: what a page would hide in them is made visible.

With --json the mark at the end can be given to --since to see only what is new.`,
		Example: "  cco pr comments\n  cco pr comments --json",
		RunE: t.onPull(w, func(ctx context.Context, f phases.Forge, p forge.Pull, _ []string) error {
			s, err := f.Said(ctx, p.Number, forge.Mark(since))
			if err != nil {
				return err
			}
			if asJSON {
				if s.Comments == nil {
					s.Comments = []forge.Comment{}
				}
				return t.IO.JSON(s)
			}
			if len(s.Comments) == 0 {
				t.IO.Say("nothing was said on #%d", p.Number)
			}
			for _, c := range s.Comments {
				showComment(t.IO, c)
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&since, "since", "", "only what is new since this mark")
	return c
}

func showComment(out *term.Streams, c forge.Comment) {
	who := c.Author + " (" + strings.ToLower(string(c.Association)) + ")"
	if c.Own {
		who += ", us"
	}
	head := fmt.Sprintf("%s  %s  %s", c.ID, c.Created.Local().Format("2006-01-02 15:04"), who)
	if c.Path != "" {
		head += "  " + c.Path
		if c.Line > 0 {
			head += fmt.Sprintf(":%d", c.Line)
		}
	}
	if c.State != "" {
		head += "  " + string(c.State)
	}
	out.Printf("%s\n", out.Paint(term.Bold, strings.ReplaceAll(safetext.Text(head), "\n", " ")))
	for line := range strings.Lines(safetext.Text(c.Body)) {
		out.Printf("    %s\n", strings.TrimSuffix(line, "\n"))
	}
}

func (t *tool) prReply(w *phases.Where) *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use: "reply ID TEXT|-", Short: "Answer a comment, in its thread if it has one", Args: cli.AtMost(2),
		Long: `Answer a comment, in its thread if it has one. With - the text is read from
standard input. Giving the same answer again changes nothing, so a command that
was interrupted can be repeated.`,
		Example: `  cco pr reply 1234 "Done."
  cco pr reply 1234 - <answer.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return app.Usagef("the id of a comment and a text are needed, see `cco pr reply --help`")
			}
			text := args[1]
			if text == "-" {
				data, err := io.ReadAll(io.LimitReader(t.IO.In, maxReply+1))
				if err != nil {
					return err
				}
				text = string(data)
			}
			if strings.TrimSpace(text) == "" || len(text) > maxReply {
				return app.Usagef("an answer has between 1 and %d bytes", maxReply)
			}
			return t.onPull(w, func(ctx context.Context, f phases.Forge, p forge.Pull, args []string) error {
				return t.reply(ctx, f, p, args[0], text, *asJSON)
			})(cmd, args)
		},
	}
	asJSON = cli.JSONFlag(c)
	return c
}

func (t *tool) reply(ctx context.Context, f phases.Forge, p forge.Pull, to, text string,
	asJSON bool) error {
	sum := sha256.Sum256([]byte(text))
	posted, err := f.Reply(ctx, p.Number, to,
		forge.Post{Key: fmt.Sprintf("pr-reply/%d/%s/%s", p.Number, to, hex.EncodeToString(sum[:8])), Body: text})
	if err != nil {
		return err
	}
	switch {
	case posted.Again:
		t.IO.Say("it was said before")
	case posted.Fallback != "":
		t.IO.Say("%s", posted.Fallback)
	}
	if asJSON {
		return t.IO.JSON(posted)
	}
	t.IO.Printf("%s %s\n", posted.ID, safetext.Text(posted.URL))
	return nil
}

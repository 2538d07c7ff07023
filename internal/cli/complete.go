package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// completions teach the shell the names of boxes and the ids of sessions.
func (a *commands) completions(boxes, sessions []*cobra.Command) {
	for _, c := range boxes {
		c.ValidArgsFunction = completeFirst(a.boxNames)
	}
	for _, c := range sessions {
		c.ValidArgsFunction = completeFirst(a.sessionIDs)
	}
}

// completion is what the shell offers: a word, and what it means.
type completion struct{ word, means string }

// completeFirst offers words for the first argument.
func completeFirst(list func(context.Context) ([]completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := list(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var words []string
		for _, c := range all {
			if strings.HasPrefix(c.word, begun) {
				words = append(words, c.word+"\t"+c.means)
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *commands) boxNames(ctx context.Context) (all []completion, err error) {
	boxes, err := a.Boxes()
	if err != nil {
		return nil, err
	}
	list, err := boxes.List(ctx)
	for _, b := range list {
		all = append(all, completion{b.Name, b.Backend + ", " + b.State})
	}
	return all, err
}

func (a *commands) sessionIDs(ctx context.Context) (all []completion, err error) {
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := s.List(ctx, "")
	for _, v := range list {
		all = append(all, completion{v.ID, string(v.State) + ": " + v.Title})
	}
	return all, err
}

func (a *commands) graves(ctx context.Context) (all []completion, err error) {
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := s.Graveyard(ctx, "")
	for _, g := range list {
		all = append(all, completion{g.ID, g.What + ": " + g.Title})
	}
	return all, err
}

package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/session/keeping"
)

// completion is what the shell offers: a word, and what it means.
type completion struct{ word, means string }

// completeFirst offers words for the first argument.
func completeFirst(list func(context.Context) ([]completion, error)) cobra.CompletionFunc {
	offer := completeAll(list)
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, args, begun)
	}
}

// completeAll offers words for every argument, each once.
func completeAll(list func(context.Context) ([]completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		all, err := list(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var words []string
		for _, c := range all {
			if strings.HasPrefix(c.word, begun) && !slices.Contains(args, c.word) {
				words = append(words, strings.TrimSuffix(c.word+"\t"+c.means, "\t"))
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
	list, err := keeping.Of(s).Graveyard(ctx, "")
	for _, g := range list {
		all = append(all, completion{g.Name, g.What + ": " + g.Title})
	}
	return all, err
}

// words offers a fixed list for the first argument.
func words(list func() []string) cobra.CompletionFunc {
	return completeFirst(func(context.Context) (all []completion, err error) {
		for _, w := range list() {
			all = append(all, completion{word: w})
		}
		return all, nil
	})
}

func (a *commands) settingNames(context.Context) (all []completion, err error) {
	list, err := a.Settings()
	for _, s := range list {
		all = append(all, completion{s.Name, s.About})
	}
	return all, err
}

// settingWords offers the names of settings, and then the values that make sense.
func (a *commands) settingWords(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeFirst(a.settingNames)(cmd, args, begun)
	}
	s, err := a.Setting(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return words(func() []string { return s.Words })(cmd, nil, begun)
}

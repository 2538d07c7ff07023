package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/store"
)

type completions = func(context.Context) ([]completion, error)

// flagValues are what flags of a name can be, in every command that has one.
func (a *commands) flagValues() map[string]completions {
	list := func(words ...string) completions {
		return func(context.Context) (all []completion, err error) {
			for _, w := range words {
				all = append(all, completion{word: w})
			}
			return all, nil
		}
	}
	agents := list(a.agentNames()...)
	return map[string]completions{
		"box": a.boxNames, "backend": a.valuesOf("box.backend"), "network": a.valuesOf("network.mode"),
		"continue": a.sessionIDs, "again": a.sessionIDs, "session": a.sessionIDs,
		"agent": agents, "agents": agents, "planner": agents, "reviewer": agents, "fixer": agents,
		"by": list(app.Accounts()...), "state": list(app.StateNames()...),
	}
}

// valuesOf are those that a setting can have.
func (a *commands) valuesOf(name string) completions {
	return func(context.Context) (all []completion, err error) {
		list, err := app.DefaultSettings()
		for _, s := range list {
			if s.Name == name {
				for _, w := range s.Words {
					all = append(all, completion{word: w})
				}
			}
		}
		return all, err
	}
}

// completeFlags teaches the shell the values of flags. It is done when the shell asks, because every start would pay.
func (a *commands) completeFlags(c *cobra.Command) {
	values := a.flagValues()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if list := values[f.Name]; list != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, completeValue(list, f.Value.Type() == "stringSlice"))
		}
	})
	for _, sub := range c.Commands() {
		a.completeFlags(sub)
	}
}

// completeValue offers the values of a flag, or of the last part of one that is a list.
func completeValue(list completions, several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		done, last := "", begun
		if i := strings.LastIndexByte(begun, ','); several && i >= 0 {
			done, last = begun[:i+1], begun[i+1:]
		}
		words, how := completeAll(list)(cmd, strings.Split(strings.TrimSuffix(done, ","), ","), last)
		for i := range words {
			words[i] = done + words[i]
		}
		return words, how
	}
}

// waiting are the sessions that ask something.
func (a *commands) waiting(ctx context.Context) (all []completion, err error) {
	list, _, err := a.ListSessions(ctx, app.Which{All: true, States: []string{string(store.Waiting)}})
	for _, v := range list {
		all = append(all, completion{v.ID, oneLine(v.Question, 60)})
	}
	return all, err
}

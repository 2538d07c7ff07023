package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// completions teach the shell the names of boxes and the ids of sessions.
func (a *app) completions(boxes, sessions []*cobra.Command) {
	for _, c := range boxes {
		c.ValidArgsFunction = a.completeBox
	}
	for _, c := range sessions {
		c.ValidArgsFunction = a.completeSession
	}
}

func (a *app) completeBox(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	boxes, err := a.boxes()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := boxes.List(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, b := range list {
		if strings.HasPrefix(b.Name, begun) {
			names = append(names, b.Name+"\t"+b.Backend+", "+b.State)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeSession(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, done, err := a.sessions(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer done()
	list, err := s.List(cmd.Context(), "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, v := range list {
		if strings.HasPrefix(v.ID, begun) {
			ids = append(ids, v.ID+"\t"+string(v.State)+": "+v.Title)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeGrave(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, done, err := a.sessions(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer done()
	list, err := s.Graveyard(cmd.Context(), "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, g := range list {
		if strings.HasPrefix(g.ID, begun) {
			ids = append(ids, g.ID+"\t"+g.What+": "+g.Title)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

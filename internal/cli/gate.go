package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
)

// addAccept adds the flag that takes what the gate holds up.
func addAccept(c *cobra.Command, accept *[]string) {
	c.Flags().StringSliceVar(accept, "accept", nil,
		"take changes of `KIND` that are refused or need consent; several times or apart by commas")
	_ = c.RegisterFlagCompletionFunc("accept", completeKinds)
}

func completeKinds(*cobra.Command, []string, string) (all []string, _ cobra.ShellCompDirective) {
	for _, k := range gate.Kinds() {
		all = append(all, string(k)+"\t"+k.Says())
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// gateOf is how the user wants to hear of what came.
func (a *commands) gateOf(ctx context.Context, cfg config.Config, accept []string) (g session.Gate, err error) {
	g.Policy = cfg.Pull.Policy
	if g.Accept, err = gate.ParseKinds(accept); err != nil {
		return g, app.Usagef("--accept: %v", err)
	}
	if a.IO.InTTY && a.IO.ErrTTY {
		g.Ask = func(kinds []gate.Kind) (bool, error) {
			var words []string
			for _, k := range kinds {
				words = append(words, string(k))
			}
			return Ask(ctx, a.IO, fmt.Sprintf("Take changes of kind %s?", strings.Join(words, ", ")))
		}
	}
	return g, nil
}

// ofKind is how many findings of a kind are shown. All are in the JSON, up to a hundred of each.
const ofKind = 5

// findings shows what a person must know, the most dangerous first.
func (a *commands) findings(r gate.Report, p gate.Policy) {
	for _, g := range r.Groups {
		response := ""
		if is := p.Response(g.Kind); is != gate.Tell {
			response = ", " + map[gate.Response]string{gate.Ask: "needs consent", gate.Refuse: "refused"}[is]
		}
		text := fmt.Sprintf("%s: %s (%s danger%s)", a.IO.Paint(dangerPaint(g.Danger), string(g.Kind)), g.Says, g.Danger,
			response)
		for _, f := range g.Findings[:min(ofKind, len(g.Findings))] {
			text += "\n  " + safetext.Line(f.Words())
		}
		if more := g.Count - min(ofKind, len(g.Findings)); more > 0 {
			text += fmt.Sprintf("\n  and %d more of kind %s", more, g.Kind)
		}
		a.IO.Warn("%s", text)
	}
	for _, n := range r.Notes {
		a.IO.Warn("%s", safetext.Text(n))
	}
}

func dangerPaint(d gate.Danger) term.Colour {
	if d == gate.High {
		return term.Red
	}
	return term.Yellow
}

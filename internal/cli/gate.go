package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
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
		g.Ask = func(found gate.Group, patch session.Patch) (bool, error) { return a.askFor(ctx, found, patch) }
	}
	return g, nil
}

// askFor asks about one kind. With d it shows all that has changed in its files first, and asks again.
func (a *commands) askFor(ctx context.Context, found gate.Group, patch session.Patch) (bool, error) {
	for {
		a.IO.Settle()
		_, _ = fmt.Fprintf(a.IO.Err, "Take %s of kind %s? [y/N, d shows the whole patch] ",
			count(found.Count, "change"), found.Kind)
		line, err := a.IO.Line(ctx)
		if errors.Is(err, io.EOF) {
			return false, nil // a closed terminal is a no
		}
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "d", "diff":
			style := git.DiffPlain
			if a.IO.Color {
				style = git.DiffColour
			}
			files := found.Files()
			if len(files) == 0 {
				a.IO.Say("it is in no file: what is said above is all of it")
				continue
			}
			if err := patch(a.IO.Err, style, files...); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
	}
}

// ofKind is how many findings of a kind are shown. All are in the JSON, up to a hundred of each.
const ofKind = 5

// findings shows what a person must know, the most dangerous first.
func (a *commands) findings(r gate.Report, p gate.Policy) {
	for _, g := range r.Groups {
		response := ""
		if is := p.Of(g); is != gate.Tell {
			response = ", " + map[gate.Response]string{gate.Ask: "needs consent", gate.Refuse: "refused"}[is]
		}
		text := fmt.Sprintf(": %s (%s danger%s)", g.Says, g.Danger, response)
		for _, f := range g.Findings[:min(ofKind, len(g.Findings))] {
			text += "\n  " + safetext.Line(f.Words())
			for _, more := range f.Rest() {
				text += "\n    " + safetext.Line(more)
			}
		}
		if more := g.Count - min(ofKind, len(g.Findings)); more > 0 {
			text += fmt.Sprintf("\n  and %d more of kind %s", more, g.Kind)
		}
		a.IO.WarnOf(dangerPaint(g.Danger), string(g.Kind), text)
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

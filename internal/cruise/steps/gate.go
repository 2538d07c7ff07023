package steps

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
)

const (
	shownOfKind  = 10          // findings that the comment has
	settingsFile = ".cco.toml" // where a repository's settings stand
)

// examine looks at what came since a commit: what must not be pushed of it, and how large the whole change is and what
// a person must know of it. Of a merge, what git would not have made of its parents counts.
func (d *Doer) examine(ctx context.Context, repo *git.Repo, since string, in cruise.PublishIn,
	p *cruise.Published) error {
	merges := in.Base != "" || p.Onto != "" // elsewhere there is none that git would have to make anew
	fresh, err := gate.Examine(ctx, repo, gate.Range{Base: since, Tip: p.Head, Remerge: merges})
	if err != nil {
		return err
	}
	policy, err := d.policy(ctx, repo, in.Workspace.Base)
	if err != nil {
		return err
	}
	for _, g := range fresh.Groups {
		why, lines := holdWhy(g.Kind), linesOf(g, string(g.Kind)+": ", strings.Clone)
		switch policy.Of(g) {
		case gate.Refuse:
			p.Refused = append(p.Refused, lines...)
			continue
		case gate.Ask:
			if why != cruise.HoldCI {
				why = cruise.HoldPolicy
			}
		case gate.Tell:
		}
		if why != "" {
			p.Holds = append(p.Holds, cruise.Hold{Kind: string(g.Kind), Why: why, Lines: lines})
		}
	}
	for i := range p.Commits {
		p.Commits[i].Subject = fresh.Mask(p.Commits[i].Subject)
	}
	base := cmp.Or(in.Base, in.Workspace.Base)
	sum, err := repo.Summary(ctx, base, p.Head)
	if err != nil {
		return err
	}
	p.Lines = sum.Added + sum.Deleted
	all, err := gate.Examine(ctx, repo, gate.Range{Base: base, Tip: p.Head, Remerge: merges})
	if err != nil {
		return err
	}
	p.Told, p.Kinds = told(all)
	return holdPlaces(ctx, repo, since, base, fresh, p)
}

// holdWhy says why a phase asks about a kind, whatever the user's policy is; "" if it does not.
func holdWhy(k gate.Kind) cruise.HoldWhy {
	return map[gate.Kind]cruise.HoldWhy{"ci": cruise.HoldCI, "weakened": cruise.HoldWeakened}[k]
}

// linesOf are the findings of a kind, and how many more there are.
func linesOf(g gate.Group, begin string, show func(words string) string) (list []string) {
	shown := g.Findings[:min(shownOfKind, len(g.Findings))]
	for _, f := range shown {
		list = append(list, begin+show(f.Words()))
	}
	if more := g.Count - len(shown); more > 0 {
		list = append(list, fmt.Sprintf("%sand %d more of kind %s", begin, more, g.Kind))
	}
	return list
}

// policy is the user's, as far as the repository does not want it stricter: by its settings in the commit that the
// phase began with, which no agent of the phase has written.
func (d *Doer) policy(ctx context.Context, repo *git.Repo, base string) (gate.Policy, error) {
	mine := d.Settings.Pull.Gate.Policy
	if err := repo.CheckOID(base); err != nil || d.Settings.Stricter == nil {
		return mine, err
	}
	cat, err := repo.Host().CatFile(ctx)
	if err != nil {
		return mine, err
	}
	defer cat.Close()
	const most = 1 << 20
	o, err := cat.Get(base+":"+settingsFile, most)
	if err != nil || o.Kind != "blob" {
		return mine, err
	}
	if o.Size > most {
		return mine, fmt.Errorf("%s of %s is too large", settingsFile, git.Short(base))
	}
	return d.Settings.Stricter(mine, settingsFile+" of "+git.Short(base), o.Data)
}

// told is a report for people who merge: as Markdown, and in a few words.
func told(r gate.Report) (text, kinds string) {
	if len(r.Groups) == 0 {
		return "", ""
	}
	var b strings.Builder
	var few []string
	b.WriteString("**cco**: what a person must know of this change before merging it\n")
	for _, g := range r.Groups {
		few = append(few, fmt.Sprintf("%s %d", g.Kind, g.Count))
		fmt.Fprintf(&b, "\n**%s** (%s danger): %s\n", g.Kind, g.Danger, g.Says)
		b.WriteString(strings.Join(linesOf(g, "- ", cruise.Code), "\n") + "\n")
	}
	return b.String(), strings.Join(few, ", ")
}

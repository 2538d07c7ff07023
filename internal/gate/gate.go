// Package gate finds what a person must know of commits that an agent made, before a branch moves: what runs by itself,
// what decides who reviews, where packages come from, keys in the text, tests that became weaker. Everything that it
// knows of risks is a row in a table. It decides nothing by itself: Policy does.
package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/unit"
)

// Finding is one thing to look at. All text is safe to print, and no secret is in it.
type Finding struct {
	Kind   Kind     `json:"kind"`
	Danger Danger   `json:"danger"`
	Path   string   `json:"path,omitempty"`
	Line   int      `json:"line,omitempty"`   // in the new file; in the old one if Text begins with a minus
	Text   string   `json:"text,omitempty"`   // the most telling line, with its sign in front
	Lines  []string `json:"lines,omitempty"`  // the next ones
	More   int      `json:"more,omitempty"`   // how many lines have changed beside them
	Says   string   `json:"says"`             // for a person
	Count  int      `json:"count"`            // how often, at least 1
	Commit string   `json:"commit,omitempty"` // where it is, if it need not be in the last one
	Where  string   `json:"where,omitempty"`  // "uncommitted" or a side branch, if it is not on the branch

	answer Response // if not the kind's
	raw    string   // a secret's value, never shown
	whole  string   // what it was found in, if that is not the value itself
	file   string   // the path as it is
}

// Group is what was found of one kind.
type Group struct {
	Kind     Kind      `json:"kind"`
	Danger   Danger    `json:"danger"`   // of the worst
	Response Response  `json:"response"` // the strictest, unless the user's settings say otherwise
	Says     string    `json:"says"`     // what the kind can do
	Count    int       `json:"count"`    // of findings, those that were left out too
	Findings []Finding `json:"findings"`
}

// Report is all that was found, the most dangerous first. No kind takes room from another.
type Report struct {
	Groups []Group        `json:"groups,omitempty"`
	Notes  []string       `json:"notes,omitempty"` // what was not looked at
	Files  []git.FileStat `json:"-"`               // what changed from the base to the tip, of one look
}

// Range is what came: the commits that the tips add to what was known.
type Range struct {
	Base  string   // what the tip is compared with
	Tip   string   // what a branch would move to
	Known []string // beside the base; what these have is not new
	// Remerge judges a merge by what differs from what git would have made of its parents, and not by what it brings.
	Remerge bool
}

// mostOfKind is how many findings of a kind are kept. The rest is counted.
const mostOfKind = 100

// Examine looks at what is new in a repository whose objects were checked before.
func Examine(ctx context.Context, r *git.Repo, in Range) (Report, error) {
	if err := r.CheckOID(append([]string{in.Base, in.Tip}, in.Known...)...); err != nil {
		return Report{}, err
	}
	if in.Base == in.Tip {
		return Report{}, nil
	}
	x := &examination{ctx: ctx, repo: r, host: r.Host(), in: in, hooks: r.HooksInTree()}
	defer func() {
		if x.cat != nil {
			x.cat.Close()
		}
	}()
	if err := x.run(); err != nil {
		return Report{}, fmt.Errorf("look at what came: %w", err)
	}
	report := x.report()
	for _, c := range x.changes {
		report.Files = append(report.Files, git.FileStat{Path: safetext.Line(c.path), Added: c.plus,
			Deleted: c.minus, Binary: c.binary})
	}
	return report, nil
}

// report sorts findings into groups.
func (x *examination) report() Report {
	groups := map[Kind]*Group{}
	for _, f := range x.findings {
		k := f.Kind.row()
		f.Danger, f.answer = cmp.Or(f.Danger, k.danger), cmp.Or(f.answer, k.response)
		g := groups[f.Kind]
		if g == nil {
			g = &Group{Kind: f.Kind, Says: k.says, Response: f.answer, Findings: []Finding{}}
			groups[f.Kind] = g
		}
		if g.Danger = max(g.Danger, f.Danger); f.answer.order() > g.Response.order() {
			g.Response = f.answer
		}
		g.Count++
		g.Findings = append(g.Findings, f)
	}
	r := Report{Notes: x.notes}
	for _, g := range groups {
		slices.SortStableFunc(g.Findings, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(b.answer.order(), a.answer.order()), cmp.Compare(b.Danger, a.Danger))
		})
		g.Findings = g.Findings[:min(len(g.Findings), mostOfKind)]
		r.Groups = append(r.Groups, *g)
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Danger, a.Danger), cmp.Compare(a.Kind.rank(), b.Kind.rank()))
	})
	return r
}

// Merge adds what was found elsewhere.
func (r Report) Merge(other Report) Report {
	x := &examination{notes: append(slices.Clone(r.Notes), other.Notes...)}
	seen, more := map[string]bool{}, map[Kind]int{}
	for _, g := range append(slices.Clone(r.Groups), other.Groups...) {
		more[g.Kind] += g.Count - len(g.Findings)
		for _, f := range g.Findings {
			at := fmt.Sprintf("%s\x00%s\x00%d\x00%s\x00%s", f.Kind, f.Path, f.Line, f.Says, f.Text)
			if !seen[at] {
				seen[at] = true
				x.findings = append(x.findings, f)
			}
		}
	}
	out := x.report()
	for i := range out.Groups {
		out.Groups[i].Count += more[out.Groups[i].Kind]
	}
	return out
}

// In says of all findings where they are.
func (r Report) In(where string) Report {
	for _, g := range r.Groups {
		for i := range g.Findings {
			g.Findings[i].Where = where
		}
	}
	return r
}

// Mask hides the secrets that were found in a text of the agent's that is shown.
func (r Report) Mask(text string) string {
	for _, g := range r.Groups {
		for _, f := range g.Findings {
			for line := range strings.Lines(f.raw) { // a key may have many
				if line = strings.TrimSpace(line); len(line) >= 8 || line != "" && line == f.raw {
					text = strings.ReplaceAll(text, line, masked(line))
				}
			}
		}
	}
	return text
}

// Words is a finding in one line: where, what, and the line itself.
func (f Finding) Words() string {
	at := f.Path
	switch {
	case at == "" && f.Commit != "":
		at = "message of " + git.Short(f.Commit)
	case f.Line > 0:
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	if f.Where != "" {
		at += " (" + f.Where + ")"
	} else if f.Commit != "" && f.Path != "" {
		at += " in " + git.Short(f.Commit)
	}
	text := at + ": " + f.Says
	if f.Count > 1 && len(f.Lines) == 0 && !strings.Contains(f.Says, fmt.Sprint(f.Count)) {
		text += fmt.Sprintf(" (%d)", f.Count)
	}
	if f.Text != "" {
		text += ": " + f.Text
	}
	return text
}

// Rest is what belongs below the line that Words gives: the next lines, and how many more there are.
func (f Finding) Rest() []string {
	rest := slices.Clone(f.Lines)
	if f.More > 0 {
		rest = append(rest, "… and "+unit.Count(f.More, "more line"))
	}
	return rest
}

// Files are the paths of what was found, as they are: not safe to print.
func (g Group) Files() (all []string) {
	for _, f := range g.Findings {
		if f.file != "" && !slices.Contains(all, f.file) {
			all = append(all, f.file)
		}
	}
	return all
}

// Kinds are those that were found.
func (r Report) Kinds() []Kind {
	var all []Kind
	for _, g := range r.Groups {
		all = append(all, g.Kind)
	}
	return all
}

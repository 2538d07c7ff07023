package cruise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/cruise/reading"
)

// Approval ends a phase and permits a merge. All domains give it, or a person does, by a verdict or by a word.
type Approval struct {
	Name    string `json:"name,omitempty"`    // of the person, "" for all domains
	Comment string `json:"comment,omitempty"` // where it was said
	Word    bool   `json:"word,omitempty"`    // it was the word that ends a review, not a verdict on the forge
	Commit  string `json:"commit"`
	End     End    `json:"end"`
	Words   string `json:"words"`
}

// Given is the verdict that the reviewer's own account gave last.
type Given struct {
	Head    string `json:"head"`
	Approve bool   `json:"approve"`
}

// Note is something to be said on the pull request, once for each key.
type Note struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// Merged is the result of a merge: it is done, it has to wait for somebody, its approval no longer counts, or the
// request targets another branch than expected.
type Merged struct {
	Done bool   `json:"done,omitempty"`
	Wait string `json:"wait,omitempty"`
	Lost string `json:"lost,omitempty"`
	Base string `json:"base,omitempty"`
	// Refused is why the forge does not merge it, in its own words.
	Refused string `json:"refused,omitempty"`
	// Checks says that they are not green, or no longer.
	Checks bool `json:"checks,omitempty"`
	// Target is set where the base has to be merged into the branch first.
	Target *Target `json:"target,omitempty"`
}

// Stand is how a pull request stands at the moment of its merge.
type Stand struct {
	Head, Base string
	Verdicts   []Comment // current ones, of people
	Word       *Comment  // the comment that an approval rests on, as it is now
	Gone       []string  // demands that people withdrew
	Checks     Checked
}

// demands are what people asked for and a fixer has answered, which does not settle it for a merge.
func (l *Ledger) demands() []Finding {
	return slices.DeleteFunc(slices.Clone(l.Findings), func(f Finding) bool {
		return !f.Demand || !slices.Contains([]FindingState{Fixed, Declined, Answered}, f.State)
	})
}

// settles says whether a demand is settled: its author took it back or has approved since, or somebody who may write
// has approved of this head since, by a verdict or by the word that ends a review.
func (s Stand) settles(d Finding, a Approval) bool {
	return slices.Contains(s.Gone, d.Comment) || a.Word && s.Word.Write && s.Word.Changed.After(d.At) ||
		slices.ContainsFunc(s.Verdicts, func(v Comment) bool {
			return v.approves() && v.Changed.After(d.At) && (v.Author == d.Author || v.Write && v.Commit == s.Head)
		})
}

// May decides whether a merge may happen now. It returns the zero value if so.
func (in MergeIn) May(s Stand) Merged {
	if in.Base != "" && s.Base != in.Base {
		return Merged{Base: s.Base}
	}
	a := in.Approval
	var said *Comment
	switch {
	case a.Word:
		if said = s.Word; said == nil || !reading.Complete(said.Body) {
			return Merged{Lost: fmt.Sprintf("%s no longer says that the review is complete.", a.Name)}
		}
	case a.Name != "":
		said = First(s.Verdicts, func(v Comment) bool {
			return v.approves() && v.Author == a.Name && v.Commit == a.Commit
		})
		if said == nil {
			return Merged{Lost: fmt.Sprintf("the approval of %s by %s stands no more.", abbrev(a.Commit), a.Name)}
		}
	}
	if said != nil && !said.Write && !in.Only {
		return Merged{Lost: fmt.Sprintf("%s may not write to this repository, so that the approval of %[1]s is none for a "+
			"merge.", a.Name)}
	}
	if s.Head != a.Commit {
		if a.Name != "" {
			return Merged{Lost: fmt.Sprintf("%s was approved, and the request is at %s.", abbrev(a.Commit), abbrev(s.Head))}
		}
		return Merged{Wait: fmt.Sprintf("the request to be at %s, which was approved, and not at %s", abbrev(a.Commit),
			abbrev(s.Head))}
	}
	var who []string
	for _, v := range s.Verdicts {
		if !v.approves() && v.Write {
			who = append(who, v.Author)
		}
	}
	for _, d := range in.Demands {
		if !s.settles(d, a) {
			who = append(who, d.Author)
		}
	}
	slices.Sort(who)
	if who = slices.DeleteFunc(slices.Compact(who), func(n string) bool { return Among(in.Over, n) }); len(who) > 0 {
		return Merged{Wait: strings.Join(who, ", ") + requestStands}
	}
	s.Checks.Expected = in.Expected
	w := weigh(in.Checks, in.IgnoreChecks, s.Checks)
	green := s.Checks.Head == a.Commit && len(w.action)+len(w.failed)+len(w.red) == 0 && w.waits() == ""
	return Merged{Checks: in.Checks.counts() && !green}
}

// approval is what the domains' verdicts on the present head amount to, nil if that is none.
func (s *State) approval() *Approval {
	yes, overruled, others := s.verdicts()
	if len(others) > 0 || len(yes)+len(overruled) == 0 {
		return nil
	}
	words := "Every domain approved of " + abbrev(s.Head.Commit) + "."
	if len(overruled) > 0 {
		words = fmt.Sprintf("Nothing is open at %s. %s did not approve: what is wanted there was declined.",
			abbrev(s.Head.Commit),
			strings.Join(overruled, ", "))
	}
	return &Approval{Commit: s.Head.Commit, End: EndApproved, Words: words}
}

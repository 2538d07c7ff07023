package cruise

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/safetext"
)

// Sort is what a trusted person's comment is.
type Sort string

// The sorts. "" is one that nobody knows: it is work, and counts as a demand.
const (
	SortDemand   Sort = "demand"
	SortQuestion Sort = "question" // that words answer
	SortRemark   Sort = "remark"   // that wants nothing
)

// SortIn asks a model what a comment is.
type SortIn struct {
	Phase  string `json:"phase"`
	Worker Worker `json:"worker"`
	Text   string `json:"text"`
}

const (
	maxSorted = 4 << 10 // is what a model is asked about: who writes more wants something
	maxAnswer = 4 << 10 // of a fixer to a person
)

// ParseSort reads a model's answer: anything but one of the words is none.
func ParseSort(answer string) Sort {
	s := Sort(strings.ToLower(strings.Trim(answer, " \t\r\n.\"'`*")))
	if !slices.Contains([]Sort{SortDemand, SortQuestion, SortRemark}, s) {
		return ""
	}
	return s
}

// sortOf says what a trusted person's comment is. A request for changes is a demand whatever it says, and what stands
// on a line is never a remark.
func sortOf(m *machine, c Comment) Sort {
	switch {
	case c.State == forge.ReviewChanges, len(c.Body) > maxSorted:
		return ""
	case c.Path == "" && reading.Wish(c.Body) == "":
		return SortRemark
	}
	s, _ := do(m, StepSort, SortIn{Phase: m.ID(), Worker: m.Spec.Planner, Text: c.Body}) // without a model it is work
	if s == SortRemark && c.Path != "" {
		return ""
	}
	return s
}

// accept takes out a stranger's comment or a remark that the user wants to be work, nil if there is none.
func (b *Inbox) accept(id string) (c *Comment) {
	for _, list := range []*[]Comment{&b.Held, &b.Remarks} {
		*list = slices.DeleteFunc(*list, func(o Comment) bool {
			if o.ID == id {
				c = &o
			}
			return o.ID == id
		})
	}
	return c
}

// forget drops a remark whose comment says something else now.
func (b *Inbox) forget(id string) {
	b.Remarks = slices.DeleteFunc(b.Remarks, func(o Comment) bool { return Unedited(o.ID) == Unedited(id) })
}

// TrailerAnswer begins a line in which a fixer answers a person in words, without a commit.
const TrailerAnswer = "Cco-Answer"

// answersIn reads what a fixer answers in words, by the findings' ids.
func answersIn(report string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(report) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), TrailerAnswer+":")
		id, words, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if words = strings.TrimSpace(words); ok && words != "" {
			all[id] = reading.Harmless(safetext.Cut(words, maxAnswer))
		}
	}
	return all
}

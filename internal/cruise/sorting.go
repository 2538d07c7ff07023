package cruise

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/safetext"
)

// Remark says whether words only thank or praise, so that nobody has to do anything about them. Only words of a short
// list make a remark: in doubt it is a wish.
func Remark(text string) bool {
	praise := false
	n := 0
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return unicode.IsSpace(r) ||
			strings.ContainsRune(".,!;:()*_~-–—\"", r)
	}) {
		word = strings.Trim(word, "'’")
		if n++; n > maxRemark {
			return false
		}
		switch {
		case word == "":
		case slices.Contains(praising(), word), picture(word):
			praise = true
		case !slices.Contains(filling(), word):
			return false
		}
	}
	return praise
}

// maxRemark bounds a remark, in words.
const maxRemark = 15

func praising() []string {
	return []string{"thanks", "thank", "thx", "ty", "lgtm", "great", "good", "nice", "nicely", "awesome", "excellent",
		"perfect", "lovely", "cool", "fine",
		"cheers", "done", "finished", "ready", "well", "+1", "👍", "neat", "wow", "brilliant", "superb", "bravo", "amazing"}
}

// filling holds words that can't be part of a request.
func filling() []string {
	return []string{"you", "so", "much", "very", "really", "all", "a", "lot", "looks", "looking", "to", "me", "for", "the",
		"this", "that", "it", "is", "its",
		"it's", "that's", "are", "work", "job", "from", "my", "side", "and", "i", "we", "yes", "ok", "okay", "quick",
		"fixing", "everyone", "both", "pretty",
		"as", "always", "of", "approved", "happy", "with"}
}

// picture says whether a word is nothing but emoji.
func picture(word string) bool {
	for _, r := range word {
		if !unicode.In(r, unicode.So, unicode.Sk, unicode.Variation_Selector) && r != '\u200d' {
			return false
		}
	}
	return word != ""
}

// wishIn gives a comment's text, "" if it asks for nothing because it holds only markers or a remark.
func wishIn(body string) string {
	if OnlyMarkers(body) || Remark(withoutMarkers(body)) {
		return ""
	}
	return body
}

func withoutMarkers(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		l := strings.TrimSpace(line)
		if rest, ok := cutMarker(l); ok {
			b.WriteString(rest + "\n")
		} else if !isVerdict(l) {
			b.WriteString(line)
		}
	}
	return b.String()
}

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

// maxSorted bounds what a model is asked about: who writes more wants something.
const maxSorted = 4 << 10

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
	case OnlyMarkers(c.Body), c.State == ReviewWants, len(c.Body) > maxSorted:
		return ""
	case c.Path == "" && wishIn(c.Body) == "":
		return SortRemark
	}
	s, _ := do(m, StepSort, SortIn{Phase: m.ID(), Worker: m.Spec.Planner, Text: c.Body}) // without a model it is work
	if s == SortRemark && c.Path != "" {
		return ""
	}
	return s
}

// remark keeps what wants nothing: the user may accept it as work nevertheless.
func (b *Inbox) remark(c Comment) {
	b.Remarks = append(b.Remarks, c)
	b.Remarks = b.Remarks[max(0, len(b.Remarks)-maxHeld):]
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

// maxAnswer bounds what a fixer says to a person.
const maxAnswer = 4 << 10

// answersIn reads what a fixer answers in words, by the findings' ids.
func answersIn(report string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(report) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), TrailerAnswer+":")
		id, words, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if words = strings.TrimSpace(words); ok && words != "" {
			all[id] = Harmless(safetext.Cut(words, maxAnswer))
		}
	}
	return all
}

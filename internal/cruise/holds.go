package cruise

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/forge"
)

// HoldWhy says why a change is not pushed without a person's consent.
type HoldWhy string

// The reasons. A pushed file of CI runs there with secrets, so each is asked about. Weaker tests make a failed check
// green without a repair, so they are asked about while a check is red and before a merge; changes of tests and
// settings while a check is red. A kind that the user's policy asks about is asked about once.
const (
	HoldCI       HoldWhy = "ci"
	HoldWeakened HoldWhy = "weakened"
	HoldRed      HoldWhy = "red"
	HoldMerge    HoldWhy = "merge" // of a base, otherwise than git does by itself
	HoldPolicy   HoldWhy = "policy"
)

// Hold is a kind of change that may need consent, with its lines.
type Hold struct {
	Kind  string   `json:"kind"`
	Why   HoldWhy  `json:"why"`
	File  string   `json:"file,omitempty"` // that a consent holds for
	Lines []string `json:"lines"`
}

// NeedConsent are the kinds in the work that waits for a person's consent.
func (s *State) NeedConsent() []Hold {
	if s.Consent.Holding == "" || s.Outbox.Published == nil {
		return nil
	}
	return s.held(*s.Outbox.Published)
}

// held are the kinds in a work that need a person's consent.
func (s *State) held(p Published) (list []Hold) {
	red := s.red()
	for _, h := range p.Holds {
		may := slices.Contains(s.Spec.MayChange, h.Kind)
		switch h.Why {
		case HoldWeakened:
			may = !red && (may || !s.Spec.Merge)
		case HoldRed:
			may = !red || h.File != "" &&
				(slices.Contains(s.Consent.Files, h.File) || h.Kind == "tests" && s.Ledger.wanted(h.File))
		case HoldPolicy:
			may = may || slices.Contains(s.Consent.Kinds, h.Kind)
		case HoldMerge:
			may = false
		case HoldCI:
			may = may && !red
		}
		if !may {
			list = append(list, h)
		}
	}
	answersCheck := func(id string) bool {
		f := s.Ledger.Find(id)
		return f != nil && f.Check != ""
	}
	for _, c := range p.Commits {
		words := len(c.Files) > 0 && !slices.ContainsFunc(c.Files, func(f string) bool { return !Prose(f) })
		if red && words && s.Kind != Planning && slices.ContainsFunc(c.Findings, answersCheck) { // a plan is words
			list = append(list, Hold{Kind: "docs", Why: HoldRed, Lines: []string{"docs: " + abbrev(c.ID) +
				" answers a failed check and changes only words: " + some(c.Files)}})
		}
	}
	return list
}

// wanted says whether a person asked for a change of a file: a comment stands on it, or names it.
func (l *Ledger) wanted(file string) bool {
	return slices.ContainsFunc(l.Findings, func(f Finding) bool {
		return f.Domain == "" && f.State != Dropped && !strings.HasPrefix(f.Comment, fromBase) &&
			(f.Path == file || namesFile(f.Text, file))
	})
}

// namesFile says whether a text names a file, by its path or the end of it: a part of another word is no name.
func namesFile(text, file string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("`'\"()[]<>,;:!?", r)
	}), func(word string) bool {
		word = strings.TrimRight(word, ".")
		return strings.ContainsAny(word, "./") && strings.HasSuffix("/"+file, "/"+word)
	})
}

// Prose says whether a file is for people alone, by its name.
func Prose(file string) bool {
	name := strings.ToLower(path.Base(file))
	end := path.Ext(name)
	return slices.Contains([]string{".md", ".markdown", ".rst", ".adoc", ".txt"}, end) ||
		end == "" && slices.Contains([]string{"readme", "license", "licence", "notice", "authors", "changelog",
			"contributing", "copying", "todo"}, name)
}

// red says whether a check failed and was not seen green since.
func (s *State) red() bool {
	return len(s.Checks.Red) > 0 || slices.ContainsFunc(s.Ledger.OpenOnes(), func(f Finding) bool { return f.Check != "" })
}

// readChecks reads the checks of the pushed head before anything is pushed onto it. Only what was seen green since is
// no longer red: work that another round was for may take away what failed.
func (m *machine) readChecks() {
	if m.Spec.Checks.counts() && m.PR != nil {
		m.rememberRed(attempt(m, StepChecks, ChecksIn{Where: m.where()}))
	}
}

// rememberRed notes which checks are red and which are no longer.
func (s *State) rememberRed(got Checked) {
	w := weigh(s.Spec.Checks, s.Spec.IgnoreChecks, got)
	for _, c := range got.All {
		remember(&s.Checks.Names, c.Name)
		if c.State == forge.ChecksPassed {
			s.Checks.Red = slices.DeleteFunc(s.Checks.Red, func(name string) bool { return name == c.Name })
		}
	}
	if len(s.Checks.Red) == 0 {
		s.Checks.RedTests = nil
	}
	for _, c := range append(w.failed, w.red...) {
		remember(&s.Checks.Red, c.Name)
	}
}

// mayPush asks if work needs consent before it is pushed.
func (m *machine) mayPush(p Published) {
	m.readChecks()
	held := m.held(p)
	if len(held) == 0 || m.Consent.Let == p.Head {
		return
	}
	var kinds, lines []string
	for _, h := range held {
		remember(&kinds, h.Kind)
		lines = append(lines, h.Lines...)
	}
	m.Consent.Holding = p.Head
	m.askWhy(fmt.Sprintf("the commits up to %s are not pushed without your consent (%s): %s. `cco cruise resume` pushes "+
		"them; `cco cruise fix --comment TEXT` has them made anew", abbrev(p.Head), strings.Join(kinds, ", "),
		strings.Join(lines, "; ")),
		"its last commits are not pushed without consent: "+strings.Join(kinds, ", "))
	leave()
}

// consent lets work be pushed that a person has seen, and no other.
func (s *State) consent(head string) {
	if head == "" || head != s.Consent.Holding {
		return
	}
	for _, h := range s.NeedConsent() {
		switch {
		case h.Why == HoldPolicy:
			s.Consent.Kinds = append(s.Consent.Kinds, h.Kind)
		case h.File != "":
			s.Consent.Files = append(s.Consent.Files, h.File)
		}
	}
	s.Consent.Let, s.Consent.Holding = head, ""
}

// remake has work made anew that a person does not want to be pushed.
func (s *State) remake() {
	held := s.NeedConsent()
	if len(held) == 0 || s.Stage != StageAsk {
		return
	}
	s.Consent.Refused = nil
	for _, h := range held {
		s.Consent.Refused = append(s.Consent.Refused, h.Lines...)
	}
	again := map[Stage]Stage{StagePublish: StageWork, StageAnswer: StageFix}
	s.Consent.Holding, s.Outbox.Published, s.Ask.Resume = "", nil, again[s.Ask.Resume]
}

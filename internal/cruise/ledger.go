package cruise

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"
)

// FindingState is where a finding stands.
type FindingState string

// The states of a finding. One that comes back after it was fixed is open again and counted.
const (
	Open     FindingState = "open"
	Fixed    FindingState = "fixed"
	Declined FindingState = "declined"
	Noted    FindingState = "noted"    // mentioned in an approval
	Answered FindingState = "answered" // in words
	Dropped  FindingState = "dropped"  // taken back by its author
)

// Finding is one thing that a reviewer or a person asked for. Its id lasts across rounds.
type Finding struct {
	ID       string       `json:"id"`
	Domain   string       `json:"domain,omitempty"` // "" for a person's comment
	Path     string       `json:"path,omitempty"`
	Line     int          `json:"line,omitempty"`
	Severity string       `json:"severity,omitempty"`
	Text     string       `json:"text"`
	Author   string       `json:"author,omitempty"`
	URL      string       `json:"url,omitempty"`
	Comment  string       `json:"comment,omitempty"`  // the forge's id of the comment; "" if it is not posted
	Check    string       `json:"check,omitempty"`    // the failed check that it is about
	Accepted bool         `json:"accepted,omitempty"` // a stranger said it, and the user accepted it
	Demand   bool         `json:"demand,omitempty"`   // a person has to settle it before a merge
	At       time.Time    `json:"at,omitzero"`        // when a person said it, by the forge's clock
	State    FindingState `json:"state"`
	Reason   string       `json:"reason,omitempty"` // why it was declined
	Commit   string       `json:"commit,omitempty"` // that fixed it, or at which it was declined
	Reopened int          `json:"reopened,omitempty"`
	Round    int          `json:"round"` // in which it was last raised
	// Stirred says that the code there has changed since it was declined, so that it may be raised again.
	Stirred bool `json:"stirred,omitempty"`
	// Insisted says that it was raised again after it was declined, and Ruled that the user lets it stay declined.
	Insisted bool `json:"insisted,omitempty"`
	Ruled    bool `json:"ruled,omitempty"`
}

// minor is the severity of what needs no answer but the fixer's.
const minor = "minor"

// disputed says that a finding was declined, and that a person has to say whether it stays so.
func (f Finding) disputed() bool {
	return f.State == Declined && !f.overruled() && (f.Insisted || f.Severity == "blocker")
}

// overruled says that a finding was declined for good. About a failed check there is a question of its own.
func (f Finding) overruled() bool {
	return f.State == Declined && (f.Severity == minor || f.Ruled || f.Check != "")
}

// Ledger is everything that was ever asked for in a phase, in the order in which it came.
type Ledger struct {
	Findings []Finding `json:"findings,omitempty"`
	// Counts is how many were open at the end of each round.
	Counts []int `json:"counts,omitempty"`
}

// Identity is what makes two findings the same: the domain, the place and the words. Lines move, so they don't count,
// and neither do case, spaces and punctuation.
func Identity(domain, file, text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r <= 127
	})
	if file != "" {
		file = path.Clean(file)
	}
	sum := sha256.Sum256([]byte(strings.ToLower(domain) + "\x00" + file + "\x00" + strings.Join(words, " ")))
	return hex.EncodeToString(sum[:6])
}

// Find gives the finding of that id, nil if there is none.
func (l *Ledger) Find(id string) *Finding {
	return First(l.Findings, func(f Finding) bool { return f.ID == id })
}

// First gives the first of a list that is meant, nil if there is none.
func First[T any](list []T, meant func(T) bool) *T {
	i := slices.IndexFunc(list, meant)
	if i < 0 {
		return nil
	}
	return &list[i]
}

// twin is the id of an open finding that says the same in another domain, "" if there is none.
func (l *Ledger) twin(f Finding) string {
	for _, o := range l.Findings {
		if o.State == Open && o.Domain != "" && o.Check == "" && o.Domain != f.Domain &&
			Identity("", o.Path, o.Text) == Identity("", f.Path, f.Text) {
			return o.ID
		}
	}
	return ""
}

// EditedMark stands between a comment's id and what tells an edit of it from its first words: an edited comment is a
// new one.
const EditedMark = "~"

// Unedited is the id of a comment, edited or not, on the forge.
func Unedited(id string) string {
	id, _, _ = strings.Cut(id, EditedMark)
	return id
}

// Said gives the finding made from a person's comment, edited or not; nil if there is none.
func (l *Ledger) Said(comment string) *Finding {
	id := Unedited(comment)
	return First(l.Findings, func(f Finding) bool { return f.Domain == "" && id != "" && Unedited(f.Comment) == id })
}

// Raise adds a finding, says whether it is work, and gives it as it stands. A finding declined with a reason isn't,
// unless its code has changed since; a fixed one is open again. A reviewer may name a known finding's id.
func (l *Ledger) Raise(f Finding) (stands *Finding, work bool) {
	if f.Check == "" && (f.ID == "" || l.Find(f.ID) == nil) { // a check's identity is not its whole text
		f.ID = Identity(f.Domain, f.Path, f.Text)
		if f.Domain == "" && f.Comment != "" {
			f.ID = Identity("", f.Comment, f.Text) // people may say the same twice and mean it
		}
	}
	old := l.Find(f.ID)
	switch {
	case old == nil:
		f.State = Open
		l.Findings = append(l.Findings, f)
		return l.Find(f.ID), true
	case old.State == Open:
		old.Round = f.Round
		return old, false
	case old.State == Declined && (!old.Stirred || old.Ruled):
		old.Insisted, old.Severity = true, cmp.Or(f.Severity, old.Severity)
		return old, false
	case old.State != Noted:
		old.Reopened++
	}
	old.State, old.Stirred = Open, false
	old.Round, old.Line = f.Round, f.Line
	return old, true
}

// Note adds something that an approving reviewer mentions; nil if it is known already.
func (l *Ledger) Note(f Finding) *Finding {
	f.ID = Identity(f.Domain, f.Path, f.Text)
	if l.Find(f.ID) != nil {
		return nil
	}
	f.State = Noted
	l.Findings = append(l.Findings, f)
	return l.Find(f.ID)
}

// OpenOnes gives the findings that wait for an answer.
func (l *Ledger) OpenOnes() []Finding { return l.in(Open) }

// in gives the findings of a state.
func (l *Ledger) in(state FindingState) []Finding {
	return slices.DeleteFunc(slices.Clone(l.Findings), func(f Finding) bool { return f.State != state })
}

// wishes are the requests of people that nobody has answered.
func (l *Ledger) wishes() []Finding {
	return slices.DeleteFunc(l.OpenOnes(), func(f Finding) bool { return f.Domain != "" })
}

// posted are the comments on the forge that open findings have.
func (l *Ledger) posted() (comments []string) {
	for _, f := range l.OpenOnes() {
		if f.Comment != "" && !strings.HasPrefix(f.Comment, LocalComment) {
			comments = append(comments, f.Comment)
		}
	}
	return comments
}

// base is the commit of a base that a fixer has to merge, "" if there is none.
func (l *Ledger) base() string {
	for _, f := range l.OpenOnes() {
		if commit, ok := strings.CutPrefix(f.Comment, fromBase); ok {
			return commit
		}
	}
	return ""
}

// drop takes back open findings.
func (l *Ledger) drop(which func(Finding) bool) {
	for i := range l.Findings {
		if f := &l.Findings[i]; f.State == Open && which(*f) {
			f.State = Dropped
		}
	}
}

// Settle records the outcome of a round for a finding.
func (l *Ledger) Settle(id string, s FindingState, reason, commit string) {
	if f := l.Find(id); f != nil {
		f.State, f.Stirred, f.Insisted = s, false, false
		f.Reason, f.Commit = reason, commit
	}
}

// Stir marks the declined findings in files that have changed.
func (l *Ledger) Stir(files []string) {
	for i := range l.Findings {
		if f := &l.Findings[i]; f.State == Declined && f.Path != "" && slices.Contains(files, path.Clean(f.Path)) {
			f.Stirred = true
		}
	}
}

// Forget counts anew how often findings come back, and how many are open.
func (l *Ledger) Forget() {
	l.Counts = nil
	for i := range l.Findings {
		l.Findings[i].Reopened = 0
	}
}

// Close ends a round.
func (l *Ledger) Close() { l.Counts = append(l.Counts, len(l.OpenOnes())) }

// Circles says why the phase goes in circles, "" while it doesn't.
func (l *Ledger) Circles() string {
	for _, f := range l.Findings {
		if f.Reopened >= 2 && f.State == Open {
			return "the same finding came back twice: " + Short(f.Text)
		}
	}
	if n := len(l.Counts); n >= 3 && l.Counts[n-1] > 0 && l.Counts[n-1] >= l.Counts[n-2] &&
		l.Counts[n-2] >= l.Counts[n-3] {
		return "two rounds went by without fewer open findings"
	}
	return ""
}

// Short is the beginning of a text, on one line.
func Short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}

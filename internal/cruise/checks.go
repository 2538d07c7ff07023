package cruise

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/safetext"
)

// CheckRule says which checks have to be green before an approval counts.
type CheckRule string

// The rules.
const (
	ChecksRequired CheckRule = "required" // those that the forge requires; where it requires none, all that report
	ChecksAll      CheckRule = "all"
	ChecksNone     CheckRule = "none"
)

// counts says whether any check counts.
func (r CheckRule) counts() bool { return r != ChecksNone && r != "" }

// CheckRules is every rule that can be asked for.
func CheckRules() []CheckRule { return []CheckRule{ChecksRequired, ChecksAll, ChecksNone} }

// ChecksIn asks how the checks of a pull request's head stand.
type ChecksIn struct {
	Where
	// Within is how old an answer may be that was read for another phase: half as long as this one waits now.
	Within time.Duration `json:"within,omitempty"`
}

// Checked is how they stand.
type Checked struct {
	Head     string        `json:"head"`
	All      []forge.Check `json:"all,omitempty"`
	Required []string      `json:"required,omitempty"` // by the rules of the base, with stars in patterns
	Base     []string      `json:"base,omitempty"`     // names of those that fail on the base branch itself
	CI       bool          `json:"ci,omitempty"`       // checks report on the base
	Expected []string      `json:"expected,omitempty"` // names that reported on earlier heads
}

// weighed is what checks mean for a phase.
type weighed struct {
	failed  []forge.Check // to be repaired
	red     []forge.Check // those that the base fails too, and that are required
	also    []forge.Check // those that it fails too, and that are not
	action  []string
	pending []string
	missing []string // required or seen before, and not reported
}

// weigh sorts the checks that count.
func weigh(rule CheckRule, ignore []string, c Checked) (w weighed) {
	if !rule.counts() {
		return w
	}
	ignored := func(name string) bool {
		return slices.ContainsFunc(ignore, func(p string) bool { return fits(p, name) })
	}
	required := func(name string) bool {
		return slices.ContainsFunc(c.Required, func(p string) bool { return fits(p, name) })
	}
	counts := func(name string) bool {
		return !ignored(name) && (rule != ChecksRequired || len(c.Required) == 0 || required(name))
	}
	for _, v := range c.All {
		if !counts(v.Name) {
			continue
		}
		switch v.State {
		case forge.ChecksPassed:
		case forge.ChecksPending:
			w.pending = append(w.pending, v.Name)
		case forge.ChecksAction:
			w.action = append(w.action, v.Name)
		default:
			switch onBase := slices.Contains(c.Base, v.Name); {
			case !onBase:
				w.failed = append(w.failed, v)
			case required(v.Name):
				w.red = append(w.red, v)
			default:
				w.also = append(w.also, v)
			}
		}
	}
	for i, p := range slices.Concat(c.Required, c.Expected) {
		counted := i < len(c.Required) || counts(p)
		if counted && !ignored(p) && !slices.Contains(w.missing, p) &&
			!slices.ContainsFunc(c.All, func(v forge.Check) bool { return fits(p, v.Name) }) {
			w.missing = append(w.missing, p)
		}
	}
	return w
}

// fits says whether a name is meant by a name, or by a pattern whose stars stand for slashes too, as on the forges.
func fits(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00").Replace
	ok, err := path.Match(plain(pattern), plain(name))
	return pattern == name || err == nil && ok
}

// waits says what is not yet there, "" if all is.
func (w weighed) waits() string {
	var parts []string
	if len(w.pending) > 0 {
		parts = append(parts, "checks that run: "+some(w.pending))
	}
	if len(w.missing) > 0 {
		parts = append(parts, "checks that have not reported: "+some(w.missing))
	}
	return strings.Join(parts, "; ")
}

const (
	checkDomain = "checks"         // of findings that failed checks are
	maxFailed   = 20               // checks that are seen to at once; the others fail still when these are repaired
	maxSummary  = 4 << 10          // of what a fixer is told of a check
	patience    = time.Hour        // for a check that is not there, before a person is asked
	silence     = 10 * time.Minute // of a head without any check, where checks report on the base
)

// settle is how long checks have to report where none is required.
func (s Spec) settle() time.Duration { return 3 * s.quiet() }

// checking is the stage in which the checks of an approved commit are waited for.
type checking struct{ *machine }

// checks waits until they are green. A failed one is run again once, and what fails for good is work.
func (m checking) checks() {
	m.look()
	if len(m.Ledger.wishes()) > 0 {
		m.to(StageWatch) // the new head will need an approval of its own
		return
	}
	got := m.withReruns(attempt(m.machine, StepChecks, ChecksIn{Where: m.where(), Within: m.Looks.Backoff.Interval() / 2}))
	now := m.now()
	got.Expected = m.Checks.Names
	m.Checks.Last = &got
	m.rememberRed(got)
	if failed := m.decideChecks(got, now); m.runAgain(got.Head, failed) {
		m.Waiting.For = "checks that run again: " + names(failed)
	} else if len(failed) > 0 {
		m.repair(m.readLogs(failed))
	}
	m.stay(StageChecks)
	wait := m.Looks.Backoff.Interval()
	if left := m.Checks.Since.Add(m.Spec.settle()).Sub(now); left > 0 && left < wait {
		wait = left
	}
	m.waitSlower(wait)
}

// decideChecks moves the phase on if the checks say how, and else says what it waits for. It gives those that failed.
func (s *State) decideChecks(got Checked, now time.Time) (failed []forge.Check) {
	commit := s.Review.Approval.Commit
	if s.Checks.Of != commit {
		s.Checks.Of, s.Checks.Since = commit, now
	}
	waited := now.Sub(s.Checks.Since)
	w := weigh(s.Spec.Checks, s.Spec.IgnoreChecks, got)
	silent := got.CI && len(got.All)+len(got.Required) == 0
	switch {
	case got.Head != commit:
		s.Waiting.For = "the forge to show " + abbrev(commit)
	case len(w.action) > 0:
		s.Waiting.For = "somebody on the forge: " + some(w.action)
		s.askOnce("act-"+some(w.action), "a check waits for somebody on the forge: "+some(w.action)+
			": do what it wants there, and go on")
	case len(w.pending) > 0 && waited < patience:
		s.Waiting.For = w.waits()
	case len(w.failed) > 0:
		return w.failed[:min(len(w.failed), maxFailed)]
	case len(w.red) > 0:
		s.Waiting.For = "a check that fails on the base branch as well: " + names(w.red)
		s.askOnce("red-"+commit, "a required check fails on the base branch as well: "+names(w.red)+
			": repair it there, and go on")
	case w.waits() != "":
		if s.Waiting.For = w.waits(); waited >= patience {
			s.askOnce(askedLate+commit, "this has been waited for for an hour: "+w.waits()+
				": going on waits for what the forge requires, and no longer for anything else")
		}
	case len(w.also) > 0 && s.merges() && s.askOnce("also-"+commit,
		"a check fails here and on the base branch as well: "+names(w.also)+": going on merges it nevertheless"):
	case len(got.Required) == 0 && waited < s.Spec.settle(), silent && waited < silence:
		s.Waiting.For = "checks to report"
	case silent && s.merges() && s.askOnce("silent-"+commit, "nothing has reported on "+abbrev(commit)+
		" within ten minutes, and checks report on the base branch: going on merges it without"):
	default:
		s.green()
	}
	return nil
}

// askedLate begins the key of a question about checks that don't report.
const askedLate = "late-"

// askOnce asks about something that is asked about once, and says whether it did.
func (s *State) askOnce(key, question string) bool {
	if s.Checks.Asked == key {
		return false
	}
	s.Checks.Asked = key
	s.askWhy(question, question)
	return true
}

// goWithout no longer waits for checks that fell silent, because the user says so.
func (s *State) goWithout() {
	if s.Stage == StageAsk && strings.HasPrefix(s.Checks.Asked, askedLate) {
		s.Checks.Names, s.Checks.Red, s.Checks.Since = nil, nil, time.Time{}
	}
}

// green has an approved phase end or merged, if its approval still holds.
func (s *State) green() {
	if s.merges() {
		s.to(StageMerge)
		return
	}
	s.to(StageCompare)
}

// repair makes findings of failed checks, and has them answered. It asks where all were declined before.
func (s *State) repair(failed []forge.Check) {
	open := false
	var list []string
	for _, c := range failed {
		list = append(list, Code(c.Name))
		f := Finding{ID: Identity(checkDomain, c.Name, firstError(c.Summary)), Domain: checkDomain, Check: c.Name,
			Severity: "major", Author: "the forge", URL: c.URL, Round: s.Round, Text: checkText(c, s.Review.Approval.Commit)}
		if last, _ := s.Ledger.Raise(f); last.State == Open {
			open, last.Text = true, f.Text
		}
	}
	if open {
		s.Review.Approval = nil
		s.note("failed-"+s.Checks.Of, fmt.Sprintf("these checks failed on %s: %s. A fixer is asked.",
			abbrev(s.Checks.Of), strings.Join(list, ", ")))
		s.to(StageFix)
		return
	}
	s.Waiting.For = "checks that fail, and that the fixer declined to repair: " + names(failed)
	s.askOnce("declined-"+s.Checks.Of, "checks fail, and the fixer has declined to repair them: "+names(failed)+
		": say more with `cco cruise fix --comment`, or repair it yourself")
}

func names(all []forge.Check) string {
	var list []string
	for _, c := range all {
		list = append(list, c.Name)
	}
	return some(list)
}

// some lists names for people, and no more of them than somebody reads.
func some(list []string) string {
	if more := len(list) - maxFailed; more > 0 {
		return strings.Join(list[:maxFailed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

func checkText(c forge.Check, commit string) string {
	text := fmt.Sprintf("The check %s failed on %s.", c.Name, abbrev(commit))
	if said := strings.TrimSpace(c.Summary); said != "" {
		text += " It says:\n" + reading.Harmless(safetext.Cut(said, maxSummary))
	}
	return text
}

var (
	errorLine = regexp.MustCompile(`(?i)\b(error|fail\w*|panic|fatal|exception|undefined|cannot|expected|want|` +
		`assert\w*)\b`)
	unstable = regexp.MustCompile(`(?i)\d{4}-\d\d-\d\d[t ][\d:.,]+(?:z|[+-][\d:]+)?|0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|` +
		`\d+(?:[.:,]\d+)*(?:\s?(?:ns|µs|ms|s|m|h)\b)?`)
)

// firstError is the first line that tells of an error, without what differs from run to run: times, durations, line
// numbers and addresses.
func firstError(summary string) string {
	lines := strings.Split(strings.TrimSpace(summary), "\n")
	first := lines[max(0, slices.IndexFunc(lines, errorLine.MatchString))]
	return unstable.ReplaceAllString(strings.TrimSpace(first), "")
}

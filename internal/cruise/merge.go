package cruise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
)

// approve ends the review. If this was the task's last kind, a draft is marked as ready, where the user wants that. The
// approval counts when the checks are green; then the request is merged, where the user wants that.
func (s *State) approve(a Approval) {
	s.Ask = Ask{}
	s.Review.Approval = &a
	if s.Stage != StageChecks {
		s.Looks.Backoff.Secs = 0
	}
	switch {
	case s.lastKind() && s.Spec.Ready && !s.Review.Ready:
		s.to(StageReady)
	case s.Spec.Checks.counts():
		s.to(StageChecks)
	default:
		s.green()
	}
}

// ready marks an approved draft as ready. Checks that don't run on drafts begin then.
func (m *machine) ready() {
	attempt(m, StepReady, m.where())
	m.Review.Ready = true
	m.approve(*m.Review.Approval)
}

// complete handles the word that ends a review. It applies to what was on the forge when it was written, not to a
// commit that came later or in the same second.
func (m *machine) complete(c Comment) {
	head, pushed := m.Head.Commit, m.Head.PushedAt
	known := slices.Contains([]string{"", m.Head.Commit, m.Head.Before}, m.head)
	if !known && m.head == m.Foreign.Commit {
		head, pushed, known = m.Foreign.Commit, m.Foreign.At, true
	}
	if !known || !c.Changed.After(pushed) {
		m.note("word-"+c.ID, fmt.Sprintf("what %s wrote counts for what was here before: %s came after it, or at the same "+
			"moment. Write it again if that is meant.",
			c.Author, abbrev(cmp.Or(m.head, head))))
		return
	}
	m.yes = &Approval{Name: c.Author, Comment: c.ID, Word: true, Commit: head, End: EndComplete, Words: c.Author +
		" said so."}
}

// conclude ends the phase if the look that was just processed gives a reason to.
func (m *machine) conclude(state forge.State) {
	yes := m.yes
	m.yes = nil
	switch {
	case state == forge.Merged:
		words := ""
		if a := m.Review.Approval; m.Stage == StageMerge && a != nil && a.Commit == m.head {
			words = a.Words // we have merged it, on a machine that died before it could say so
		}
		m.end(EndMerged, words)
	case state == forge.Closed:
		m.end(EndClosed, "")
	case yes == nil:
	case len(m.Ledger.wishes()) == 0:
		m.approve(*yes)
	case yes.Word:
		// a resumed phase begins with them
		m.end(yes.End, yes.Words+" It is not merged where that was wanted: wishes are open.")
	}
	// With an approval, open wishes start another round, whose head needs an approval of its own.
}

// merging are the stages in which what was approved is merged, or compared with what stands for a last time.
type merging struct{ *machine }

// merge merges what was approved, or ends a phase that does not merge. The step checks again whether the approval
// holds. While it may not go on, the phase tells people whom it waits for, and reads their comments.
func (m merging) merge() {
	stage := m.Stage
	m.look()
	if len(m.Ledger.wishes()) > 0 {
		m.to(StageWatch) // the new head will need an approval of its own
		return
	}
	in := MergeIn{
		Where: m.where(), Head: m.Review.Approval.Commit, Base: m.Base.Branch, Approval: *m.Review.Approval,
		Over: m.Review.Over, Only: stage == StageCompare, Checks: m.Spec.Checks, IgnoreChecks: m.Spec.IgnoreChecks,
		Expected: m.Checks.Names,
	}
	if !in.Only {
		in.Demands = m.Ledger.demands()
	}
	got := attempt(m.machine, StepMerge, in)
	switch {
	case got.Done && in.Only:
		m.endApproved()
		return
	case got.Done:
		m.end(EndMerged, m.Review.Approval.Words)
		return
	case got.Target != nil:
		m.raiseBase(*got.Target)
		m.to(StageWatch) // the merge needs an approval of its own
		return
	case got.Refused != "":
		m.refused(got.Refused)
		m.Waiting.For = "the forge, which does not merge it: " + got.Refused // it is said on the request if it lasts
		got.Wait = m.Waiting.For
	case got.Lost != "":
		m.note("lost-"+m.Review.Approval.Comment, got.Lost+" It does not count.")
		m.Review.Approval = nil
		m.to(StageWatch)
		return
	case got.Base != "":
		m.retargeted(got.Base)
		m.stay(stage)
	}
	if why := got.Wait; why != "" && why != m.Waiting.For {
		m.Waiting.For = why
		m.note("waits-"+Identity("", "", why)+"-"+abbrev(in.Head), "it is approved, and waits for "+why+".")
	}
	m.waitSlower(m.Looks.Backoff.Interval())
	if got.Checks && m.Stage == stage {
		m.to(StageChecks)
	}
}

// refusedFor is how long a forge may refuse a merge: it may still be finding out whether it can.
const refusedFor = 5 * time.Minute

// refused asks about a refusal that lasts.
func (m merging) refused(why string) {
	now := m.now()
	if m.Waiting.RefusedSince.IsZero() {
		m.Waiting.RefusedSince = now
	}
	if now.Sub(m.Waiting.RefusedSince) >= refusedFor {
		m.Waiting.RefusedSince = time.Time{}
		m.askWhy("the forge does not merge it: "+why+": going on tries again", "the forge does not merge it: "+why)
		leave()
	}
}

// requestStands is what a merge waits for, behind the names of those who requested changes.
const requestStands = ", whose request for changes stands"

// InTheWay names those whose requests for changes a merge waits for.
func (s *State) InTheWay() []string {
	names, ok := strings.CutSuffix(s.Waiting.For, requestStands)
	if !ok {
		return nil
	}
	return strings.Split(names, ", ")
}

// overrule lets a merge ignore somebody's request for changes, because the user says so.
func (s *State) overrule(name string) {
	if remember(&s.Review.Over, name) {
		s.note("over-"+name, "the request for changes by "+Code(name)+
			" is passed over: the user who runs this said `cco cruise resume --over`.")
	}
}

// retargeted notices that a pull request goes into another branch. Reviews and the size of the change refer to the new
// branch. Approvals were given for the old one, so every domain judges again, and the user is asked before a merge.
func (m *machine) retargeted(base string) {
	before := cmp.Or(m.Base.Branch, base)
	m.Base.Branch = before // a phase that took up a request learns it by its first look
	if base == "" || base == before {
		return
	}
	asking := m.Stage == StageAsk
	t := attempt(m, StepTarget, TargetIn{Where: m.where(), Base: base, Head: m.Head.Commit})
	m.Base, m.Review.Judgements = Base{Branch: base, From: t.From}, nil
	m.note("base-"+base+"-"+abbrev(m.Head.Commit),
		fmt.Sprintf("this goes into %s now, and no longer into %s: it is reviewed against that.", Code(base), Code(before)))
	if asking {
		return // it stays with its question, and the domains have no verdict
	}
	m.to(StageReview)
	if m.Spec.Merge {
		m.askWhy(fmt.Sprintf("the pull request goes into %q now, and no longer into %q: going on reviews it against that "+
			"and merges it there", base, before), "it goes into another branch now, and was to be merged")
	}
}

// judge has the reviewer's own account give one verdict on the head, when every domain has finished with it.
func (m reviewing) judge() {
	yes, overruled, others := m.verdicts()
	no := slices.Concat(overruled, others)
	approve := len(no) == 0
	if v := m.Review.Given; len(yes)+len(no) == 0 || v != nil && v.Head == m.Head.Commit && v.Approve == approve {
		return // it was said, or there is nothing to say because all skipped it
	}
	body := "Every domain approves of " + abbrev(m.Head.Commit) + "."
	if !approve {
		body = fmt.Sprintf("Not every domain approves of %s: %s.", abbrev(m.Head.Commit), strings.Join(no, ", "))
	}
	m.postVerdict("verdict", Given{Head: m.Head.Commit, Approve: approve}, body)
}

// withdraw takes back an approval before more is pushed onto what it was for.
func (m *machine) withdraw() {
	if v := m.Review.Given; v != nil && v.Approve && v.Head != m.Head.Commit && m.PR != nil {
		m.postVerdict("withdrawn", Given{Head: v.Head},
			"More is on its way: the approval of "+abbrev(v.Head)+" does not hold for it.")
	}
}

func (m *machine) postVerdict(what string, v Given, body string) {
	as := forge.RequestChanges
	if v.Approve {
		as = forge.Approve
	}
	attempt(m, StepPostReview, PostReviewIn{Where: m.where(), Head: v.Head, As: as, Body: body,
		Key: fmt.Sprintf("%s-%s-%s-%d", what, m.Kind, v.Head, m.Life.Again)})
	m.Review.Given = &v
}

// note queues a comment for the pull request.
func (s *State) note(key, text string) {
	if s.PR != nil && !slices.ContainsFunc(s.Outbox.Notes, func(n Note) bool { return n.Key == key }) {
		s.Outbox.Notes = append(s.Outbox.Notes, Note{Key: key, Text: "**cco**: " + reading.Harmless(text)})
	}
}

// postNotes posts the queued comments. One that can't be posted is only in status and log: no phase stops for it, and
// one that looks does so meanwhile.
func (m *machine) postNotes() {
	say := persist[SayIn, struct{}]
	if m.looks() {
		say = do[SayIn, struct{}]
	}
	for len(m.Outbox.Notes) > 0 && m.Stage != StageEnded {
		n := m.Outbox.Notes[0]
		_, failed := say(m, StepSay, SayIn{Where: m.where(), Key: n.Key, Text: n.Text})
		if failed != nil && failed.Temporary {
			m.Waiting.Trouble = StepSay.Name + ": " + failed.Msg
			return
		}
		m.Outbox.Notes = slices.DeleteFunc(m.Outbox.Notes, func(o Note) bool { return o.Key == n.Key })
	}
}

package cruise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Side is which of two heads goes on after they have parted.
type Side string

// The sides. The zero value takes commits that came on top of ours.
const (
	Theirs Side = "theirs" // the forge's head; ours is kept at a ref
	Ours   Side = "ours"   // our head, on top of both
)

// HeadsIn names our head, and the one that the branch has on the forge.
type HeadsIn struct {
	Where
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// Pusher is somebody who pushed.
type Pusher struct {
	Name  string `json:"name"`
	Bot   bool   `json:"bot,omitempty"`
	Us    bool   `json:"us,omitempty"`    // an account of ours, and so the user
	Write bool   `json:"write,omitempty"` // may write to the repository, as a person
	Key   bool   `json:"key,omitempty"`   // may be a deploy key, which the forge shows by this name
}

// Pushers is how the branch got to its present head.
type Pushers struct {
	Forced bool     `json:"forced,omitempty"` // our head is no longer part of it
	People []Pusher `json:"people,omitempty"` // who pushed, the last first; none if the forge does not say
}

// TakeIn asks to go on from another head than ours.
type TakeIn struct {
	HeadsIn
	Base string `json:"base,omitempty"` // of the whole change, if it is not the workspace's
	Side Side   `json:"side,omitempty"`
}

// Took is the head to go on from.
type Took struct {
	Published
	Moved bool `json:"moved,omitempty"` // the branch is somewhere else by now: nothing was taken
	// Joined says that the head has both sides as parents, and is still to be pushed.
	Joined    bool     `json:"joined,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"` // files that keep both sides from being joined: nothing was taken
	// At is when theirs was surely on the forge, by its own clock.
	At time.Time `json:"at,omitzero"`
}

// names are those who pushed, for people.
func (h Pushers) names() string {
	var list []string
	for _, p := range h.People {
		remember(&list, p.Name)
	}
	return strings.Join(list, ", ")
}

// refusal says why commits of other hands are not taken without asking, "" if they are.
func (s *State) refusal(h Pushers) string {
	if h.Forced {
		return "by force"
	}
	if len(h.People) == 0 {
		return "and the forge does not say who"
	}
	for _, p := range h.People {
		switch {
		case s.names(p.Name):
		case p.Key:
			return "and that may have been a deploy key, which the forge shows by the name " + p.Name +
				" and which gives work only if --trust has that name"
		case p.Us:
		case p.Bot:
			return "and " + p.Name + " is a program, which gives work only if --trust names it"
		case !p.Write:
			return "and " + p.Name + " may not write as a person, as far as the forge says"
		}
	}
	return ""
}

// saidWithin is how long a forge that shows a push may take to say whose it is. A busy Gitea takes some seconds.
const saidWithin = time.Minute

// otherHands handles commits that somebody else pushed, before anything is built or paid for on top of ours: it takes
// them, or asks. A forge may still show the head from before our own last push.
func (m *machine) otherHands(at time.Time) {
	looking := slices.Contains([]Stage{StageWatch, StageChecks, StageMerge, StageCompare, StageFix, StageAnswer}, m.Stage)
	approved := m.Review.Approval != nil && m.Review.Approval.Commit == m.head
	known := slices.Contains([]string{"", m.Head.Commit, m.Head.Before, m.Foreign.Commit}, m.head)
	if !looking || approved || known {
		return
	}
	in := HeadsIn{m.where(), cmp.Or(m.Head.Pushed, m.Head.Commit), m.head}
	h := attempt(m, StepPushers, in)
	for waited := time.Duration(0); len(h.People) == 0 && waited < saidWithin; waited += firstWait {
		m.waitOut("the forge does not say yet who pushed "+abbrev(m.head), firstWait)
		h = attempt(m, StepPushers, in)
	}
	why := m.refusal(h)
	if why == "" {
		m.take("", m.head)
		return
	}
	m.Foreign.At = at
	who := cmp.Or(h.names(), "somebody")
	m.askWhichSide(m.head, who+" pushed to branch "+m.Meta.Branch+", "+why, Code(who)+" pushed, "+why)
}

// askWhichSide asks which of two heads goes on, and names both.
func (s *State) askWhichSide(theirs, why, public string) {
	s.Foreign.Commit = theirs
	both := fmt.Sprintf("it is at %s now, and ours is %s", abbrev(theirs), abbrev(s.Ours()))
	s.askWhy(why+": "+both+". `cco cruise resume --take theirs` goes on from there and keeps ours at refs/cco, `--take "+
		"ours` puts ours on top of it, forward and without losing a commit. Or approve or merge it as it is",
		public+": "+both)
}

// Ours is the head of a phase's own work, pushed or not.
func (s State) Ours() string {
	if s.Outbox.Published != nil && s.Outbox.Published.Head != "" {
		return s.Outbox.Published.Head
	}
	return s.Head.Commit
}

// take goes on from another head: the forge's, which came on top of ours or which the user chose, or one that joins
// both.
func (m *machine) take(side Side, theirs string) {
	ours := m.Ours()
	m.ensure() // the workspace may be gone
	got := attempt(m, StepTake, TakeIn{HeadsIn{m.where(), ours, theirs}, m.Base.From, side})
	m.Foreign = Foreign{At: m.Foreign.At}
	pushed := "what was pushed to branch " + m.Meta.Branch
	switch {
	case got.Moved:
		m.lookNow()
		return
	case len(got.Conflicts) > 0:
		m.askWhichSide(theirs, pushed+" meanwhile conflicts with ours in "+strings.Join(got.Conflicts, ", "),
			"what was pushed meanwhile conflicts with ours")
		return
	case len(got.Refused) > 0 && side == "":
		m.askWhichSide(theirs, pushed+" has what must not be there ("+strings.Join(got.Refused, "; ")+")",
			"what was pushed has what must not be there")
		return
	}
	m.Review.Approval = nil
	m.active()
	if got.Joined {
		m.goOnJoined(got, theirs)
		m.note("took-"+abbrev(got.Head), fmt.Sprintf("%s joins %s and %s.", abbrev(got.Head), abbrev(ours), abbrev(theirs)))
		return
	}
	m.note("took-"+abbrev(got.Head), fmt.Sprintf("it goes on from %s, which is part of the work now.", abbrev(theirs)))
	m.Consent.Refused, m.Outbox.Published, m.Outbox.Replies = nil, nil, nil
	m.recordPublished(got.Published)
	m.Head.Before, m.Head.Pushed, m.Head.PushedAt = theirs, theirs, got.At
	m.to(StageReview)
}

// goOnJoined goes on with a head that has both sides as parents. A round that was to be answered is answered with it.
func (s *State) goOnJoined(got Took, theirs string) {
	if s.Outbox.Published == nil {
		s.recordPublished(got.Published)
		s.Head.Before = theirs
		s.to(StagePublish)
		return
	}
	p := *s.Outbox.Published
	p.Head, p.Lines, p.Told, p.Kinds = got.Head, got.Lines, got.Told, got.Kinds
	s.Outbox.Published, s.Head.Commit = &p, theirs
	s.to(StageAnswer)
}

// takeSide does what the user said about two heads that have parted.
func (m *machine) takeSide() {
	if m.Foreign.Commit == "" || m.PR == nil {
		m.Foreign.Take = "" // nothing has parted
		return
	}
	m.take(m.Foreign.Take, m.Foreign.Commit)
}

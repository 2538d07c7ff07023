package cruise

import "strings"

// Trust says why a finding was taken as work: how far the one who said it is trusted.
type Trust string

// The kinds of trust.
const (
	TrustYou      Trust = "you"      // the user said it to cco
	TrustNamed    Trust = "named"    // the user trusts the author by name
	TrustAccepted Trust = "accepted" // a stranger's, which the user accepted
	TrustWriter   Trust = "writer"   // the author may write to the repository
	TrustReviewer Trust = "reviewer" // a model that reviews
	TrustCheck    Trust = "check"    // a check of the forge's that failed
	TrustCco      Trust = "cco"      // cco itself: the base has moved
)

// TrustIn says how far the one who said a finding is trusted. Names prove nothing: anybody on a forge may be called
// "you".
func (s *State) TrustIn(f Finding) Trust {
	switch {
	case f.Check != "":
		return TrustCheck
	case f.Domain != "":
		return TrustReviewer
	case strings.HasPrefix(f.Comment, fromBase): // which is local too
		return TrustCco
	case strings.HasPrefix(f.Comment, LocalComment):
		return TrustYou
	case f.Accepted:
		return TrustAccepted
	case s.names(f.Author):
		return TrustNamed
	}
	return TrustWriter
}

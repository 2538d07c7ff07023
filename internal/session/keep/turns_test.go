package keep

import (
	"strings"
	"testing"
)

// Guards against a turn that seems to end with a conversation beside it, and one that never seems to end. A capital is
// a beginning, a small letter an end.
func TestTurnsAreThoseOfTheUsersConversation(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Aa Aa":    "10 10",
		"ABba AC":  "1110 11", // beside it
		"ABab Aa":  "1100 10", // one that outlives the turn
		"AB a A a": "11 0 1 0",
		"A BbBb":   "1 1110", // broken off, and a new conversation: right from its second turn on
		"A bBb":    "1 110",  // another name within a turn
		"aA":       "01",
	} {
		var v turns
		got := strings.Map(func(r rune) rune {
			if r == ' ' {
				return r
			}
			low := strings.ToLower(string(r))
			v.take(low, low == string(r))
			if v.atWork {
				return '1'
			}
			return '0'
		}, said)
		if got != want {
			t.Errorf("%s: %s instead of %s", said, got, want)
		}
	}
}

package steps

import (
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// Guards against an agent that has the host tell bots, in the user's name, to merge or to approve.
func TestWordsOfAgentsAddressNobody(t *testing.T) {
	const w = "\u200b"
	for said, want := range map[string]string{
		"@dependabot merge":           "@" + w + "dependabot merge",
		"ask @acme/owners, (@ada)":    "ask @" + w + "acme/owners, (@" + w + "ada)",
		"fine\n/approve\n  /lgtm":     "fine\n" + w + "/approve\n  " + w + "/lgtm",
		"mail a@example.org, 3 @ 4":   "mail a@example.org, 3 @ 4",
		"see a/b and and/or, `x/y`":   "see a/b and and/or, `x/y`",
		"> quoted\n// a comment\n/ 2": "> quoted\n// a comment\n/ 2",
	} {
		if got := unaddressed(said); got != want {
			t.Errorf("%q becomes %q", said, got)
		}
	}
}

// Guards against the second of two changes that were made in one second.
func TestEachChangeOfACommentIsNew(t *testing.T) {
	one := forge.Comment{ID: "comment-7", Body: "a", Edited: true, Updated: time.Unix(100, 0)}
	two := one
	two.Body = "b"
	if a, b := commentOf(one).ID, commentOf(two).ID; a == b || commentOf(one).ID != a {
		t.Errorf("%s and %s", a, b)
	}
}

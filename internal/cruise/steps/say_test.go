package steps

import "testing"

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

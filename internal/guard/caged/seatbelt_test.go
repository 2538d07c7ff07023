package caged

import (
	"os"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// The profile is what sandbox-exec gets. Nobody has run it: the test holds what was written down.
func TestProfile(t *testing.T) {
	got := profile([]Mount{
		{Target: "/Users/me/Library/Application Support/cco", Empty: true}, {Target: "/Users/me/.ssh", Empty: true},
		{Source: "/x/agent", Target: "/Users/me/agent", File: true},
		{Source: "/Users/me/wt", Target: "/Users/me/wt", Write: true},
		{Source: "/odd", Target: `/odd "name\`}, {Target: "/Users/me/repo/.git", Empty: true},
		{Source: "/Users/me/repo/.git/objects", Target: "/Users/me/repo/.git/objects"},
	}, false)
	want := must.Get(os.ReadFile("testdata/seatbelt.sb"))(t)
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if online := profile(nil, true); strings.Contains(online, "(deny network*)") {
		t.Errorf("it has no network:\n%s", online)
	}
}

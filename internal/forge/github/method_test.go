package github

import (
	"testing"

	gh "github.com/google/go-github/v92/github"
)

// Guards against a merge that GitHub refuses because the repository allows no merge commits.
func TestARepositoryIsMergedInItsOwnWay(t *testing.T) {
	yes, no := new(true), new(false)
	for want, r := range map[string]*gh.Repository{
		"":       {AllowMergeCommit: yes, AllowSquashMerge: yes},
		"squash": {AllowMergeCommit: no, AllowSquashMerge: yes, AllowRebaseMerge: yes},
		"rebase": {AllowMergeCommit: no, AllowSquashMerge: no, AllowRebaseMerge: yes},
	} {
		if got := methodOf(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if methodOf(nil) != "" || methodOf(&gh.Repository{}) != "" {
		t.Error("what is not said is GitHub's own choice")
	}
}

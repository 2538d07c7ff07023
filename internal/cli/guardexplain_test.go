package cli

import (
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/term"
)

func TestExplainMarksThePart(t *testing.T) {
	p := guard.Policy{Workspace: "/w/task", Host: "/w/host"}
	command := "ls\ncd /w/host && make"
	s, _, _ := term.Test("")
	c := &commands{&app.App{IO: s}}
	got := c.explained(command, guard.Decide(p, nil, guard.Command("/w/task", command)))
	want := `denied by leaves-workspace

  ls
  cd /w/host && make
     ^^^^^^^

  reason:  cd to /w/host leaves the workspace
  path:    /w/host
  instead: use a path below /w/task
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := c.explained("ls", guard.Verdict{Allow: true}); got != "allowed\n" {
		t.Errorf("got %q", got)
	}
}

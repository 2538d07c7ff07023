package steps

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/cheating"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a check that becomes green in any other way than by a repair, without a question.
func TestNoCheatIsPushedWithoutAQuestion(t *testing.T) {
	g := gittest.New(t)
	for file, text := range cheating.Project() {
		write(t, g, cheating.Change{File: file, Text: text})
	}
	base := commit(g)
	g.Git("commit", "-q", "--allow-empty", "-m", "work")
	since := g.Git("rev-parse", "HEAD")
	asks := func(c cheating.Change) bool {
		g.Git("reset", "-q", "--hard", since)
		write(t, g, c)
		head := commit(g)
		d := &Doer{Data: t.TempDir(), Sessions: workspace{tip: head}}
		p := must.Get(d.Publish(t.Context(), cruise.PublishIn{Where: cruise.Where{Phase: "a", Repo: g.Dir,
			Workspace: cruise.Workspace{Session: "feedbeef", Base: base}}, Since: since}))(t)
		st := cruise.State{Checks: cruise.Checks{Red: []string{"unit"}}, Consent: cruise.Consent{Holding: head},
			Outbox: cruise.Outbox{Published: &p}}
		return len(st.NeedConsent()) > 0
	}
	all := cheating.All()
	if len(all) < 90 {
		t.Errorf("%d cheats", len(all))
	}
	for name, c := range all {
		if !asks(c) {
			t.Errorf("%s is pushed without a question", name)
		}
	}
	for _, right := range append(cheating.Repairs(), cheating.Change{File: "docs/use.md", Text: "Use it well.\n"}) {
		if asks(right) {
			t.Errorf("a repair in %s asks", right.File)
		}
	}
}

func write(t *testing.T, g *gittest.Repo, c cheating.Change) {
	t.Helper()
	name := filepath.Join(g.Dir, c.File)
	if c.Text == "" {
		must.Do(t, os.Remove(name))
		return
	}
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must.Do(t, os.WriteFile(name, []byte(c.Text), 0o600))
}

func commit(g *gittest.Repo) string {
	g.Git("add", "-A", "-f")
	g.Git("commit", "-q", "-m", "change")
	return g.Git("rev-parse", "HEAD")
}

package phases

import (
	"context"
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

// shell is cco with variables, over the data directory of others.
func shell(data string, vars map[string]string) *Phases {
	io, _, _ := term.Test("")
	a := &Phases{App: &app.App{IO: io, Env: func(name string) string { return vars[name] }, Dir: data}}
	a.Dirs.Data, a.Dirs.Config = data, data
	return a
}

// Guards against a key that is sent to another's gateway, against an older key that wins, and against a shell without
// one that takes it away.
func TestAKeyOfAShellIsUsedWithItsAddress(t *testing.T) {
	data := t.TempDir()
	engine := shell(data, map[string]string{"ANTHROPIC_API_KEY": "old", "ANTHROPIC_BASE_URL": "https://gate.example",
		"OPENAI_API_KEY": "own", "OPENAI_BASE_URL": "https://own.example"})
	open := &forges{phases: engine}
	engine.borrow()
	hear := func(_ context.Context, r serve.Request) error {
		if r.Renew != nil {
			open.renew(*r.Renew)
		}
		return nil
	}
	must.Do(t, serve.Hear(t.Context(), data, hear, func(ctx context.Context) error {
		must.Do(t, shell(data, map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "new"}).lend(ctx))
		return shell(data, map[string]string{"ANTHROPIC_BASE_URL": "https://other.example"}).lend(ctx)
	}))
	for name, want := range map[string]string{"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "",
		"CLAUDE_CODE_OAUTH_TOKEN": "new", "ANTHROPIC_BASE_URL": "", "OPENAI_API_KEY": "own",
		"OPENAI_BASE_URL": "https://own.example"} {
		if got := engine.Env(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := engine.Lent(); !slices.Contains(got, "CLAUDE_CODE_OAUTH_TOKEN=new") ||
		!slices.Contains(got, "ANTHROPIC_BASE_URL=") || len(got) != 4 {
		t.Errorf("what it starts has %q", got)
	}
}

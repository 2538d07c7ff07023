package phases

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a kind of forge that has a row and can't be opened.
func TestEveryKindOfForgeCanBeOpened(t *testing.T) {
	for _, c := range clients() {
		if c.open == nil || c.find == nil {
			t.Errorf("nobody opens %s", c.Kind)
		}
		if len(c.Hosts) == 0 || len(c.Tokens) == 0 || c.HostVar == "" || c.Ask == "" || c.Signature == "" || c.Event == nil {
			t.Errorf("the row of %s is not whole: %+v", c.Kind, c.Row)
		}
	}
}

// Guards against the token of one Enterprise server for whoever names another, in a remote or in a row of a shared
// database: gh gives a variable's token for every such server.
func TestATokenOfAVariableGoesToNoOtherServer(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	gh := "#!/bin/sh\nfor v in \"$GH_ENTERPRISE_TOKEN\" \"$GITHUB_ENTERPRISE_TOKEN\"; do\n" +
		"if [ -n \"$v\" ]; then echo \"$v\"; exit; fi\ndone\n" +
		"if [ \"$4\" = known.example ]; then echo login; exit; fi\nexit 1\n"
	must.Do(t, os.WriteFile(filepath.Join(bin, "gh"), []byte(gh), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, name := range []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"} {
		t.Setenv(name, "secret")
	}
	t.Setenv("GH_HOST", "ours.example")
	for _, name := range []string{"GH_CONFIG_DIR", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	a := &Phases{App: &app.App{Env: os.Getenv, Home: home}}
	for host, want := range map[string]string{"ours.example": "secret", "known.example": "login", "evil.example": ""} {
		_, token, err := a.githubToken(context.Background(), host)
		_, none := errors.AsType[*forge.NoTokenError](err)
		if token.Reveal() != want || none != (want == "") {
			t.Errorf("%s: %q, %v", host, token.Reveal(), err)
		}
	}
}

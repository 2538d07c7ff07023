package gitea_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/gitea"
)

func TestTokensGoOnlyToTheirServer(t *testing.T) {
	tea := "logins:\n- name: one\n  url: https://git.example.org\n  token: one\n  default: true\n- name: two\n  url: " +
		"https://git.example.org:8443\n  token: \"two\"\npreferences:\n  editor: false\n"
	for name, c := range map[string]struct {
		env  map[string]string
		file string
		host string
		want string
	}{
		"the server that is named": {env: map[string]string{"GITEA_TOKEN": "e",
			"GITEA_SERVER_URL": "https://git.example.org/"}, host: "git.example.org", want: "e"},
		"another server": {env: map[string]string{"GITEA_TOKEN": "e",
			"GITEA_SERVER_URL": "https://git.example.org"}, host: "evil.example.org"},
		"no server is named":       {env: map[string]string{"GITEA_TOKEN": "e"}, host: "evil.example.org"},
		"tea's login":              {file: tea, host: "git.example.org", want: "one"},
		"tea's login, with a port": {file: tea, host: "git.example.org:8443", want: "two"},
		"none of tea's":            {file: tea, host: "evil.example.org"},
		"nothing":                  {host: "git.example.org"},
		"tea's where the other is not": {env: map[string]string{"GITEA_TOKEN": "e"}, file: tea, host: "git.example.org",
			want: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			l := gitea.Lookup{Env: func(k string) string { return c.env[k] }, Home: "/home/ada",
				Read: func(path string) ([]byte, error) {
					if c.file == "" || path != "/home/ada/.config/tea/config.yml" {
						return nil, fs.ErrNotExist
					}
					return []byte(c.file), nil
				}}
			id, err := l.Find(c.host)
			if c.want == "" {
				if !errors.As(err, new(*forge.NoTokenError)) {
					t.Errorf("%s gets %q (%v)", c.host, id.Token.Reveal(), err)
				}
				return
			}
			if err != nil || id.Token.Reveal() != c.want {
				t.Errorf("%q %v", id.Token.Reveal(), err)
			}
		})
	}
}

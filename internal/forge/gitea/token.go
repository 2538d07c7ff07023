package gitea

import (
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cco-dev/cco/internal/forge"
)

// Lookup is where tokens are looked for.
type Lookup struct {
	Env  func(string) string
	Read func(path string) ([]byte, error)
	Home string
}

// Find finds the token for a host. One from a variable goes only to the server that GITEA_SERVER_URL names:
// a cloned repository's remote must not be able to ask for it.
func (l Lookup) Find(host string) (Identity, error) {
	named := false
	if u, err := url.Parse(l.Env("GITEA_SERVER_URL")); err == nil && strings.EqualFold(u.Host, host) {
		named = true
	}
	looked := "GITEA_TOKEN"
	if v := strings.TrimSpace(l.Env("GITEA_TOKEN")); v != "" && named {
		return Identity{Source: "GITEA_TOKEN", Token: forge.Secret(v)}, nil
	} else if v != "" {
		looked += " (set, but GITEA_SERVER_URL does not name this host)"
	}
	file := l.Home + "/.config/tea/config.yml"
	if dir := l.Env("XDG_CONFIG_HOME"); dir != "" {
		file = dir + "/tea/config.yml"
	}
	if data, err := l.Read(file); err == nil {
		if t := teaToken(data, host); t != "" {
			return Identity{Source: file, Token: forge.Secret(t)}, nil
		}
	}
	return Identity{}, &forge.NoTokenError{Host: host, Looked: []string{looked, file},
		Do: "set GITEA_TOKEN and GITEA_SERVER_URL, or run `tea login add`"}
}

// teaToken reads tea's logins. What of the file is not as expected is left out.
func teaToken(text []byte, host string) string {
	var file struct{ Logins []struct{ URL, Token string } }
	_ = yaml.Unmarshal(text, &file)
	for _, l := range file.Logins {
		if u, err := url.Parse(l.URL); err == nil && l.Token != "" && strings.EqualFold(u.Host, host) {
			return l.Token
		}
	}
	return ""
}

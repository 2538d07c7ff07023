package github

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v92/github"
	"go.yaml.in/yaml/v3"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// Identity is an account that we may act as.
type Identity struct {
	Source string // where its token comes from, for messages
	Login  string // "" if it must be looked up
	Token  func(context.Context) (forge.Secret, error)
}

// Fixed is an identity with a token that doesn't change.
func Fixed(source string, token forge.Secret) Identity {
	return Identity{Source: source, Token: func(context.Context) (forge.Secret, error) { return token, nil }}
}

// Lookup is where tokens are looked for.
type Lookup struct {
	Env  func(string) string
	Read func(path string) ([]byte, error)
	// Run runs a program and gives its output: `gh auth token`, where gh keeps the token in the system's keyring.
	Run  func(ctx context.Context, argv ...string) (string, error)
	Home string
}

// Find finds the token for a host, as gh does: variables, then gh's own login. A token for github.com is never sent
// elsewhere, and one for an Enterprise server only to the host that GH_HOST names.
func (l Lookup) Find(ctx context.Context, host string) (Identity, error) {
	vars := []string{"GH_TOKEN", "GITHUB_TOKEN"}
	theirs := true
	if kind, ok := forge.KindOf(host); !ok || kind != forge.GitHub {
		vars = []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
		theirs = strings.EqualFold(l.Env("GH_HOST"), host)
	}
	var looked []string
	for _, name := range vars {
		if v := strings.TrimSpace(l.Env(name)); v != "" && theirs {
			return Fixed(name, forge.Secret(v)), nil
		} else if v != "" {
			name += " (set, but GH_HOST does not name this host)"
		}
		looked = append(looked, name)
	}
	file := l.hostsFile()
	if data, err := l.Read(file); err == nil {
		if token := hostsToken(data, host); token != "" {
			return Fixed(file, forge.Secret(token)), nil
		}
	}
	looked = append(looked, file, "`gh auth token`")
	if out, err := l.Run(ctx, "gh", "auth", "token", "--hostname", host); err == nil && strings.TrimSpace(out) != "" {
		return Fixed("`gh auth token`", forge.Secret(strings.TrimSpace(out))), nil
	} else if ctx.Err() != nil {
		return Identity{}, ctx.Err()
	}
	return Identity{}, &forge.NoTokenError{Host: host, Looked: looked, Do: "set " + vars[0] +
		", or run `gh auth login --hostname " + host + "`"}
}

func (l Lookup) hostsFile() string {
	if dir := l.Env("GH_CONFIG_DIR"); dir != "" {
		return dir + "/hosts.yml"
	}
	if dir := l.Env("XDG_CONFIG_HOME"); dir != "" {
		return dir + "/gh/hosts.yml"
	}
	return l.Home + "/.config/gh/hosts.yml"
}

// hostsToken reads gh's hosts.yml. What of the file is not as expected is left out.
func hostsToken(text []byte, host string) string {
	var hosts map[string]struct {
		Token string `yaml:"oauth_token"`
	}
	_ = yaml.Unmarshal(text, &hosts)
	for name, h := range hosts {
		if strings.EqualFold(name, host) {
			return h.Token
		}
	}
	return ""
}

// App is a GitHub App, which is an identity of its own.
type App struct {
	ID           string // or client id
	Key          []byte // its private key, PEM
	Installation int64  // 0 looks it up by repository
}

// app hands out installation tokens and renews them before they end.
type app struct {
	App
	remote forge.Remote
	key    *rsa.PrivateKey
	clock  wire.Clock
	rest   *gh.Client

	mu      sync.Mutex
	token   forge.Secret
	expires time.Time
}

// Identity makes an identity from an App. It asks GitHub for the App's name.
func (a App) Identity(ctx context.Context, remote forge.Remote, base http.RoundTripper,
	clock wire.Clock) (Identity, error) {
	key, err := parseKey(a.Key)
	if err != nil {
		return Identity{}, fmt.Errorf("read the private key of app %s: %w", a.ID, err)
	}
	s := &app{App: a, remote: remote, key: key, clock: clock}
	jwt := Identity{Source: "app " + a.ID, Token: func(context.Context) (forge.Secret, error) { return s.jwt() }}
	acc, err := newAccount(Options{Remote: remote, Base: base, Clock: clock}, jwt)
	if err != nil {
		return Identity{}, err
	}
	s.rest = acc.rest
	self, _, err := s.rest.Apps.Get(ctx, "")
	if err != nil {
		return Identity{}, fmt.Errorf("ask for app %s: %w", a.ID, err)
	}
	if s.Installation == 0 {
		in, _, err := s.rest.Apps.GetRepositoryInstallation(ctx, remote.Owner, remote.Name)
		if err != nil {
			return Identity{}, fmt.Errorf("find the installation of app %s on %s/%s (is it installed there?): %w", a.ID,
				remote.Owner, remote.Name, err)
		}
		s.Installation = in.GetID()
	}
	return Identity{Source: jwt.Source, Login: self.GetSlug() + "[bot]", Token: s.installationToken}, nil
}

func parseKey(data []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("not a PEM file")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := any.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("not an RSA key")
	}
	return key, nil
}

// jwt signs the App's identity. GitHub allows ten minutes; clocks differ, so it begins a minute ago.
func (s *app) jwt() (forge.Secret, error) {
	now := s.clock.Now()
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(8 * time.Minute).Unix(),
		"iss": s.ID})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + enc.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(nil, s.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return forge.Secret(text + "." + enc.EncodeToString(sig)), nil
}

func (s *app) installationToken(ctx context.Context) (forge.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && s.clock.Now().Before(s.expires.Add(-5*time.Minute)) {
		return s.token, nil
	}
	// Two tokens do no harm, so this write may be repeated.
	t, _, err := s.rest.Apps.CreateInstallationToken(wire.AsQuery(ctx), s.Installation,
		&gh.InstallationTokenOptions{Repositories: []string{s.remote.Name}})
	if err != nil {
		return "", fmt.Errorf("get a token for app %s: %w", s.ID, err)
	}
	s.token, s.expires = forge.Secret(t.GetToken()), t.GetExpiresAt().Time
	return s.token, nil
}

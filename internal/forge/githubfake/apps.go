package githubfake

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// fakeApp is a GitHub App that is installed on every repository.
type fakeApp struct {
	id, slug string
	key      *rsa.PublicKey
}

// installation is the number of every installation.
const installation = 4711

// AddApp makes an App that signs with the private half of key.
func (s *Server) AddApp(id, slug string, key *rsa.PublicKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps = append(s.apps, fakeApp{id, slug, key})
}

// appToken checks a JWT as GitHub does: signature, issuer, and that it lasts at most ten minutes.
func (s *Server) appToken(r *http.Request) (token, bool) {
	_, jwt, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return token{}, false
	}
	sig, err1 := base64.RawURLEncoding.DecodeString(parts[2])
	text, err2 := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	if err1 != nil || err2 != nil || json.Unmarshal(text, &claims) != nil {
		return token{}, false
	}
	now := s.now().Unix()
	if claims.Iat > now || claims.Exp <= now || claims.Exp-now > 600 {
		return token{}, false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, a := range s.apps {
		if a.id == claims.Iss && rsa.VerifyPKCS1v15(a.key, crypto.SHA256, sum[:], sig) == nil {
			return token{login: a.slug + "[bot]"}, true
		}
	}
	return token{}, false
}

func (s *Server) getApp(c *call) answer {
	slug := strings.TrimSuffix(c.who.login, "[bot]")
	return answer{200, object{"id": 1, "slug": slug, "node_id": "A", "name": slug, "owner": s.userObject("acme"),
		"html_url": c.base, "external_url": c.base}}
}

func (s *Server) getInstallation(c *call) answer {
	return answer{200, object{"id": installation, "account": s.userObject(c.repo.owner), "target_type": "User",
		"repository_selection": "all"}}
}

func (s *Server) createInstallationToken(c *call) answer {
	if c.params["installation_id"] != fmt.Sprint(installation) {
		return fail(404, "Not Found")
	}
	secret := fmt.Sprintf("ghs_installation%d", s.id())
	s.tokens[secret] = token{login: c.who.login}
	for _, r := range s.repos {
		r.writers = append(r.writers, c.who.login)
	}
	return answer{201, object{"token": secret, "expires_at": stamp(s.now().Add(time.Hour))}}
}

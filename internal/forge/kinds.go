package forge

import (
	"slices"
	"strings"
)

// Kind is a kind of forge.
type Kind string

// The forges that there are adapters for.
const (
	GitHub Kind = "github"
	Gitea  Kind = "gitea"
)

// all is what is known of each kind of forge without asking it.
func all() []kind {
	return []kind{
		{GitHub, []string{"github.com", ".ghe.com"}, []string{"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN",
			"GITHUB_ENTERPRISE_TOKEN", "CCO_GITHUB_APP_KEY"}, "X-Hub-Signature-256", inHex("sha256=")},
		{Gitea, []string{"gitea.com", "codeberg.org"}, []string{"GITEA_TOKEN"}, "X-Gitea-Signature", inHex("")},
	}
}

type kind struct {
	name      Kind
	hosts     []string // well-known ones; with a dot in front, all below it
	tokens    []string // variables that hold its tokens
	signature string   // the header that signs a webhook
	signed    func(sent string, body []byte, secret Secret) bool
}

// Kinds lists the forges, for messages and flags.
func Kinds() (names []Kind) {
	for _, k := range all() {
		names = append(names, k.name)
	}
	return names
}

// KindOf says which forge a well-known host is.
func KindOf(host string) (Kind, bool) {
	for _, k := range all() {
		if slices.ContainsFunc(k.hosts, func(h string) bool {
			return h == host || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)
		}) {
			return k.name, true
		}
	}
	return "", false
}

// TokenVars names the variables that hold a forge's tokens. They are for the host: no agent may have them.
func TokenVars() []string {
	vars := []string{"CCO_REVIEWER_TOKEN", "CCO_WEBHOOK_SECRET"}
	for _, k := range all() {
		vars = append(vars, k.tokens...)
	}
	return vars
}

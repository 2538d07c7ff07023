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

// Row is what is known of a kind of forge without asking it. How it is opened stands in package phases: every start of
// cco would pay for the clients.
type Row struct {
	Kind   Kind
	Hosts  []string // well-known ones; with a dot in front, all below it
	Tokens []string // variables that hold its tokens

	HostVar string // the variable that tells its own tools a host or an address
	Ask     string // a path that only such a forge answers
	Header  string // or answers with this header in any answer
	Nested  bool   // an owner may be a group within groups

	Signature string // the header that signs a webhook
	Signed    func(sent string, body []byte, secret Secret) bool
	Event     func(body []byte) (Event, error)
}

// Rows is every kind, in the order in which an unknown host is asked.
func Rows() []Row {
	return []Row{
		{Kind: Gitea, Hosts: []string{"gitea.com", "codeberg.org"}, Tokens: []string{"GITEA_TOKEN"},
			HostVar: "GITEA_SERVER_URL", Ask: "/api/v1/version",
			Signature: "X-Gitea-Signature", Signed: inHex(""), Event: readEvent},
		{Kind: GitHub, Hosts: []string{"github.com", ".ghe.com"}, Tokens: []string{"GH_TOKEN", "GITHUB_TOKEN",
			"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "CCO_GITHUB_APP_KEY"},
			HostVar: "GH_HOST", Ask: "/api/v3/meta", Header: "X-GitHub-Media-Type",
			Signature: "X-Hub-Signature-256", Signed: inHex("sha256="), Event: readEvent},
	}
}

// Place says where a repository is on a forge of this kind: what stands before the last two names of its address is a
// path below which the forge lives, or groups around the owner.
func (k Row) Place(r Remote) Remote {
	if k.Nested && r.Prefix != "" {
		r.Prefix, r.Owner = "", strings.TrimPrefix(r.Prefix, "/")+"/"+r.Owner
	}
	return r
}

// Kinds lists the forges, for messages and flags.
func Kinds() (names []Kind) {
	for _, k := range Rows() {
		names = append(names, k.Kind)
	}
	return names
}

// KindOf says which forge a well-known host is.
func KindOf(host string) (Kind, bool) {
	for _, k := range Rows() {
		if slices.ContainsFunc(k.Hosts, func(h string) bool {
			return h == host || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)
		}) {
			return k.Kind, true
		}
	}
	return "", false
}

// TokenVars names the variables that hold a forge's tokens. They are for the host: no agent may have them.
func TokenVars() []string {
	vars := []string{"CCO_REVIEWER_TOKEN", "CCO_WEBHOOK_SECRET"}
	for _, k := range Rows() {
		vars = append(vars, k.Tokens...)
	}
	return vars
}

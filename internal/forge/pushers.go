package forge

import (
	"slices"
	"strings"
)

// Pusher is who moved a branch, as the forge says. What a commit says of its author, or its signature, is not asked.
type Pusher struct {
	Name string `json:"name"`
	Bot  bool   `json:"bot,omitempty"`
}

// DeployKeys says which pushes may have been made with a deploy key: forges show them as pushes of an account, GitHub
// as those of who added the key, Gitea as those of the repository's owner.
type DeployKeys struct {
	// Names are those accounts, if a key may write. "" is for everybody.
	Names []string
	// Known says that the forge lists its keys to us. Where it does not, the names are those for whom there may be one.
	Known bool
}

// May says whether a push of an account may have been made with a deploy key.
func (k DeployKeys) May(name string) bool {
	return slices.ContainsFunc(k.Names, func(n string) bool { return n == "" || strings.EqualFold(n, name) })
}

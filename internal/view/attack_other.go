//go:build !linux

package view

// otherUser is not kept out here: that other users get no further is what the other attacks show.
func (a *attacker) otherUser() Result {
	return Result{Attack: "other-user", What: "another user of this machine asks",
		Untried: "this system does not say which user asks: others get the page that asks for a code"}
}

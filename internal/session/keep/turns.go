package keep

// turns follows whether an agent is at work, by what its hook says. An agent may have conversations beside the one with
// its user, such as codex for a title: they begin and end within a turn, and their end is not the end of the turn.
type turns struct {
	atWork bool
	main   string          // the conversation whose turn is under way
	seen   map[string]bool // conversations that were heard of: one that begins anew is the user's
}

// maxConversations bounds what is remembered of what an agent says.
const maxConversations = 100

// take notes that a turn of a conversation has begun or ended.
func (t *turns) take(conversation string, ended bool) {
	known := t.seen[conversation]
	if t.seen == nil || len(t.seen) > maxConversations {
		t.seen = map[string]bool{}
	}
	t.seen[conversation] = true
	switch {
	case ended && conversation == t.main:
		t.atWork = false
	case !ended && (!t.atWork || known):
		t.atWork, t.main = true, conversation
	}
}

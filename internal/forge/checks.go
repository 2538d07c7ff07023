package forge

import "time"

// RulesFor is how long an answer about what a branch requires is kept.
const RulesFor = 5 * time.Minute

// Bounds of what a check says of itself, of the log of a job that is read, and of the end of it that is kept.
const (
	MaxSummary = 8 << 10
	MaxLog     = 64 << 20
	MaxLogEnd  = 64 << 10
)

// Checked is what is known of the checks of a pull request's head. A list is nil where there are none.
type Checked struct {
	Head     string
	All      []Check
	Required []string // names, or patterns with stars, that the rules of the base branch require
	Base     []Check  // of the base branch's own last commit
}

// Package gitleaks is the rule file of gitleaks v8.30.1 (gitleaks.toml, MIT, see LICENSE) as a table that the compiler
// lays out: it costs nothing at start, and nothing is compiled before it is needed.
package gitleaks

//go:generate go test -run TestTableIsGenerated -update .

// Rule says what a secret looks like.
type Rule struct {
	ID       string
	Says     string
	Regex    string // "" if only the path counts
	Path     string // "" for any
	Entropy  float64
	Keywords []string // lower case; one of them must be in the text
	Group    int      // the part of the match that is the secret; 0 is the first that isn't empty
	Lines    bool     // may go over several lines
	Allow    []Allow
}

// Allow says what is no secret although it looks like one.
type Allow struct {
	Paths, Regexes, Words []string
	Target                string // what the expressions are tried on: "match", "line", or "" for the secret
	All                   bool   // all of it must hold, not any
}

// Rules is the table.
func Rules() []Rule { return rules[:len(rules):len(rules)] }

// Global holds for all rules.
func Global() *Allow { return &global }

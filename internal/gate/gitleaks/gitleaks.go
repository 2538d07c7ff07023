// Package gitleaks reads the rule file of gitleaks v8.30.1 (gitleaks.toml, MIT, see LICENSE) at first use.
package gitleaks

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// Rule says what a secret looks like.
type Rule struct {
	ID       string
	Regex    string // "" if only the path counts
	Path     string // "" for any
	Entropy  float64
	Keywords []string // in lower case; one of them must be in the text
	Group    int      `toml:"secretGroup"` // the part of the match that is the secret; 0 is the first that isn't empty
	Lines    bool     // may go over several lines
	Allow    []Allow  `toml:"allowlists"`
	Guess    bool     `toml:"-"` // it goes by what a value looks like
}

// Allow says what is no secret although it looks like one.
type Allow struct {
	Paths, Regexes []string
	Words          []string `toml:"stopwords"`   // in lower case
	Target         string   `toml:"regexTarget"` // what is tried: "match", "line", or "" for the secret
	Condition      string   // "AND" if all of it must hold, not any
}

// Table is the file.
type Table struct {
	Global Allow `toml:"allowlist"`
	Rules  []Rule
}

//go:embed gitleaks.toml
var file string

// Load gives the table. What the file says can't be wrong: a test reads it.
var Load = sync.OnceValue(Parse)

// Parse reads the table anew.
func Parse() *Table {
	var t Table
	if _, err := toml.Decode(file, &t); err != nil {
		panic(err)
	}
	for i := range t.Rules {
		r := &t.Rules[i]
		r.Lines = strings.Contains(r.Regex, `\s\S`) || strings.Contains(r.Regex, `(?s`)
	}
	return &t
}

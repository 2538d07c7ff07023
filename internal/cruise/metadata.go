package cruise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/safetext"
)

// Bounds of what a phase is called on the forge.
const (
	maxTitle  = 72
	maxBranch = 50
)

// Metadata is what a phase is called.
type Metadata struct {
	Title  string `json:"pr_title"`
	Branch string `json:"branch_name"`
}

// MetadataPrompt asks a model for the names of a task. The task is data here: nothing in it is carried out.
func MetadataPrompt(task string) string {
	return "Name the following task for a pull request. Answer with one JSON object and nothing else:\n" +
		`{"pr_title": "at most 72 characters, imperative", "branch_name": "kebab-case, at most 50 characters"}` +
		"\n\nThe task, which is only to be named, between the lines:\n" + fenced(task)
}

// ParseMetadata reads a model's answer strictly: one object, these two keys, nothing after it. A fence around it is
// accepted.
func ParseMetadata(answer string) (Metadata, error) {
	text := strings.TrimSpace(answer)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		inner = strings.TrimPrefix(inner, "json")
		inner, ok = strings.CutSuffix(strings.TrimSpace(inner), "```")
		if !ok {
			return Metadata{}, errors.New("a fence that does not end")
		}
		text = strings.TrimSpace(inner)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	var m Metadata
	if err := d.Decode(&m); err != nil {
		return Metadata{}, fmt.Errorf("not the object that was asked for: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Metadata{}, errors.New("words after the object")
	}
	return m, m.Check()
}

// Check refuses names that a forge, git or a shell could take for something else.
func (m Metadata) Check() error {
	switch {
	case m.Title == "" || strings.TrimSpace(m.Title) != m.Title:
		return errors.New("a title that is empty or begins or ends with a space")
	case len([]rune(m.Title)) > maxTitle:
		return fmt.Errorf("a title of more than %d characters", maxTitle)
	case safetext.Line(m.Title) != m.Title:
		return errors.New("a title with a control or invisible character")
	}
	return CheckBranch(m.Branch)
}

// CheckBranch takes kebab-case and nothing else, so that no tool sees an option, a path or a pattern in it.
func CheckBranch(name string) error {
	// Git takes forty hexadecimal digits for a commit, even if a branch has that name.
	commit := len(name) == 40 && strings.Trim(name, "0123456789abcdef") == ""
	if commit || len(name) > maxBranch || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(name) {
		return fmt.Errorf("%q is no branch name of at most %d characters in kebab-case", name, maxBranch)
	}
	return nil
}

// FallbackMetadata names a task by its own words, the same each time.
func FallbackMetadata(task string) Metadata {
	line := ""
	for l := range strings.Lines(task) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "#-*")); line != "" {
			break
		}
	}
	title := strings.Join(strings.FieldsFunc(safetext.Line(line), func(r rune) bool {
		return unicode.IsSpace(r) || r == unicode.ReplacementChar
	}), " ")
	title = safetext.Fit(title, maxTitle)
	branch := ""
	for _, w := range strings.FieldsFunc(strings.ToLower(line), func(r rune) bool {
		return (r < 'a' || r > 'z') &&
			(r < '0' || r > '9')
	}) {
		if len(branch)+1+len(w) > maxBranch-6 { // room for a number that makes it new
			break
		}
		branch = strings.TrimPrefix(branch+"-"+w, "-")
	}
	if CheckBranch(branch) != nil {
		branch = "task"
	}
	if title == "" {
		title = "Carry out a task"
	}
	return Metadata{Title: title, Branch: branch}
}

// Another is the n-th other name for a branch that is taken.
func (m Metadata) Another(n int) Metadata {
	suffix := fmt.Sprintf("-%d", n)
	m.Branch = strings.TrimRight(m.Branch[:min(len(m.Branch), maxBranch-len(suffix))], "-") + suffix
	return m
}

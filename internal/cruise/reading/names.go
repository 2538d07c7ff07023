package reading

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/safetext"
)

// What a phase is called on the forge.
const (
	maxTitle  = 72
	maxBranch = 50
	noBranch  = "task" // of a task without a word that can be in one
)

// Metadata is what a phase is called.
type Metadata struct {
	Title  string `json:"pr_title"`
	Branch string `json:"branch_name"`
}

// NameTask names a task by a model's answer. Each part of the answer that can't be used is replaced by the task's own
// words; notes say which and why.
func NameTask(task, answer string) (m Metadata, notes []string) {
	m = FallbackMetadata(task)
	said := namesIn(answer)
	title := strings.Join(strings.Fields(said.Title), " ")
	switch {
	case title == "" || safetext.Line(title) != title:
		notes = append(notes, "the model gave no title, or one with a control or invisible character: the title is the "+
			"task's own words")
	case cutTitle(title) != title:
		m.Title = cutTitle(title)
		notes = append(notes, fmt.Sprintf("the model gave a title of more than %d characters: it is cut", maxTitle))
	default:
		m.Title = title
	}
	if own := FallbackMetadata(m.Title).Branch; own != noBranch {
		m.Branch = own
	}
	branch := strings.ToLower(strings.TrimSpace(said.Branch))
	if err := CheckBranch(branch); err != nil {
		notes = append(notes, fmt.Sprintf("the model's branch %v: it is %s", err, m.Branch))
	} else {
		m.Branch = branch
	}
	return m, notes
}

// namesIn finds the last object with one of the two names, whatever is around it.
func namesIn(answer string) (m Metadata) {
	eachObject(answer, func(_ int, object json.RawMessage) bool {
		var found struct {
			Title  any `json:"pr_title"`
			Branch any `json:"branch_name"`
		}
		if json.Unmarshal(object, &found) != nil || found.Title == nil && found.Branch == nil {
			return false
		}
		title, _ := found.Title.(string)
		branch, _ := found.Branch.(string)
		m = Metadata{Title: title, Branch: branch}
		return true
	})
	return m
}

// cutTitle cuts a title that is too long, at a word if there is one.
func cutTitle(title string) string {
	r := []rune(title)
	if len(r) <= maxTitle {
		return title
	}
	head := string(r[:maxTitle-1])
	if i := strings.LastIndexByte(head, ' '); i > 0 && r[maxTitle-1] != ' ' {
		head = head[:i]
	}
	return strings.TrimRight(head, " ,;:.-") + "…"
}

// CheckBranch takes kebab-case and slashes and nothing else, so that no tool sees an option or a pattern in it.
func CheckBranch(name string) error {
	// Git takes forty hexadecimal digits for a commit, even if a branch has that name.
	commit := len(name) == 40 && strings.Trim(name, "0123456789abcdef") == ""
	const part = `[a-z0-9]+(-[a-z0-9]+)*`
	if commit || len(name) > maxBranch || !regexp.MustCompile(`^`+part+`(/`+part+`)*$`).MatchString(name) {
		return fmt.Errorf("%q is not a branch name of at most %d characters in kebab-case, with or without slashes", name,
			maxBranch)
	}
	return nil
}

// Above lists the names that a branch excludes: with a branch "a" there can be none called "a/b".
func Above(branch string) (names []string) {
	for i, r := range branch {
		if r == '/' {
			names = append(names, branch[:i])
		}
	}
	return names
}

// FallbackMetadata names a task by its own words, the same each time.
func FallbackMetadata(task string) Metadata {
	if rest, ok := strings.CutPrefix(strings.ReplaceAll(task, "\r\n", "\n"), "---\n"); ok { // front matter
		if _, after, ok := strings.Cut("\n"+rest, "\n---\n"); ok {
			task = after
		}
	}
	line := ""
	for l := range strings.Lines(task) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "#-*")); line != "" {
			break
		}
	}
	title := strings.Join(strings.FieldsFunc(safetext.Line(line), func(r rune) bool {
		return unicode.IsSpace(r) || r == unicode.ReplacementChar
	}), " ")
	title = cutTitle(title)
	branch := ""
	for _, w := range strings.FieldsFunc(strings.ToLower(line), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if len(branch)+1+len(w) > maxBranch-6 { // room for a number that makes it new
			break
		}
		branch = strings.TrimPrefix(branch+"-"+w, "-")
	}
	if CheckBranch(branch) != nil {
		branch = noBranch
	}
	if title == "" {
		title = "Carry out a task"
	}
	return Metadata{Title: title, Branch: branch}
}

// Another is the n-th other name for a branch that is taken.
func (m Metadata) Another(n int) Metadata {
	suffix := fmt.Sprintf("-%d", n)
	m.Branch = strings.TrimRight(m.Branch[:min(len(m.Branch), maxBranch-len(suffix))], "-/") + suffix
	return m
}

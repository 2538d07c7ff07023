package cruise

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/unit"
)

// The trailers in which a commit names its findings.
const (
	TrailerFinding  = "Cco-Finding"
	TrailerDeclined = "Cco-Declined"
)

//go:embed prompts
var promptFiles embed.FS

// prompts are what agents are told, and the last comment of a phase. What others wrote is data there: it stands between
// lines that can't occur in it.
var prompts = template.Must(template.New("").Funcs(template.FuncMap{
	"fenced": fenced,
	"place":  place,
	"code":   Code,
	"count":  unit.Count[int],
	"words":  func(text string) string { return reading.Harmless(Short(text)) },
	"slug":   func(branch string) string { return strings.ReplaceAll(branch, "/", "-") },
	"lines":  func(list []string) string { return strings.Join(list, "\n") },
	"ledger": ledgerLines,
	"tally":  func(l Ledger, s FindingState) int { return len(l.in(s)) },
}).ParseFS(promptFiles, "prompts/*.md"))

// briefing is what a prompt tells of a phase, and of what is wanted at the moment.
type briefing struct {
	State
	Date   string
	Since  string
	Domain string // to review
	Red    bool
	Open   []Finding
	Commit string // of leftovers
}

// Prompt words something for an agent or the forge.
func Prompt(name string, data any) string {
	var b strings.Builder
	if err := prompts.ExecuteTemplate(&b, name+".md", data); err != nil {
		panic(err) // the template is wrong, whatever the data are
	}
	return b.String()
}

// fenced puts text between two marker lines that can't occur in it.
func fenced(words string) string {
	longest, run := 4, 0
	for _, r := range words {
		if run++; r != '-' {
			run = 0
		}
		longest = max(longest, run)
	}
	line := strings.Repeat("-", longest+1) + "\n"
	return line + words + "\n" + line
}

func ledgerLines(l Ledger) string {
	var lines []string
	for _, f := range l.Findings {
		line := fmt.Sprintf("%s [%s] %s: %s", f.ID, f.State, place(f), Short(f.Text))
		if f.State == Declined && f.Reason != "" {
			line += " (declined: " + Short(f.Reason) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func place(f Finding) string {
	switch {
	case f.Path == "":
		return "in general"
	case f.Line == 0:
		return f.Path
	default:
		return fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
}

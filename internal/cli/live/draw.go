package live

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/unit"
)

// View is of tea.Model. What agents and strangers wrote is one line wherever it stands, and the renderer cuts lines
// where the terminal ends.
func (m *model) View() tea.View {
	foot := m.foot()
	lines := append([]string{m.head()}, m.window(max(1, m.high-1-len(foot)))...)
	for len(lines) < m.high-len(foot) {
		lines = append(lines, "")
	}
	v := tea.NewView(strings.Join(append(lines, foot...), "\n"))
	v.AltScreen = true
	return v
}

const bold, dim, inverse, plain = "\x1b[1m", "\x1b[2m", "\x1b[7m", "\x1b[m"

func (m *model) paint(with, words string) string {
	if !m.colour {
		return words
	}
	return with + words + plain
}

// head counts what is listed.
func (m *model) head() string {
	rows := m.rows()
	counts := map[attention.NeedKind]int{}
	for _, l := range rows {
		counts[l.Kind]++
	}
	var parts []string
	for _, g := range attention.Groups() {
		if n := counts[g.Kind]; n > 0 && g.Kind != attention.Over {
			parts = append(parts, fmt.Sprintf("%d %s", n, g.Word))
		}
	}
	where := "all repositories"
	if m.repo != "" && len(rows) > 0 {
		where = safetext.Line(filepath.Base(rows[0].Repo))
	}
	return m.paint(bold, "cco  "+where) + "  " + strings.Join(parts, ", ")
}

// window is the part of the list around the cursor that there is room for, below the names of its groups.
func (m *model) window(room int) []string {
	words := map[attention.NeedKind]string{}
	for _, g := range attention.Groups() {
		words[g.Kind] = g.Word
	}
	var lines []string
	at, last := 0, attention.NeedKind("")
	for n, l := range m.rows() {
		if l.Kind != last {
			lines = append(lines, m.paint(dim, words[l.Kind]))
			last = l.Kind
		}
		if n == m.row {
			at = len(lines)
		}
		lines = append(lines, m.line(l))
	}
	from := max(0, min(at-room/2, len(lines)-room))
	return lines[from:min(len(lines), from+room)]
}

// roomy is the width from which on there is room for more than titles.
const roomy = 70

func (m *model) line(l attention.Listed) string {
	cost := ""
	if l.Cost > 0 {
		cost = fmt.Sprintf("$%.2f", l.Cost)
	}
	what := l.Agent
	if l.Phase {
		what = "phase"
	}
	text := fmt.Sprintf("%s  %4s", safetext.Line(l.ID), cli.Age(time.Since(l.Since)))
	if m.wide >= roomy {
		text += fmt.Sprintf("  %-8s  %7s", safetext.Fit(safetext.Line(what), 8), cost)
	}
	if m.wide >= roomy && m.repo == "" {
		text += fmt.Sprintf("  %-12s", safetext.Fit(safetext.Line(filepath.Base(l.Repo)), 12))
	}
	text += "  " + safetext.Line(l.Title)
	if l.ID == m.on {
		return m.paint(inverse, "> "+text)
	}
	return "  " + text
}

// maxWords is how many lines of what is asked are shown.
const maxWords = 3

// foot says more of what is under the cursor, what is asked, and what the keys do.
func (m *model) foot() []string {
	lines := []string{""}
	rows := m.rows()
	if at := m.find(rows, m.on); at >= 0 {
		lines = append(lines, m.more(rows[at])...)
	}
	switch {
	case m.unwatched > 0:
		lines = append(lines, m.paint(bold, "nobody watches "+unit.Count(m.unwatched, "phase")+
			": `cco cruise serve` starts an engine"))
	case m.err != nil:
		lines = append(lines, m.paint(bold, "this can't be read: "+safetext.Line(m.err.Error())))
	}
	switch {
	case m.ask != nil && m.ask.deed.asks != "":
		lines = append(lines, fmt.Sprintf("%s to %s, Esc leaves it: %s_", m.ask.deed.asks, safetext.Line(m.ask.about.ID),
			safetext.Line(m.ask.typed)))
	case m.ask != nil:
		lines = append(lines, fmt.Sprintf("%s: %s, %s? [y/N]", m.ask.deed.sure, safetext.Line(m.ask.about.ID),
			safetext.Fit(safetext.Line(m.ask.about.Title), m.wide/2)))
	default:
		lines = append(lines, safetext.Line(m.news))
	}
	return append(lines, m.keys()...)
}

// more is what somebody asks or why something stands still, and the command that gets it further.
func (m *model) more(l attention.Listed) (lines []string) {
	state := string(l.State)
	if l.Phase {
		state = l.Stage
	}
	about := strings.Join([]string{safetext.Line(state), safetext.Line(l.Branch), safetext.Line(l.Box)}, "  ")
	lines = append(lines, m.paint(dim, strings.TrimRight(about, " ")))
	for words := range strings.Lines(l.Words) {
		if len(lines) > maxWords {
			break
		}
		lines = append(lines, safetext.Line(strings.TrimRight(words, "\r\n")))
	}
	if l.Next != "" {
		lines = append(lines, m.paint(dim, safetext.Line(l.Next)))
	}
	return lines
}

// keys names the keys, on as many lines as they need.
func (m *model) keys() (lines []string) {
	var line string
	add := func(key, word string) {
		part := key + " " + word
		if line != "" && len(line)+2+len(part) > m.wide {
			lines, line = append(lines, m.paint(dim, line)), ""
		}
		line = strings.TrimLeft(line+"  "+part, " ")
	}
	for _, d := range deeds {
		add(d.key, d.word)
	}
	add("r", "repository")
	add("q", "leave")
	return append(lines, m.paint(dim, line))
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/vt"
)

// view shows an agent at work: what it says, each tool call in a line, and the cost so far.
type view struct {
	a      *commands
	out    io.Writer
	asJSON bool // JSON lines instead of text
	since  time.Time
	now    time.Time // earlier events are only replayed

	console *console   // the user's terminal, which shows the agent's; nil shows it as text
	drawn   bool       // the agent has drawn there
	screen  *vt.Screen // of an agent's terminal that is shown as text
	keep    int        // how many scrolled-off lines the agent may still erase
	at      time.Time  // of the event that is shown

	from  time.Time // nothing earlier is shown
	times bool      // in front of each line
	skip  int       // so many lines are not shown
	lines int       // there were so far

	agent   string
	before  event.Usage // of attempts that have ended
	used    event.Usage
	said    string
	retries int      // of all attempts
	errs    []string // its last lines on standard error, shown if it fails
	// guessed says that the cost is an estimate: the agent's model has no known price.
	guessed bool
	asked   bool // events after a question only say how the agent was ended

	refused []string // what the door said while the agent's own terminal was shown

	mu     sync.Mutex // the clock ticks while events come
	began  time.Time  // when the agent was started, zero if it does not run
	status string     // what the clock stands behind
}

// show prints one event of a session.
func (v *view) show(e session.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.At.Before(v.since) {
		return
	}
	v.at = e.At
	if v.terminal(e) {
		return
	}
	if v.asJSON {
		v.json(e)
		return
	}
	switch e.Kind {
	case session.KindStep:
		if !v.drawn && !v.hidden() {
			v.status = safetext.Text(e.Text)
			v.a.IO.Progress("%s", safetext.Text(e.Text))
		}
	case session.KindAgent:
		v.agent = e.Text
		v.began, v.status = e.At, v.agent+" is at work"
		if v.console != nil {
			v.status = "starting " + v.agent
		}
	case session.KindEnd:
		v.began = time.Time{}
	case session.KindDoor:
		if v.console != nil {
			v.refused = append(v.refused, e.Text)
			return
		}
		v.line(term.Yellow, "✗ "+e.Text)
	case session.KindNote:
		if v.console == nil {
			v.line(term.Dim, "· "+e.Text)
		}
	case session.KindOut:
		if !e.Raw { // other events say what it means
			v.line("", e.Text)
		}
	case session.KindErr:
		if e.Raw && !v.a.IO.Verbose {
			v.errs = append(v.errs, e.Text)[max(0, len(v.errs)-maxErrs+1):]
			return
		}
		v.complain(e.Text)
	case session.KindEvent:
		if e.Agent != nil {
			v.event(*e.Agent)
		}
	}
}

// terminal shows an agent's terminal: as it is on the user's own terminal, if there is a console, otherwise as text.
// Raw bytes of a box never go anywhere else. It says whether that is all there is to the event.
func (v *view) terminal(e session.Event) bool {
	switch e.Kind {
	case session.KindTTY:
		v.a.IO.Settle()
		if v.console != nil {
			v.drawn = true
			v.console.show(e.Data, e.At.Before(v.now))
			return true
		}
		_, _ = v.asText(80, 24).Write(e.Data)
		return true
	case session.KindSize:
		if v.console == nil {
			v.asText(int(e.Cols), int(e.Rows)).Resize(int(e.Cols), int(e.Rows))
		}
	case session.KindAgent, session.KindErr, session.KindEnd:
		v.close() // a program that has ended drew it
	}
	return false
}

// asText is the screen that renders an agent's terminal as text. Old transcripts don't record its size.
func (v *view) asText(cols, rows int) *vt.Screen {
	if v.screen == nil {
		v.screen = vt.NewScreen(cols, rows, v.keep, v.screenLine)
	}
	return v.screen
}

// close shows what is left on an agent's screen.
func (v *view) close() {
	if v.screen == nil {
		return
	}
	for _, line := range v.screen.Lines() {
		v.screenLine(line)
	}
	v.screen = nil
}

func (v *view) screenLine(line string) {
	if v.asJSON {
		v.json(session.Event{At: v.at, Kind: session.KindTTY, Text: safetext.Text(line)})
		return
	}
	v.line("", line)
}

func (v *view) json(e session.Event) {
	if line, err := json.Marshal(e); err == nil && v.wanted() {
		_, _ = fmt.Fprintf(v.out, "%s\n", safetext.JSON(line))
	}
}

// all is more lines than there can be.
const all = math.MaxInt

// hidden says that what happens now is not shown.
func (v *view) hidden() bool { return v.at.Before(v.from) || v.lines < v.skip }

// wanted counts a line, and says whether it is shown.
func (v *view) wanted() bool {
	if v.at.Before(v.from) {
		return false
	}
	v.lines++
	return v.lines > v.skip
}

// maxKept is how many scrolled-off lines an agent can erase.
const maxKept = 10_000

func (v *view) event(e event.Event) {
	switch e.Kind {
	case event.KindStarted:
		if e.Model != "" && v.a != nil {
			prices, err := v.a.Prices()
			p, known := prices.Find(e.Model)
			v.guessed = v.guessed || err == nil && (!known || p.Like != "")
		}
	case event.KindText:
		v.said = e.Text
		v.line("", strings.TrimRight(e.Text, "\n"))
	case event.KindThinking:
		if v.a.IO.Verbose {
			v.line(term.Dim, inset(e.Text))
		}
	case event.KindToolCall:
		v.fitted(term.Dim, under(e)+"» "+e.Tool, toolWords(e.Input))
	case event.KindToolResult:
		if v.asked {
			return
		}
		if e.IsError {
			v.fitted(term.Yellow, under(e)+"  ✗", e.Text)
		} else if v.a.IO.Verbose {
			v.fitted(term.Dim, under(e)+" ", e.Text)
		}
	case event.KindDenied:
		v.fitted(term.Red, under(e)+"  ✗", e.Tool+" "+e.Text)
	case event.KindRetry:
		v.retries++
		v.line(term.Yellow, "… "+retryWords(e))
	case event.KindQuestion:
		v.line(term.Bold, "? "+e.Text)
		v.asked = true
	case event.KindUsage:
		if e.Usage != nil {
			v.used = *e.Usage
		}
	case event.KindFinished:
		v.finished(e)
	case event.KindRaw:
		if v.a.IO.Verbose {
			v.fitted(term.Dim, "", e.Raw)
		}
	}
	if words := usageWords(v.before.Add(v.used), v.guessed); words != "" && v.console == nil &&
		!v.hidden() && e.Kind != event.KindFinished {
		v.status = v.agent + ": " + words
		v.live(v.at)
	}
}

// finished shows how an attempt ended; the session's end is shown later.
func (v *view) finished(e event.Event) {
	f := e.Finished
	if f == nil {
		return
	}
	if f.Outcome != event.OK && !v.asked {
		for _, line := range v.errs {
			v.complain(line)
		}
	}
	v.errs = nil
	// Some agents report this themselves.
	if f.Outcome != event.OK && f.Error != "" && f.Session != "" && !v.asked && !strings.Contains(v.said, f.Error) {
		v.fitted(term.Red, "✗", f.Error)
	}
	if f.Usage.Tokens() > 0 || f.Usage.Cost > 0 {
		v.used = f.Usage
	}
	v.before, v.used, v.asked = v.before.Add(v.used), event.Usage{}, false
	words := usageWords(v.before, v.guessed)
	if v.retries > 0 {
		words = strings.TrimPrefix(words+", "+"asked again "+count(v.retries, "time"), ", ")
	}
	if words != "" {
		v.line(term.Dim, v.agent+": "+words)
	}
}

// maxErrs is how much of an agent's standard error is shown when it fails.
const maxErrs = 5

func (v *view) complain(text string) { v.write(v.a.IO.Err, "", text) }

func (v *view) line(c term.Colour, text string) { v.write(v.out, c, text) }

func (v *view) write(w io.Writer, c term.Colour, text string) {
	v.a.IO.Settle()
	for line := range strings.SplitSeq(safetext.Text(text), "\n") {
		if !v.wanted() {
			continue
		}
		if c != "" {
			line = v.a.IO.Paint(c, line)
		}
		if v.times {
			line = v.a.IO.Paint(term.Dim, v.at.Local().Format(time.DateTime)) + "  " + line
		}
		v.a.IO.Sign(w, line)
	}
}

// under indents what a subagent does.
func under(e event.Event) string {
	if e.Parent != "" {
		return "  "
	}
	return ""
}

func inset(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// oneLine is the beginning of a text, without its line breaks.
func oneLine(text string, most int) string {
	return safetext.Fit(strings.Join(strings.Fields(safetext.Cut(text, 8*most)), " "), most)
}

// fitted shows a text in one line: as much as the terminal has room for, and all of it where there is none.
func (v *view) fitted(c term.Colour, begun, text string) {
	text = strings.Join(append(strings.Fields(begun), strings.Fields(text)...), " ")
	text = begun[:len(begun)-len(strings.TrimLeft(begun, " "))] + text
	if v.a.IO.OutTTY {
		cols, _ := v.a.size()
		if v.times {
			cols -= len(time.DateTime) + 2
		}
		text = safetext.Fit(text, cols)
	}
	v.line(c, text)
}

// toolWords describes a tool call by the most telling field of its input.
func toolWords(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range []string{"command", "cmd", "file_path", "filePath", "absolute_path", "path", "pattern", "query",
		"url", "skill", "description", "prompt"} {
		var text string
		var list []string
		switch {
		case json.Unmarshal(fields[name], &text) == nil && text != "":
			return text
		case json.Unmarshal(fields[name], &list) == nil && len(list) > 0:
			return strings.Join(list, " ")
		}
	}
	return ""
}

func retryWords(e event.Event) string {
	words := "the model did not answer"
	if e.Text != "" {
		words += ": " + oneLine(e.Text, 200)
	}
	if r := e.Retry; r != nil && r.Attempt > 0 {
		words += fmt.Sprintf("; retry %d", r.Attempt)
		switch {
		case r.Bound:
			words += fmt.Sprintf(" of at most %d", r.Max)
		case r.Max > 0:
			words += fmt.Sprintf(" of %d", r.Max)
		}
		if r.Delay > 0 {
			words += fmt.Sprintf(" in %s", r.Delay.Duration().Round(100*time.Millisecond))
		}
	}
	return words
}

// usageWords is what was used so far; "" if nothing is known.
func usageWords(u event.Usage, estimate bool) string {
	var parts []string
	if u.Turns > 0 {
		parts = append(parts, count(u.Turns, "turn"))
	}
	if u.Tokens() > 0 {
		parts = append(parts, tokenWords(u.Tokens())+" tokens")
	}
	if u.Cost > 0 {
		parts = append(parts, dollarWords(u.Cost, estimate))
	}
	return strings.Join(parts, ", ")
}

func tokenWords(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.0fM", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// dollarWords is a cost, marked if it is an estimate.
func dollarWords(d float64, estimate bool) string {
	text := fmt.Sprintf("$%.2f", d)
	if d < 0.01 {
		text = fmt.Sprintf("$%.4f", d)
	}
	if estimate {
		text += " (estimate)"
	}
	return text
}

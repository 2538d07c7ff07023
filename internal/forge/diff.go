package forge

import (
	"fmt"
	"strconv"
	"strings"
)

// Diff holds the lines of a pull request that a review may comment on: those that changed, and those around them.
type Diff map[string]*fileLines

type fileLines struct{ was, now map[int]string }

// ParseDiff reads a whole diff as git writes it.
func ParseDiff(text string) Diff {
	d := Diff{}
	before, path := "", ""
	var hunks strings.Builder
	flush := func() {
		if path != "" {
			d.Add(path, hunks.String())
		}
		path, before = "", ""
		hunks.Reset()
	}
	inHunk := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			flush()
			inHunk = false
		case !inHunk && strings.HasPrefix(line, "--- "):
			before = diffPath(line[4:], "a/")
		case !inHunk && strings.HasPrefix(line, "+++ "):
			if path = diffPath(line[4:], "b/"); path == "" {
				path = before // deleted
			}
		default:
			inHunk = inHunk || strings.HasPrefix(line, "@@ ")
			hunks.WriteString(line)
		}
	}
	flush()
	return d
}

func diffPath(s, side string) string {
	s = strings.TrimRight(s, "\n\r\t")
	if plain, err := strconv.Unquote(s); err == nil {
		s = plain
	}
	if s == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(s, side)
}

// Add reads the hunks of one file.
func (d Diff) Add(path, patch string) {
	f := &fileLines{was: map[int]string{}, now: map[int]string{}}
	d[path] = f
	var was, now, wasLeft, nowLeft int
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "@@ ") && wasLeft <= 0 && nowLeft <= 0 {
			was, wasLeft, now, nowLeft = hunkHeader(line)
			continue
		}
		switch {
		case strings.HasPrefix(line, "+"):
			f.now[now] = line[1:]
			now, nowLeft = now+1, nowLeft-1
		case strings.HasPrefix(line, "-"):
			f.was[was] = line[1:]
			was, wasLeft = was+1, wasLeft-1
		case strings.HasPrefix(line, " "), line == "":
			if wasLeft <= 0 && nowLeft <= 0 {
				continue
			}
			text := strings.TrimPrefix(line, " ")
			f.was[was], f.now[now] = text, text
			was, wasLeft = was+1, wasLeft-1
			now, nowLeft = now+1, nowLeft-1
		}
	}
}

// hunkHeader reads "@@ -1,2 +3,4 @@".
func hunkHeader(line string) (was, wasLen, now, nowLen int) {
	read := func(s string) (start, count int) {
		a, b, ok := strings.Cut(s, ",")
		start, _ = strconv.Atoi(a)
		if count = 1; ok {
			count, _ = strconv.Atoi(b)
		}
		return start, count
	}
	f := strings.Fields(line)
	if len(f) < 3 {
		return 0, 0, 0, 0
	}
	was, wasLen = read(strings.TrimPrefix(f[1], "-"))
	now, nowLen = read(strings.TrimPrefix(f[2], "+"))
	return was, wasLen, now, nowLen
}

// Line gives the text of a line, and whether it can be commented on.
func (d Diff) Line(path string, line int, old bool) (string, bool) {
	f := d[path]
	if f == nil {
		return "", false
	}
	lines := f.now
	if old {
		lines = f.was
	}
	text, ok := lines[line]
	return text, ok
}

// Find gives the line at which a run of lines ends now, if there is just one such place. The lines before the last one
// may have changed: what is needed is that some of the end can be told from all else.
func (d Diff) Find(path string, run []string, old bool) (int, bool) {
	f := d[path]
	if f == nil {
		return 0, false
	}
	lines := f.now
	if old {
		lines = f.was
	}
	for n := min(len(run), maxRun); n > 0; n-- {
		if at := endsOf(lines, run[len(run)-n:]); len(at) == 1 {
			return at[0], true
		} else if len(at) > 1 {
			return 0, false // fewer lines are found even more often
		}
	}
	return 0, false
}

// maxRun is how many lines before a line are used to tell it from others.
const maxRun = 4

func endsOf(lines map[int]string, run []string) (at []int) {
	for end := range lines {
		same := true
		for i := range run {
			text, ok := lines[end-len(run)+1+i]
			same = same && ok && text == run[i]
		}
		if same {
			at = append(at, end)
		}
	}
	return at
}

// Fit moves the line comments of a review that a forge would refuse into its body, and says how many.
func (d Diff) Fit(r Review) (fitting Review, moved int) {
	fitting = r
	fitting.Lines = nil
	var misfits []LineComment
	for _, c := range r.Lines {
		if _, ok := d.Line(c.Path, c.Line, c.Old); ok {
			fitting.Lines = append(fitting.Lines, c)
		} else {
			misfits = append(misfits, c)
		}
	}
	fitting.Body = withLines(r.Body, misfits)
	return fitting, len(misfits)
}

// withLines puts line comments into a body.
func withLines(body string, lines []LineComment) string {
	var b strings.Builder
	b.WriteString(body)
	for _, c := range lines {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		where := c.Path
		if c.Line > 0 {
			where += fmt.Sprintf(":%d", c.Line)
		}
		fmt.Fprintf(&b, "`%s`: %s", strings.ReplaceAll(where, "`", "'"), c.Body)
	}
	return b.String()
}

// Instead is the body of a review by an account that may not give its verdict: it says the verdict in words.
func Instead(v Verdict, body string) string {
	words := map[Verdict]string{Approve: "**Approved.**", RequestChanges: "**Changes requested.**"}[v]
	if body == "" {
		return words
	}
	return words + "\n\n" + body
}

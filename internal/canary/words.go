package canary

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
)

// label is a possibly hostile name as text that JSON keeps: what is no text is quoted.
func label(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, `"`) {
		return name
	}
	return strconv.Quote(name)
}

// Bounds of texts: a hostile name must not fill a screen.
const (
	maxWords  = 300
	maxDetail = 100
)

// clean makes one line of hostile text safe to show.
func clean(s string) string { return safetext.Cut(safetext.Line(s), maxWords) }

// byHand stands for a command whose words can't be shown as they are.
const byHand = "# its name can't be written on a command line: undo it by hand"

// command writes a command for a person to copy.
func command(args ...string) string {
	for i, a := range args {
		if safetext.Line(a) != a || len(a) > 4096 || strings.Contains(a, `/"`) {
			return byHand
		}
		args[i] = proc.ShellWord(a)
	}
	return strings.Join(args, " ")
}

// gitIn is a git command on one git directory that runs none of its hooks.
func gitIn(dir string, args ...string) string {
	return command(append([]string{"git", "--git-dir", dir, "-c", "core.hooksPath=/dev/null"}, args...)...)
}

func (c *comparison) git(args ...string) string { return gitIn(c.was.Common, args...) }

// path gives the full path of what a picture names.
func (c *comparison) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.was.Common, filepath.FromSlash(name))
}

func refWords(name string, was, is string) string {
	show := func(r string) string {
		if to, ok := strings.CutPrefix(r, symbolic); ok {
			return "a symbolic ref to " + clean(to)
		}
		return git.Short(clean(r))
	}
	switch {
	case was == "":
		return fmt.Sprintf("%s is new, at %s", clean(name), show(is))
	case is == "":
		return fmt.Sprintf("%s was deleted; it was at %s", clean(name), show(was))
	}
	return fmt.Sprintf("%s moved from %s to %s", clean(name), show(was), show(is))
}

// entryWords says how a path changed.
func entryWords(name string, was, is *Entry) string {
	name = clean(name)
	switch {
	case is == nil && was.odd():
		return fmt.Sprintf("%s was %s and is gone", name, oddWords(was))
	case is == nil:
		return name + " was removed"
	case was == nil && is.odd():
		return fmt.Sprintf("%s is %s", name, oddWords(is))
	case was == nil:
		return name + " was added"
	case is.odd(), was.odd():
		return fmt.Sprintf("%s is %s now; it was %s", name, oddWords(is), oddWords(was))
	case was.Sum == is.Sum && was.Size == is.Size && was.Mode != is.Mode:
		return fmt.Sprintf("%s has mode %04o now; it had %04o", name, is.Mode, was.Mode)
	}
	return name + " was changed"
}

func oddWords(e *Entry) string {
	switch {
	case e.Type == typeLink:
		return "a link to " + clean(e.Link)
	case e.Type == typeFile && e.Names > 1:
		return fmt.Sprintf("a file with %d names, of which git's is one", e.Names)
	}
	return "a " + e.Type
}

// cut bounds a list of lines, and says so.
func cut(lines []string) []string {
	if over := len(lines) - maxDetail; over > 0 {
		return append(lines[:maxDetail:maxDetail], fmt.Sprintf("… and %d more lines", over))
	}
	return lines
}

// lineDiff shows which lines are gone and which are new, without regard to their order.
func lineDiff(was, is []byte) []string {
	if !utf8.Valid(was) || !utf8.Valid(is) || len(was) > maxCopy || len(is) > maxCopy {
		return nil
	}
	var out []string
	missing := func(sign string, mine, theirs []byte) {
		count := map[string]int{}
		for l := range strings.Lines(string(theirs)) {
			count[l]++
		}
		for l := range strings.Lines(string(mine)) {
			if count[l]--; count[l] < 0 {
				out = append(out, sign+clean(strings.TrimRight(l, "\r\n")))
			}
		}
	}
	missing("- ", was, is)
	missing("+ ", is, was)
	return cut(out)
}

// Count says how much was found, in words.
func Count(r Report) string {
	changed := len(r.Changed())
	return fmt.Sprintf("%d changed, %d new in your repository", changed, len(r.Findings)-changed)
}

// Package patch makes a git patch that an agent wrote into files, hunks and lines, with what the gate found on
// the very lines. Everything in it is text: what draws it needs no markup.
package patch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/unit"
)

// File is a changed file.
type File struct {
	Path    string    `json:"path" doc:"its name, the new one if there is one"`
	Kind    string    `json:"kind" doc:"added, deleted or changed; none of one that is not shown"`
	Mode    string    `json:"mode,omitempty" doc:"the old and the new mode, if that has changed"`
	Binary  bool      `json:"binary,omitempty" doc:"it has no lines"`
	Added   int       `json:"added" doc:"lines"`
	Deleted int       `json:"deleted" doc:"lines"`
	Mark    string    `json:"mark,omitempty" doc:"names what is shown of it: a mark or a comment says this"`
	Cut     bool      `json:"cut,omitempty" doc:"there are more lines than are shown"`
	Hunks   []Hunk    `json:"hunks" doc:"what has changed in it"`
	Found   []Finding `json:"found" doc:"what the gate says of the file as a whole, or of lines that are not shown"`
}

// Hunk is a run of changed lines with some around them.
type Hunk struct {
	Head  string `json:"head" doc:"where it is"`
	Lines []Line `json:"lines" doc:"its lines"`
}

// Line is a line of a hunk.
type Line struct {
	Op    string    `json:"op" doc:"+, - or a blank"`
	Old   int       `json:"old,omitempty" doc:"its number before"`
	New   int       `json:"new,omitempty" doc:"its number now"`
	Text  string    `json:"text" doc:"what stands there"`
	Found []Finding `json:"found,omitempty" doc:"what the gate says of it"`
}

// Finding is what the gate says.
type Finding struct {
	Kind   string `json:"kind" doc:"of the change, as in pull.refuse, pull.ask and pull.tell"`
	Danger string `json:"danger" doc:"high, medium or low"`
	Says   string `json:"says" doc:"for a person"`
}

// Bounds on what is shown at once: of all files, and of one that is asked for alone.
const (
	maxFiles = 2_000
	maxLines = 5_000
	maxFile  = 2_000 // lines of one of them
	maxLine  = 2_000 // bytes
	maxAlone = 20_000
	maxWhole = 1 << 20 // bytes of a line
	maxBytes = 4 << 20 // of all lines
)

// Unseen is the kind of finding that says that something is not shown.
const Unseen = "unseen"

// Options say what a patch is of.
type Options struct {
	Report gate.Report    // what the gate says of it
	Alone  string         // the one file that is wanted, of which more is shown
	Ends   bool           // it is not whole: its last file ends too soon, and there may be more
	Named  []git.FileStat // all files: those that are not in it are named alone
}

// Read reads a patch of git's, without renames. More says that there are files that are not shown.
func Read(ctx context.Context, patch string, o Options) (files []File, more bool) {
	r := &reader{found: byPlace(o.Report), lines: maxLines, bytes: maxBytes, file: maxFile, line: maxLine}
	if o.Alone != "" {
		r.lines, r.file, r.line = maxAlone, maxAlone, maxWhole
	}
	files, names := []File{}, map[string]bool{}
	const begin = "diff --git "
	for patch != "" && ctx.Err() == nil {
		text, rest := patch, ""
		if i := strings.Index(patch, "\n"+begin); i >= 0 {
			text, rest = patch[:i+1], patch[i+1:]
		}
		patch = rest
		if !strings.HasPrefix(text, begin) {
			continue
		}
		if len(files) == maxFiles {
			return files, true
		}
		f, name := r.read(text)
		if names[name] = true; o.Alone == "" || o.Alone == f.Path {
			files = append(files, f)
		}
	}
	if n := len(files); o.Ends && n > 0 {
		files[n-1].unseen("what follows in it is not shown here")
	}
	if o.Alone != "" || !o.Ends {
		return files, o.Ends
	}
	rest := r.rest(names, o.Named)
	return append(files, rest[:min(len(rest), maxFiles-len(files))]...), o.Ends
}

// rest names the files that were not read.
func (r *reader) rest(read map[string]bool, named []git.FileStat) (files []File) {
	shown := map[string]int{} // two names can look alike
	for name := range read {
		shown[safetext.Line(name)]++
	}
	for _, n := range named {
		if shown[n.Path]--; shown[n.Path] >= 0 {
			continue
		}
		f := File{Path: safetext.Quote(n.Path), Added: n.Added, Deleted: n.Deleted, Binary: n.Binary, Hunks: []Hunk{},
			Found: r.found.rest(n.Path)}
		f.unseen("it is not shown here yet")
		files = append(files, f)
	}
	return files
}

type reader struct {
	found        places
	lines, bytes int // that may still be shown
	file, line   int // of one file, of one line
}

// read reads the patch of one file, and gives its name as it is.
func (r *reader) read(text string) (f File, name string) {
	sum := sha256.Sum256([]byte(text))
	f = File{Kind: "changed", Mark: hex.EncodeToString(sum[:8]), Hunks: []Hunk{}, Found: []Finding{}}
	var modes [2]string
	for text != "" && !strings.HasPrefix(text, "@@ ") {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		switch word, value, _ := strings.Cut(line, " "); {
		case word == "diff":
			name = nameOf(strings.TrimPrefix(value, "--git "))
		case strings.HasPrefix(line, "old mode "):
			modes[0] = strings.TrimPrefix(line, "old mode ")
		case strings.HasPrefix(line, "new mode "):
			modes[1] = strings.TrimPrefix(line, "new mode ")
		case strings.HasPrefix(line, "new file "):
			f.Kind = "added"
		case strings.HasPrefix(line, "deleted file "):
			f.Kind = "deleted"
		case word == "Binary":
			f.Binary = true
		}
	}
	if modes[0] != "" {
		f.Mode = modes[0] + " → " + modes[1]
	}
	f.Path = safetext.Quote(name)
	left := min(r.file, r.lines)
	unseen := 0
	var hunk *Hunk
	var at [2]int
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "@@ "):
			at = begins(line)
			hunk = nil
			if left > 0 && r.bytes > 0 {
				f.Hunks = append(f.Hunks, Hunk{Head: safetext.Quote(line)})
				hunk = &f.Hunks[len(f.Hunks)-1]
			}
			continue
		case line == "" || line[0] == '\\':
			continue
		}
		f.Added += strings.Count(line[:1], "+")
		f.Deleted += strings.Count(line[:1], "-")
		if hunk == nil || left == 0 || r.bytes <= 0 {
			unseen++
			continue
		}
		left--
		r.lines--
		hunk.Lines = append(hunk.Lines, r.one(name, line, &at))
	}
	f.Found = append(f.Found, r.found.rest(name)...)
	if f.Path != name {
		f.Found = append(f.Found, r.found.rest(f.Path)...)
	}
	if unseen > 0 {
		f.unseen(unit.Count(unseen, "more line") + " of its patch not shown here")
	}
	return f, name
}

func (f *File) unseen(says string) {
	f.Cut = true
	f.Found = append(f.Found, Finding{Unseen, "medium", says})
}

// one is a line of a hunk, which begins with its sign.
func (r *reader) one(name, text string, at *[2]int) (l Line) {
	op, shown := text[0], text[1:]
	if len(shown) > r.line || len(shown) > r.bytes {
		shown = safetext.Cut(shown, min(r.line, max(0, r.bytes)))
		l.Found = []Finding{{Unseen, "medium", fmt.Sprintf("this line goes on: it has %d bytes", len(text)-1)}}
	}
	r.bytes -= len(shown)
	l.Op, l.Text = string(op), safetext.Quote(shown)
	if op != '+' {
		l.Old = at[0]
		at[0]++
	}
	if op != '-' {
		l.New = at[1]
		at[1]++
	}
	switch op {
	case '-':
		l.Found = append(l.Found, r.found.take(name, true, l.Old)...)
	case '+':
		l.Found = append(l.Found, r.found.take(name, false, l.New)...)
	}
	return l
}

// nameOf is the name of a file, which stands in a patch twice: with a/ and with b/ before it, and quoted if it is odd.
func nameOf(twice string) string {
	name := twice[:len(twice)/2]
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	return strings.TrimPrefix(name, "a/")
}

// begins are the numbers of the lines that a hunk begins with, of both sides.
func begins(head string) (at [2]int) {
	for i, word := range strings.Fields(head)[1:] {
		if i < len(at) {
			number, _, _ := strings.Cut(strings.TrimLeft(word, "-+"), ",")
			at[i], _ = strconv.Atoi(number) // git wrote it
		}
	}
	return at
}

// place is where a finding belongs.
type place struct {
	path    string
	removed bool
	line    int
}

type places map[place][]Finding

func byPlace(r gate.Report) places {
	found := places{}
	for _, g := range r.Groups {
		for _, f := range g.Findings {
			says := f.Says
			if f.Commit != "" {
				says += " (in commit " + f.Commit[:min(10, len(f.Commit))] + ")"
			}
			if f.Where != "" {
				says += " (" + f.Where + ")"
			}
			at := place{f.Path, strings.HasPrefix(f.Text, "-"), f.Line}
			if f.Where != "" || f.Commit != "" {
				at.line = 0 // the lines that are shown are others
			}
			found[at] = append(found[at], Finding{string(f.Kind), f.Danger.String(), says})
		}
	}
	return found
}

func (p places) take(path string, removed bool, line int) []Finding {
	at := place{path, removed, line}
	f := p[at]
	delete(p, at)
	return f
}

// rest is what is left of a file: of the file as a whole, and of lines that are not shown.
func (p places) rest(path string) (all []Finding) {
	for at, f := range p {
		if at.path == path {
			all = append(all, f...)
			delete(p, at)
		}
	}
	return all
}

// Package patch makes a git patch that an agent wrote into files, hunks and coloured lines, with what the gate found on
// the very lines. Everything in it is text: what draws it needs no markup.
package patch

import (
	"errors"
	"io"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
)

// File is a changed file.
type File struct {
	Path    string    `json:"path" doc:"its name, the new one if there is one"`
	Kind    string    `json:"kind" doc:"added, deleted or changed"`
	Mode    string    `json:"mode,omitempty" doc:"the old and the new mode, if that has changed"`
	Binary  bool      `json:"binary,omitempty" doc:"it has no lines"`
	Added   int       `json:"added" doc:"lines"`
	Deleted int       `json:"deleted" doc:"lines"`
	Cut     bool      `json:"cut,omitempty" doc:"there are more lines than are shown; ask for this file alone"`
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
	Spans []Span    `json:"spans" doc:"its pieces"`
	Found []Finding `json:"found,omitempty" doc:"what the gate says of it"`
}

// Finding is what the gate says.
type Finding struct {
	Kind   string `json:"kind" doc:"of the change, as in pull.refuse, pull.ask and pull.tell"`
	Danger string `json:"danger" doc:"high, medium or low"`
	Says   string `json:"says" doc:"for a person"`
}

// Bounds on what is shown at once.
const (
	maxLines = 20_000 // of all files
	maxFile  = 2_000  // of one, if it is not asked for alone
	maxLine  = 2_000  // characters of a line, if its file is not asked for alone
	maxAlone = 200_000
)

// Read reads a patch. Only names one file that is wanted whole, "" all of them.
func Read(r io.Reader, report gate.Report, only string) (files []File, err error) {
	found := byPlace(report)
	left := maxLines
	parsed, _, err := gitdiff.Parse(r)
	if err != nil {
		return nil, err
	}
	files = []File{}
	for _, f := range parsed {
		out := File{Path: f.NewName, Kind: "changed", Binary: f.IsBinary, Hunks: []Hunk{}, Found: []Finding{}}
		switch {
		case f.IsNew:
			out.Kind = "added"
		case f.IsDelete:
			out.Kind, out.Path = "deleted", f.OldName
		}
		if only != "" && out.Path != only {
			continue
		}
		if f.OldMode != 0 && f.NewMode != 0 && f.OldMode != f.NewMode {
			out.Mode = strings.TrimLeft(f.OldMode.String(), "-") + " → " + strings.TrimLeft(f.NewMode.String(), "-")
		}
		most, wide := maxFile, maxLine
		if only != "" {
			most, wide = maxLines, maxAlone
		}
		left -= out.fill(f, found, min(most, max(0, left)), wide)
		out.Found = append(out.Found, found.rest(out.Path)...)
		out.Path = safetext.Spell(out.Path)
		files = append(files, out)
	}
	return files, nil
}

// fill adds up to so many lines, and says how many there are now.
func (f *File) fill(in *gitdiff.File, found places, most, wide int) (n int) {
	paint := newPainter(f.Path)
	name := f.Path
	for _, frag := range in.TextFragments {
		f.Added += int(frag.LinesAdded)
		f.Deleted += int(frag.LinesDeleted)
		if n >= most {
			f.Cut = true
			continue
		}
		h := Hunk{Head: safetext.Spell(strings.TrimSpace(frag.Header()))}
		if len(frag.Lines) > most-n {
			f.Cut = true
			frag.Lines = frag.Lines[:most-n]
		}
		n += len(frag.Lines)
		for _, l := range frag.Lines {
			f.Cut = f.Cut || len(l.Line) > wide // nobody takes the rest unseen: it is there if the file is asked for alone
		}
		h.Lines = lines(frag, paint, wide, func(op gitdiff.LineOp, line int) []Finding {
			return found.take(name, op == gitdiff.OpDelete, line)
		})
		f.Hunks = append(f.Hunks, h)
	}
	return n
}

// lines colours both sides of a hunk, each as it reads in its file.
func lines(frag *gitdiff.TextFragment, p *painter, wide int, found func(gitdiff.LineOp, int) []Finding) []Line {
	var sides [2][]string
	text := make([]string, len(frag.Lines))
	for i, l := range frag.Lines {
		text[i] = safetext.Spell(safetext.Fit(strings.TrimRight(l.Line, "\r\n"), wide))
		if l.Op != gitdiff.OpAdd {
			sides[0] = append(sides[0], text[i])
		}
		if l.Op != gitdiff.OpDelete {
			sides[1] = append(sides[1], text[i])
		}
	}
	before, after := p.paint(sides[0]), p.paint(sides[1])
	out := make([]Line, 0, len(frag.Lines))
	from, to := int(frag.OldPosition), int(frag.NewPosition)
	var a, b int
	for _, l := range frag.Lines {
		line := Line{Op: l.Op.String()}
		switch l.Op {
		case gitdiff.OpDelete:
			line.Old, line.Spans, line.Found = from, before[a], found(l.Op, from)
			from, a = from+1, a+1
		case gitdiff.OpAdd:
			line.New, line.Spans, line.Found = to, after[b], found(l.Op, to)
			to, b = to+1, b+1
		default:
			line.Old, line.New, line.Spans = from, to, after[b]
			from, to, a, b = from+1, to+1, a+1, b+1
		}
		if line.Spans == nil {
			line.Spans = []Span{}
		}
		out = append(out, line)
	}
	return out
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
			found[at] = append(found[at], Finding{string(f.Kind), f.Danger.String(), safetext.Spell(says)})
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

// ErrTooLong says that a patch is longer than is shown.
var ErrTooLong = errors.New("the change is too long to be shown")

// Limited passes on so many bytes.
type Limited struct {
	W    io.Writer
	Left int64
}

func (l *Limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.Left {
		return 0, ErrTooLong
	}
	n, err := l.W.Write(p)
	l.Left -= int64(n)
	return n, err
}

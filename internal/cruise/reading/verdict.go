// Package reading reads what models and people write: a review, the names of a task, the word that ends a review, and
// whether words ask for anything. It does no I/O, and takes nothing on trust.
package reading

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/cco-dev/cco/internal/safetext"
)

// Verdict is how a reviewer judges.
type Verdict string

// The verdicts. A review that failed has none of them.
const (
	Approved     Verdict = "APPROVED"
	NeedsChanges Verdict = "NEEDS_CHANGES"
	Skipped      Verdict = "SKIPPED"
)

// ReviewAnswer is what a reviewer says.
type ReviewAnswer struct {
	Verdict  Verdict         `json:"verdict"`
	Summary  string          `json:"summary,omitempty"`
	Findings []ReviewFinding `json:"findings"`
}

// ReviewFinding is one thing in a review, as the reviewer words it.
type ReviewFinding struct {
	ID       string `json:"id,omitempty"` // of a known finding that it raises again
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

const (
	maxReviewBytes  = 256 << 10
	maxFindings     = 50
	maxFindingBytes = 4 << 10
	maxObjects      = 1000     // that are looked for in a text
	maxMarked       = 16 << 10 // is read as Markdown: whoever writes more can say it again
)

// ParseReview reads a reviewer's answer: the last JSON object in it that has a verdict. Text around it and unknown
// fields are allowed; an answer that can't be read is an error, and an error is never an approval.
func ParseReview(answer string) (ReviewAnswer, error) {
	if len(answer) > maxReviewBytes {
		return ReviewAnswer{}, fmt.Errorf("an answer of more than %d bytes", maxReviewBytes)
	}
	object, err := verdictIn(answer)
	if err != nil {
		return ReviewAnswer{}, err
	}
	var r ReviewAnswer
	if err := json.Unmarshal(object, &r); err != nil {
		return ReviewAnswer{}, fmt.Errorf("not the schema: %w", err)
	}
	return r, r.check()
}

// verdictIn finds the object with the verdict. One that begins a line counts; those within a sentence may be examples,
// and count only if there is no other and they agree.
func verdictIn(text string) (json.RawMessage, error) {
	var inline []json.RawMessage
	var last json.RawMessage
	eachObject(text, func(at int, object json.RawMessage) bool {
		var has struct{ Verdict *string }
		switch {
		case json.Unmarshal(object, &has) != nil || has.Verdict == nil:
			return false
		case strings.Trim(text[strings.LastIndexByte(text[:at], '\n')+1:at], " \t`") == "":
			last = object
		default:
			inline = append(inline, object)
		}
		return true
	})
	if last != nil {
		return last, nil
	}
	for _, o := range inline {
		if !bytes.Equal(o, inline[0]) {
			return nil, errors.New("several JSON objects with a verdict, and none on a line of its own")
		}
	}
	if len(inline) == 0 {
		return nil, errors.New("no JSON object with a verdict")
	}
	return inline[0], nil
}

// eachObject shows the JSON objects in a text, and where each begins. One that is not taken is searched for others.
func eachObject(text string, take func(at int, object json.RawMessage) (taken bool)) {
	at := 0
	for range maxObjects {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			return
		}
		at += next
		d := json.NewDecoder(strings.NewReader(text[at:]))
		var object json.RawMessage
		if d.Decode(&object) == nil && take(at, object) {
			at += int(d.InputOffset())
		} else {
			at++
		}
	}
}

func (r ReviewAnswer) check() error {
	if !slices.Contains([]Verdict{Approved, NeedsChanges, Skipped}, r.Verdict) {
		return fmt.Errorf("no verdict %q", r.Verdict)
	}
	if len(r.Findings) > maxFindings {
		return fmt.Errorf("more than %d findings", maxFindings)
	}
	for _, f := range r.Findings {
		if f.Text == "" || len(f.Text) > maxFindingBytes || f.Line < 0 {
			return errors.New("a finding without words, with too many, or with a line below zero")
		}
		if safetext.Line(f.Path) != f.Path {
			return fmt.Errorf("a finding in a file whose name has control characters: %q", f.Path)
		}
		if f.Path != "" && (path.IsAbs(f.Path) || strings.HasPrefix(path.Clean(f.Path), "..")) {
			return fmt.Errorf("a finding outside of the repository: %q", f.Path)
		}
	}
	switch {
	case r.Verdict == Approved && slices.ContainsFunc(r.Findings,
		func(f ReviewFinding) bool { return f.Severity != "minor" }):
		return errors.New("an approval with findings that are more than minor")
	case r.Verdict == NeedsChanges && len(r.Findings) == 0:
		return errors.New("changes wanted, and none named")
	}
	return nil
}

// reviewComplete is the word with which a trusted reviewer ends the review.
const reviewComplete = "[REVIEW COMPLETE]"

// Complete says whether words end the review: the marker stands at the beginning or the end of a line that Markdown
// shows as ordinary text, not in a quotation, code, a list, or what is hidden.
func Complete(text string) bool {
	if !strings.Contains(text, reviewComplete) || len(text) > maxMarked {
		return false
	}
	source := []byte(text)
	// Without links and emphasis, whose reading can take long: they show the marker as it is.
	doc := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		parser.WithInlineParsers(util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewRawHTMLParser(), 400))).Parse(gmtext.NewReader(source))
	for block := doc.FirstChild(); block != nil; block = block.NextSibling() {
		if kind := block.Kind(); kind != ast.KindParagraph && kind != ast.KindHeading {
			continue
		}
		line := ""
		for part := block.FirstChild(); part != nil; part = part.NextSibling() {
			t, plain := part.(*ast.Text)
			if !plain {
				line += "`" // something else is shown there
				continue
			}
			if line += string(t.Segment.Value(source)); t.SoftLineBreak() || t.HardLineBreak() {
				if _, ok := cutMarker(line); ok {
					return true
				}
				line = ""
			}
		}
		if _, ok := cutMarker(line); ok {
			return true
		}
	}
	return false
}

// cutMarker gives a line without the marker that it begins or ends with. Some other things begin like it: a link, say.
func cutMarker(line string) (rest string, ok bool) {
	const marks = " \t.,:;!-—*_"
	line = strings.Trim(line, " \t*_")
	if rest, ok = strings.CutPrefix(line, reviewComplete); ok && (rest == "" || strings.TrimLeft(rest, marks) != rest) {
		return strings.TrimLeft(rest, marks), true
	}
	return strings.CutSuffix(strings.TrimRight(line, " \t.!"), " "+reviewComplete)
}

// OnlyMarkers says whether words hold nothing but markers, which are no work.
func OnlyMarkers(text string) bool { return strings.TrimSpace(withoutMarkers(text)) == "" }

// Harmless disables markers in a model's text and keeps the text readable.
func Harmless(text string) string {
	return strings.NewReplacer(
		"<!--", "&lt;!--", "-->", "--&gt;",
		reviewComplete, strings.ToLower(reviewComplete),
	).Replace(text)
}

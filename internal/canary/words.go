package canary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

// Raw is a possibly hostile name: it keeps bytes that are no text through JSON.
type Raw string

// MarshalText quotes what isn't plain text.
func (r Raw) MarshalText() ([]byte, error) {
	if !utf8.ValidString(string(r)) || strings.HasPrefix(string(r), `"`) {
		return []byte(strconv.Quote(string(r))), nil
	}
	return []byte(r), nil
}

// UnmarshalText reads what MarshalText wrote.
func (r *Raw) UnmarshalText(b []byte) error {
	if !strings.HasPrefix(string(b), `"`) {
		*r = Raw(b)
		return nil
	}
	s, err := strconv.Unquote(string(b))
	*r = Raw(s)
	return err
}

// Texts are cut to this, because a hostile name must not fill a screen.
const maxWords = 300

// clean makes one line of hostile text safe to show.
func clean(s string) string { return safetext.Cut(safetext.Line(s), maxWords) }

// short abbreviates an object id.
func short(oid string) string { return oid[:min(10, len(oid))] }

// refWords tells what a ref holds.
func refWords(r git.Ref) string {
	if r.Symref != "" {
		return "symbolic ref to " + clean(r.Symref)
	}
	return r.OID
}

func shortRef(r git.Ref) string {
	if r.Symref != "" {
		return refWords(r)
	}
	return short(r.OID)
}

// refFinding says how a ref changed. A ref without an id isn't there.
func refFinding(name string, was, is git.Ref) Finding {
	f := Finding{Kind: KindRef, What: clean(name), Before: refWords(was), After: refWords(is), Ref: Raw(name), Is: is}
	switch {
	case was.OID == "":
		f.Words = fmt.Sprintf("%s was added at %s", f.What, shortRef(is))
	case is.OID == "":
		f.Words = fmt.Sprintf("%s was deleted; it was at %s", f.What, shortRef(was))
	default:
		f.Words = fmt.Sprintf("%s moved from %s to %s", f.What, shortRef(was), shortRef(is))
	}
	return f
}

// entryWords describes what is at a path.
func entryWords(e *Entry) string {
	switch {
	case e == nil:
		return ""
	case e.Type == typeLink:
		return "link to " + clean(string(e.Link))
	case e.Type == typeFile && e.Sum == "":
		return fmt.Sprintf("file of %d bytes, mode %04o", e.Size, e.Mode)
	case e.Type == typeFile:
		return fmt.Sprintf("file of %d bytes, mode %04o, sha256 %s", e.Size, e.Mode, e.Sum)
	default:
		return fmt.Sprintf("%s, mode %04o", e.Type, e.Mode)
	}
}

// fileFinding says how a path changed.
func fileFinding(kind Kind, name, path string, was, is *Entry) Finding {
	f := Finding{Kind: kind, What: clean(name), Before: entryWords(was), After: entryWords(is), Path: Raw(path), Found: is}
	switch {
	case was == nil && is.Type == typeFile:
		f.Words = f.What + " was added"
	case was == nil:
		f.Words = fmt.Sprintf("%s was added, a %s", f.What, strings.Split(f.After, ",")[0])
	case is == nil:
		f.Words = f.What + " was removed"
	case was.Type != is.Type:
		f.Words = fmt.Sprintf("%s was a %s and is now a %s", f.What, was.Type, is.Type)
	case was.Type == typeLink:
		f.Words = fmt.Sprintf("%s is now a %s; it was a %s", f.What, f.After, f.Before)
	case was.Mode != is.Mode && was.Sum == is.Sum && was.Size == is.Size:
		f.Words = fmt.Sprintf("%s has mode %04o now; it had %04o", f.What, is.Mode, was.Mode)
	default:
		f.Words = f.What + " was changed"
	}
	return f
}

// maxDetail bounds the lines that say more about one finding.
const maxDetail = 100

// cut bounds a list of lines, and says so.
func cut(lines []string) []string {
	if over := len(lines) - maxDetail; over > 0 {
		return append(lines[:maxDetail:maxDetail], fmt.Sprintf("… and %d more lines", over))
	}
	return lines
}

// added shows the content of a new file, if it is text.
func added(content []byte) []string {
	if !utf8.Valid(content) || strings.ContainsRune(string(content), 0) {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(content)) {
		out = append(out, "+ "+clean(strings.TrimRight(line, "\r\n")))
	}
	return cut(out)
}

// lineDiff shows which lines are gone and which are new, without regard to their order.
func lineDiff(was, is []byte) []string {
	if !utf8.Valid(was) || !utf8.Valid(is) {
		return nil
	}
	a, b := slices.Collect(strings.Lines(string(was))), slices.Collect(strings.Lines(string(is)))
	var out []string
	for _, side := range []struct {
		sign       string
		mine, them []string
	}{{"- ", a, b}, {"+ ", b, a}} {
		count := map[string]int{}
		for _, l := range side.them {
			count[l]++
		}
		for _, l := range side.mine {
			if count[l]--; count[l] < 0 {
				out = append(out, side.sign+clean(strings.TrimRight(l, "\r\n")))
			}
		}
	}
	return cut(out)
}

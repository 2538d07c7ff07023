package quarantine

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// header is the part of a bundle before its pack.
type header struct {
	version       int
	format        string // of object ids
	prerequisites []string
	refs          []git.NamedRef
	size          int64 // bytes before the pack
}

const (
	maxHeaderBytes   = 1 << 20
	maxPrerequisites = 1 << 12
)

// readHeader reads a bundle's header as strictly as git writes it: capabilities, prerequisites, refs, an empty line.
// It reads no further than that from r. If kept says so, refs below KeptRef are allowed, too.
func readHeader(r *bufio.Reader, kept bool) (header, error) {
	p := headerParser{r: r, kept: kept, h: header{format: "sha1"}}
	if err := p.signature(); err != nil {
		return header{}, err
	}
	for {
		line, err := p.line()
		if err != nil {
			return header{}, err
		}
		if line == "" {
			break
		}
		if err := p.parseLine(line); err != nil {
			return header{}, err
		}
	}
	if err := p.names(); err != nil {
		return header{}, err
	}
	if len(p.h.refs) == 0 {
		return header{}, refuse(RuleHeader, "the bundle has no refs")
	}
	return p.h, nil
}

type headerParser struct {
	r    *bufio.Reader
	kept bool
	h    header
}

func (p *headerParser) line() (string, error) {
	var line []byte
	for {
		part, err := p.r.ReadSlice('\n')
		p.h.size += int64(len(part))
		if p.h.size > maxHeaderBytes {
			return "", refuse(RuleHeader, "the bundle's header is longer than %d bytes", maxHeaderBytes)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return string(line[:len(line)-1]), nil
		case errors.Is(err, io.EOF):
			return "", refuse(RuleHeader, "the bundle ends in its header")
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

func (p *headerParser) signature() error {
	line, err := p.line()
	if err != nil {
		return err
	}
	switch line {
	case "# v2 git bundle":
		p.h.version = 2
	case "# v3 git bundle":
		p.h.version = 3
	default:
		return refuse(RuleHeader, "not a git bundle")
	}
	return nil
}

func (p *headerParser) parseLine(line string) error {
	switch line[0] {
	case '@':
		return p.capability(line[1:])
	case '-':
		return p.prerequisite(line[1:])
	}
	oid, name, ok := strings.Cut(line, " ")
	if !ok || !git.IsOID(oid, p.oidLen()) {
		return refuse(RuleHeader, "malformed line in the bundle's header: %s", git.Quote(git.Clip(line)))
	}
	for _, r := range p.h.refs {
		if r.Name == name {
			return refuse(RuleRef, "the bundle has %s twice", name)
		}
	}
	p.h.refs = append(p.h.refs, git.NamedRef{Name: name, OID: oid})
	return nil
}

// names refuses refs that are not expected. HEAD and a branch are, as further names of OutRef's commit, for a person
// who fetches by hand; they are left out.
func (p *headerParser) names() error {
	out := ""
	for _, r := range p.h.refs {
		if r.Name == OutRef {
			out = r.OID
		}
	}
	p.h.refs = slices.DeleteFunc(p.h.refs, func(r git.NamedRef) bool {
		return r.OID == out && (r.Name == "HEAD" || strings.HasPrefix(r.Name, "refs/heads/"))
	})
	for _, r := range p.h.refs {
		if r.Name != OutRef && r.Name != WipRef && (!p.kept || !validKept(r.Name)) {
			return refuse(RuleRef, "the bundle has a ref that was not expected: %s", git.Quote(git.Clip(r.Name)))
		}
	}
	return nil
}

// validKept is stricter with names than git: nothing in them can be odd on any file system or terminal.
func validKept(ref string) bool {
	name, ok := keptName(ref)
	if !ok || len(name) > maxKeptName {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		odd := func(r rune) bool {
			return r > 'z' || !strings.ContainsRune("._@+=-0123456789", r) && (r|0x20 < 'a' || r|0x20 > 'z')
		}
		if part == "" || part == "@" || strings.Trim(part, ".") != part || strings.HasPrefix(part, "-") ||
			strings.Contains(part, "..") ||
			strings.HasSuffix(strings.ToLower(part), ".lock") || strings.ContainsFunc(part, odd) {
			return false
		}
	}
	return true
}

// keptName is a ref's name below KeptRef. Bundles of earlier versions have branches, tags and the stash under their own
// names.
func keptName(ref string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(ref, KeptRef); ok {
		return name, true
	}
	name, _ = strings.CutPrefix(ref, "refs/")
	return name, strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/") || ref == "refs/stash"
}

// maxKeptName bounds a name below KeptRef.
const maxKeptName = 250

func (p *headerParser) capability(line string) error {
	if p.h.version < 3 || len(p.h.prerequisites)+len(p.h.refs) > 0 {
		return refuse(RuleHeader, "misplaced capability in the bundle's header")
	}
	format, ok := strings.CutPrefix(line, "object-format=")
	if !ok || format != "sha1" && format != "sha256" {
		return refuse(RuleHeader, "the bundle asks for %s", git.Quote(git.Clip(line)))
	}
	p.h.format = format
	return nil
}

func (p *headerParser) prerequisite(line string) error {
	oid, _, _ := strings.Cut(line, " ")
	if !git.IsOID(oid, p.oidLen()) || len(p.h.refs) > 0 {
		return refuse(RuleHeader, "malformed prerequisite in the bundle's header")
	}
	if len(p.h.prerequisites) == maxPrerequisites {
		return refuse(RuleHeader, "the bundle has more than %d prerequisites", maxPrerequisites)
	}
	p.h.prerequisites = append(p.h.prerequisites, oid)
	return nil
}

func (p *headerParser) oidLen() int {
	if p.h.format == "sha256" {
		return 64
	}
	return 40
}

// Package wire is what cco and its program in a cage say to each other about a private repository. It does no I/O
// beyond the streams that it is given.
package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Job tells `cco-box aside` what to send. The user's index, as `git ls-files --stage -z` lists it, follows its line.
type Job struct {
	GitDir   string   `json:"git_dir"`
	WorkTree string   `json:"work_tree"`
	Not      []string `json:"not"`            // what the user has
	Only     []string `json:"only,omitempty"` // pack these objects, and not all that is new
	NoIndex  bool     `json:"no_index,omitempty"`
}

// Said is what comes back, before a pack. Everything in it may be a lie.
type Said struct {
	Heads       map[string]string  // branches, without refs/heads/
	Others      map[string]string  // other refs, which stay inside
	Head        Head               // what is checked out
	Index       map[string][]Entry // by path, where it differs from the user's; nothing for a path that is gone
	IndexBroken bool
}

// Head is what is checked out: a branch's full name, a commit, or both.
type Head struct {
	Symref string `json:"symref,omitempty"`
	OID    string `json:"oid,omitempty"`
}

// Entry is one entry of an index.
type Entry struct {
	Mode  string `json:"mode"`
	OID   string `json:"oid"`
	Stage int    `json:"stage,omitempty"`
}

// End comes after the pack: without it the stream has broken off.
const End = "\ncco-box aside: end\n"

// Bounds of a header.
const (
	MaxHeader  = 128 << 20
	MaxEntries = 500_000
	maxLine    = 64 << 10
	maxRefs    = 200_000
	maxName    = 1 << 10
)

// line is one line of a header. Names are bytes, because git's need not be text.
type line struct {
	Version int     `json:"version,omitempty"`
	Ref     []byte  `json:"ref,omitempty"`
	OID     string  `json:"oid,omitempty"`
	Head    *Head   `json:"head,omitempty"`
	Path    []byte  `json:"path,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	Broken  bool    `json:"index_broken,omitempty"`
	Pack    bool    `json:"pack,omitempty"` // the last: the pack begins after it
}

const version = 1

// Write writes a header.
func Write(w io.Writer, s Said) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	lines := []line{{Version: version}, {Head: &s.Head}}
	if s.IndexBroken {
		lines = append(lines, line{Broken: true})
	}
	for name, oid := range s.Heads {
		lines = append(lines, line{Ref: []byte("refs/heads/" + name), OID: oid})
	}
	for name, oid := range s.Others {
		lines = append(lines, line{Ref: []byte(name), OID: oid})
	}
	for path, entries := range s.Index {
		lines = append(lines, line{Path: []byte(path), Entries: entries})
	}
	for _, l := range append(lines, line{Pack: true}) {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Read reads a header, and no byte of what follows it. It refuses whatever Write would not have written, and gives the
// header's length.
func Read(r *bufio.Reader, oidLen int) (Said, int64, error) {
	p := parser{r: r, oidLen: oidLen, said: Said{Heads: map[string]string{}, Others: map[string]string{},
		Index: map[string][]Entry{}}}
	for n := 0; ; n++ {
		l, err := p.next()
		if err != nil {
			return Said{}, 0, err
		}
		if (n == 0) != (l.Version == version) {
			return Said{}, 0, errors.New("header: not of this version")
		}
		if l.Pack {
			if !p.head {
				return Said{}, 0, errors.New("header: it has no HEAD")
			}
			return p.said, p.size, nil
		}
		if err := p.take(l); err != nil {
			return Said{}, 0, fmt.Errorf("header: line %d: %w", n+1, err)
		}
	}
}

type parser struct {
	r      *bufio.Reader
	oidLen int
	said   Said
	size   int64
	count  int // paths of the index
	head   bool
}

func (p *parser) next() (l line, err error) {
	var b []byte
	for {
		part, err := p.r.ReadSlice('\n')
		b = append(b, part...)
		if p.size += int64(len(part)); len(b) > maxLine || p.size > MaxHeader {
			return l, errors.New("header: too long")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return l, fmt.Errorf("header: it broke off: %w", err)
		}
		break
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, fmt.Errorf("header: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("header: more than a value in a line")
	}
	return l, nil
}

// take takes one line, which says one thing.
func (p *parser) take(l line) error {
	switch {
	case l.Version != 0:
		return nil
	case l.Head != nil:
		return p.takeHead(*l.Head)
	case l.Broken:
		p.said.IndexBroken = true
		return nil
	case l.Ref != nil:
		return p.takeRef(string(l.Ref), l.OID)
	case l.Path != nil:
		return p.takePath(string(l.Path), l.Entries)
	}
	return errors.New("it says nothing")
}

func (p *parser) takeHead(h Head) error {
	if p.head {
		return errors.New("a second HEAD")
	}
	p.head = true
	if h.OID != "" && !p.isOID(h.OID) || h.OID == "" && h.Symref == "" {
		return errors.New("HEAD is no commit")
	}
	if h.Symref != "" && !ValidRef(h.Symref) {
		return errors.New("HEAD is not on a valid ref")
	}
	p.said.Head = h
	return nil
}

func (p *parser) takeRef(name, oid string) error {
	if !ValidRef(name) || !p.isOID(oid) {
		return errors.New("not a valid ref")
	}
	refs := p.said.Others
	if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
		refs, name = p.said.Heads, branch
	}
	if refs[name] != "" || len(p.said.Heads)+len(p.said.Others) == maxRefs {
		return errors.New("a ref twice, or too many")
	}
	refs[name] = oid
	return nil
}

func (p *parser) takePath(path string, entries []Entry) error {
	if p.count++; p.count > MaxEntries {
		return errors.New("too many differences of the index")
	}
	if _, twice := p.said.Index[path]; twice || !validPath(path) || len(entries) > 3 {
		return errors.New("not a valid path")
	}
	stages := map[int]bool{}
	for _, e := range entries {
		if !p.isOID(e.OID) || strings.Trim(e.OID, "0") == "" || e.Stage < 0 || e.Stage > 3 || stages[e.Stage] ||
			e.Stage == 0 && len(entries) > 1 {
			return errors.New("not a valid entry of an index")
		}
		switch e.Mode {
		case "100644", "100755", "120000", "160000":
		default:
			return errors.New("an entry of an index with an odd mode")
		}
		stages[e.Stage] = true
	}
	p.said.Index[path] = entries
	return nil
}

func (p *parser) isOID(s string) bool {
	return len(s) == p.oidLen && strings.Trim(s, "0123456789abcdef") == ""
}

// validPath says whether a path can be one of an index. Whether a part is .git in an odd spelling, git says.
func validPath(path string) bool {
	if path == "" || len(path) > 4<<10 || strings.ContainsRune(path, 0) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// ValidRef says whether git allows a full name for a ref: the rules of git check-ref-format. A branch can't look like
// an option, or be called HEAD, either.
func ValidRef(name string) bool {
	rest, ok := strings.CutPrefix(name, "refs/")
	if !ok || len(name) > maxName || strings.HasSuffix(name, ".") || strings.Contains(name, "..") ||
		strings.Contains(name, "@{") {
		return false
	}
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") || len(part) > 250 ||
			strings.ContainsFunc(part, bad) {
			return false
		}
	}
	branch, ok := strings.CutPrefix(rest, "heads/")
	return rest != "heads" && (!ok || branch != "HEAD" && branch != "@" && branch[0] != '-')
}

// ReadJob reads a job, and leaves r at the index that follows.
func ReadJob(r *bufio.Reader) (j Job, err error) {
	b, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	if err != nil {
		return j, fmt.Errorf("read job: %w", err)
	}
	return j, nil
}

// Differ compares two indexes, as `git ls-files --stage -z` lists them, and gives what is at each path of the second
// that differs from the first.
func Differ(was, is []byte) (map[string][]Entry, error) {
	diff := map[string][]Entry{}
	if bytes.Equal(was, is) {
		return diff, nil
	}
	seen := map[string]int{}
	for record := range bytes.SplitSeq(was, []byte{0}) {
		seen[string(record)]++
	}
	for record := range bytes.SplitSeq(is, []byte{0}) {
		if seen[string(record)]--; seen[string(record)] < 0 {
			path, _, err := parseRecord(record)
			if err != nil {
				return nil, err
			}
			diff[path] = nil
		}
	}
	for record, n := range seen {
		if n > 0 {
			path, _, err := parseRecord([]byte(record))
			if err != nil {
				return nil, err
			}
			diff[path] = nil
		}
	}
	return At(is, diff)
}

// At gives what an index, as `git ls-files --stage -z` lists it, has at some paths.
func At[V any](index []byte, paths map[string]V) (map[string][]Entry, error) {
	at := map[string][]Entry{}
	for path := range paths {
		at[path] = nil
	}
	for record := range bytes.SplitSeq(index, []byte{0}) {
		if len(record) == 0 {
			continue
		}
		path, e, err := parseRecord(record)
		if err != nil {
			return nil, err
		}
		if _, ok := at[path]; ok {
			at[path] = append(at[path], e)
		}
	}
	return at, nil
}

// parseRecord reads "<mode> <oid> <stage>\t<path>".
func parseRecord(record []byte) (string, Entry, error) {
	meta, path, ok := strings.Cut(string(record), "\t")
	f := strings.Fields(meta)
	if !ok || len(f) != 3 || len(f[2]) != 1 || f[2] < "0" || f[2] > "3" {
		return "", Entry{}, fmt.Errorf("unexpected line of an index: %q", record)
	}
	return path, Entry{Mode: f[0], OID: f[1], Stage: int(f[2][0] - '0')}, nil
}

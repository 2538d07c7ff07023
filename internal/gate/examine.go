package gate

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

const (
	maxKept  = 20_000 // lines of one file
	maxMarks = 20
)

// examination is one look at what came.
type examination struct {
	ctx   context.Context
	repo  *git.Repo
	host  git.Host
	in    Range
	hooks string // a directory of the user's hooks in the tree

	cat     *git.CatFile
	book    *book
	secrets *scanner
	scan    bool // the patch being read is a commit's own
	changes []*change
	odd     map[*change][]oddity
	marks   map[*change][]line
	unlined []*change       // of commits, without lines that git shows
	moved   map[string]bool // objects of files that were removed, with their modes
	arrived map[string]bool // objects of new files

	compiled map[string]*regexp.Regexp

	findings []Finding
	notes    []string
}

func (x *examination) run() (err error) {
	x.book, x.secrets, x.odd = newBook(), newScanner(), map[*change][]oddity{}
	x.marks = map[*change][]line{}
	commits, err := x.messages()
	if err != nil {
		return err
	}
	// One commit's patch is the whole patch.
	x.scan = len(commits) == 1 && commits[0].parent == x.in.Base
	if err := readPatch(x.ctx, x.host, (*tipSink)(x), nil, x.patchArgs("diff-tree", "-r", x.in.Base,
		x.in.Tip)...); err != nil {
		return err
	}
	if !x.scan {
		merges := "--diff-merges=first-parent"
		if x.in.Remerge {
			merges = "--diff-merges=remerge"
		}
		args := x.patchArgs("log", "--format=%x00%H", merges, "--root", "--stdin")
		if err := readPatch(x.ctx, x.host, (*historySink)(x), x.revisions(), args...); err != nil {
			return err
		}
	}
	if err := x.scanBinaries(); err != nil {
		return err
	}
	return x.judge()
}

// patchArgs are the arguments of a git that writes patches which nothing but the objects decides.
func (x *examination) patchArgs(verb string, rest ...string) []string {
	args := []string{"-c", "core.quotePath=false", verb, "-p", "-U0", "--no-renames", "--full-index", "--no-ext-diff",
		"--no-textconv", "--no-color", "--ignore-submodules=none", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/",
		"--inter-hunk-context=0", "--diff-algorithm=myers", "--no-indent-heuristic"}
	return append(args, rest...)
}

func (x *examination) revisions() *strings.Reader {
	all := x.in.Tip + "\n^" + x.in.Base + "\n"
	for _, k := range x.in.Known {
		all += "^" + k + "\n"
	}
	return strings.NewReader(all)
}

type commit struct{ oid, parent string }

// messages lists the new commits and looks for secrets in them: in what they say, as git decodes it, and in all that
// their objects hold.
func (x *examination) messages() (all []commit, err error) {
	c := x.host.Cmd("log", "-z", "--no-color", "--no-decorate", "--no-notes", "--no-show-signature", "--no-patch",
		"--encoding=UTF-8", "--format=%H %P%n%an <%ae>%n%cn <%ce>%n%B", "--stdin")
	c.Stdin = x.revisions()
	read := map[string]map[string]bool{}
	var oids []string
	err = x.host.Scan(x.ctx, c, 0, func(rec []byte) error {
		head, text, _ := strings.Cut(string(rec), "\n")
		f := strings.Fields(head)
		if len(f) == 0 {
			return nil
		}
		one := commit{oid: f[0]}
		if len(f) > 1 {
			one.parent = f[1]
		}
		all, oids, read[f[0]] = append(all, one), append(oids, f[0]), map[string]bool{}
		x.message(one.oid, text, read[one.oid])
		return nil
	})
	if err != nil {
		return all, err
	}
	if _, err := x.object(x.in.Tip); err != nil { // starts it
		return all, err
	}
	return all, x.cat.Each(oids, maxBlob, func(o git.Object) error {
		x.message(o.OID, string(o.Data), read[o.OID])
		if bytes.Contains(o.Data, []byte("\nencoding ")) {
			for _, text := range decodings(o.Data) {
				x.message(o.OID, text, read[o.OID])
			}
		}
		return nil
	})
}

// message looks for secrets in the text of a commit, each line once.
func (x *examination) message(oid, text string, read map[string]bool) {
	no := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if author := strings.TrimPrefix(strings.TrimPrefix(line, "author "), "committer "); author != line {
			line, _, _ = strings.Cut(author, "> ")
			line += ">"
		}
		if !read[line] && !strings.HasPrefix(line, "tree ") && !strings.HasPrefix(line, "parent ") {
			read[line] = true
			x.secrets.line("", oid, no, []byte(line))
		}
		no++
	}
	x.secrets.close(oid)
}

// tipSink takes the patch from the base to the tip, for all rules.
type tipSink examination

func (s *tipSink) file(c *change) {
	x := (*examination)(s)
	x.changes = append(x.changes, c)
	c.keep = c.isLink() || len(x.book.rowsOf(c.path)) > 0 || languageOf(c.path) != nil || namesOf(c.path) != nil ||
		x.hooks != ""
}

func (s *tipSink) line(c *change, added bool, no int, text []byte) {
	x := (*examination)(s)
	if added {
		if x.scan {
			x.secrets.line(c.path, c.commit, no, text)
		}
		if unseen(text) {
			x.odd[c] = append(x.odd[c], oddities(c.path, no, text)...)
		}
		if marked(c.path, text) != nil && len(x.marks[c]) < maxMarks {
			x.marks[c] = append(x.marks[c], line{no: no, text: string(text)})
		}
	}
	if !c.keep {
		return
	}
	if len(text) > maxText {
		text = text[:maxText]
	}
	kept := &c.removed
	if added {
		kept = &c.added
	}
	if len(*kept) == maxKept {
		c.cut = true
		return
	}
	*kept = append(*kept, line{no, c.hunk, string(text)})
}

func (s *tipSink) end(c *change) error {
	if x := (*examination)(s); x.scan {
		return x.scanned(c)
	}
	return nil
}

// historySink takes the patch of each commit, for secrets and what else stays in the history.
type historySink examination

func (s *historySink) file(*change) {}

func (s *historySink) line(c *change, added bool, no int, text []byte) {
	if added {
		s.secrets.line(c.path, c.commit, no, text)
	}
}

func (s *historySink) end(c *change) error { return (*examination)(s).scanned(c) }

// scanned ends the search for secrets in the lines of a commit's file.
func (x *examination) scanned(c *change) error {
	x.secrets.close(c.commit)
	x.secrets.file(c)
	if c.binary && !c.gone() && !x.secrets.skips(c.path) {
		x.unlined = append(x.unlined, c)
	}
	return nil
}

// maxText is how much of a line is kept for the rules.
const maxText = 64 << 10

// add records a finding.
func (x *examination) add(f Finding) {
	f.file, f.Path, f.Count = f.Path, safetext.Line(f.Path), max(f.Count, 1)
	x.findings = append(x.findings, f)
}

// judge turns what was gathered into findings.
func (x *examination) judge() error {
	x.moved, x.arrived = map[string]bool{}, map[string]bool{}
	for _, c := range x.changes {
		if c.gone() {
			x.moved[c.was+c.wasOID] = true
		}
		if c.fresh() {
			x.arrived[c.isOID] = true
		}
	}
	x.names()
	for _, check := range []func() error{x.places, x.repositories, x.lists, x.checks, x.unknown, x.blobs, x.twins} {
		if err := check(); err != nil {
			return err
		}
	}
	x.weakened()
	x.marked()
	x.hidden()
	if len(x.secrets.found) == maxSecrets {
		x.note(fmt.Sprintf("secrets after the first %d", maxSecrets))
	}
	secrets, err := x.news()
	if err != nil {
		return err
	}
	for i := range x.findings {
		f := &x.findings[i]
		f.Text, f.Says, f.Path = x.secrets.mask(f.Text), x.secrets.mask(f.Says), x.secrets.mask(f.Path)
		for j := range f.Lines {
			f.Lines[j] = x.secrets.mask(f.Lines[j])
		}
	}
	for _, f := range secrets {
		f.Text = safetext.Line(f.Text)
		x.add(f)
	}
	return nil
}

// mask hides secrets in words of ours.
func (s *scanner) mask(text string) string {
	return Report{Groups: []Group{{Findings: s.found}}}.Mask(text)
}

// blob reads a file whole; what is larger than is read is cut.
func (x *examination) blob(oid string) (string, error) {
	o, err := x.object(oid)
	if err != nil || o.Kind != "blob" {
		return "", err
	}
	if o.Size > maxBlob {
		x.note("files of more than 32 MiB")
	}
	return string(o.Data), nil
}

// maxBlob is how large a file may be that is read whole.
const maxBlob = 32 << 20

func (x *examination) object(name string) (o git.Object, err error) {
	if x.cat == nil {
		if x.cat, err = x.host.CatFile(x.ctx); err != nil {
			return o, err
		}
	}
	return x.cat.Get(name, maxBlob)
}

// re compiles an expression of a table once.
func (x *examination) re(s string) *regexp.Regexp {
	re := x.compiled[s]
	if re == nil {
		if x.compiled == nil {
			x.compiled = map[string]*regexp.Regexp{}
		}
		re = regexp.MustCompile(s)
		x.compiled[s] = re
	}
	return re
}

func (x *examination) note(what string) {
	if what = "not looked at: " + what; !slices.Contains(x.notes, what) {
		x.notes = append(x.notes, what)
	}
}

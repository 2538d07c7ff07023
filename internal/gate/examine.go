package gate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

const (
	maxKept = 20_000   // lines of one file
	maxText = 64 << 10 // bytes of a line that are kept for the rules
	maxBlob = 32 << 20 // bytes of a file that is read whole
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
	single  bool // there is one commit
	scan    bool // the patch that is read is a commit's own
	whole   bool // it is the one from the base to the tip
	changes []*change
	odd     map[*change]*Finding // lines that are not seen for what they are
	marked  map[string]bool      // files and rows of marks that were told
	edges   map[string][2]int    // and where the first lines of such a file end, and the last begin
	unlined []*change            // of commits, without lines that git shows
	moved   map[string]bool      // objects of files that were removed, with their modes
	arrived map[string]bool      // objects of new files

	findings []Finding
	notes    []string
	err      error // the first
}

// run does one step after the other. The first error ends it: what read something only keeps it in err.
func (x *examination) run() error {
	x.book, x.secrets = newBook(), newScanner()
	x.odd, x.marked, x.edges = map[*change]*Finding{}, map[string]bool{}, map[string][2]int{}
	for _, step := range []func(){x.messages, x.patches, x.scanBinaries, x.judge} {
		if x.err == nil {
			step()
		}
	}
	return x.err
}

func (x *examination) fail(err error) { x.err = cmp.Or(x.err, err) }

// patches reads what has changed, and what each commit has changed. One commit's patch is the whole patch.
func (x *examination) patches() {
	x.scan, x.whole = x.single, true
	x.fail(readPatch(x.ctx, x.host, x, nil, x.patchArgs("diff-tree", "-r", x.in.Base, x.in.Tip)...))
	if x.single || x.err != nil {
		return
	}
	x.scan, x.whole = true, false
	merges := "--diff-merges=first-parent"
	if x.in.Remerge {
		merges = "--diff-merges=remerge"
	}
	args := x.patchArgs("log", "--format=%x00%H", merges, "--root", "--stdin")
	x.fail(readPatch(x.ctx, x.host, x, x.revisions(), args...))
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

// messages looks for secrets in the new commits: in all that their objects hold, in every encoding if they name one.
func (x *examination) messages() {
	c := x.host.Cmd("rev-list", "--parents", "--stdin")
	c.Stdin = x.revisions()
	var oids []string
	x.fail(x.host.Scan(x.ctx, c, '\n', func(b []byte) error {
		f := strings.Fields(string(b))
		oids = append(oids, f[0])
		x.single = len(oids) == 1 && len(f) > 1 && f[1] == x.in.Base
		return nil
	}))
	if x.object(x.in.Tip); x.err != nil { // which starts it
		return
	}
	x.fail(x.cat.Each(oids, maxBlob, func(o git.Object) error {
		texts := []string{string(o.Data)}
		if bytes.Contains(o.Data, []byte("\nencoding ")) {
			texts = append(texts, decodings(o.Data)...)
		}
		read := map[string]bool{}
		for _, text := range texts {
			x.message(o.OID, text, read)
		}
		return nil
	}))
}

// message looks for secrets in the text of a commit, each line once.
func (x *examination) message(oid, text string, read map[string]bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if author := strings.TrimPrefix(strings.TrimPrefix(line, "author "), "committer "); author != line {
			line, _, _ = strings.Cut(author, "> ") // what follows is the time
		}
		if !read[line] && !strings.HasPrefix(line, "tree ") && !strings.HasPrefix(line, "parent ") {
			read[line] = true
			x.secrets.line("", oid, 0, []byte(line))
		}
	}
	x.secrets.close(oid)
}

// file, line and end take a patch: that from the base to the tip for all rules, and that of each commit for secrets and
// what else stays in the history.
func (x *examination) file(c *change) {
	if x.whole {
		x.changes = append(x.changes, c)
		c.keep = c.isLink() || len(x.book.rowsOf(c.path)) > 0 || languageOf(c.path) != nil || listingOf(c.path) != nil ||
			x.hooks != ""
	}
}

func (x *examination) line(c *change, added bool, no int, text []byte) {
	if added && x.scan {
		x.secrets.line(c.path, c.commit, no, text)
	}
	if !x.whole {
		return
	}
	if added && unseen(text) {
		x.oddity(c, no, text)
	}
	kept, sign := &c.removed, "-"
	if added {
		kept, sign = &c.added, "+"
		if m := marked(c.path, text); m != nil {
			x.mark(c, m, line{no, c.hunk, sign, string(text)})
		}
	}
	switch {
	case !c.keep:
	case len(*kept) == maxKept:
		c.cut = true
	default:
		*kept = append(*kept, line{no, c.hunk, sign, string(text[:min(len(text), maxText)])})
	}
}

func (x *examination) end(c *change) {
	if !x.scan {
		return
	}
	x.secrets.close(c.commit)
	x.secrets.file(c)
	if c.binary && !c.gone() && !x.secrets.skips(c.path) {
		x.unlined = append(x.unlined, c)
	}
}

// add records a finding.
func (x *examination) add(f Finding) {
	f.file, f.Path, f.Count = f.Path, safetext.Line(f.Path), max(f.Count, 1)
	x.findings = append(x.findings, f)
}

// tell records a finding about a line.
func (x *examination) tell(c *change, k Kind, d Danger, l line, says string) {
	x.add(Finding{Kind: k, Danger: d, Path: c.path, Line: l.no, Text: show(l.sign, l.text), Says: says})
}

// judge turns what was gathered into findings.
func (x *examination) judge() {
	x.moved, x.arrived = map[string]bool{}, map[string]bool{}
	for _, c := range x.changes {
		if c.gone() {
			x.moved[c.was+c.wasOID] = true
		}
		if c.fresh() {
			x.arrived[c.isOID] = true
		}
	}
	for _, check := range []func(){x.names, x.places, x.repositories, x.lists, x.checks, x.unknown, x.blobs, x.twins,
		x.weakened} {
		check()
	}
	for _, c := range x.changes {
		if f := x.odd[c]; f != nil {
			x.add(*f)
		}
	}
	if len(x.secrets.found) == maxSecrets {
		x.note(fmt.Sprintf("secrets after the first %d", maxSecrets))
	}
	secrets := x.news()
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
}

// blob reads a file whole; what is larger than is read is empty.
func (x *examination) blob(oid string) string {
	o := x.object(oid)
	if o.Kind != "blob" {
		return ""
	}
	if o.Size > maxBlob {
		x.note("files of more than 32 MiB")
	}
	return string(o.Data)
}

func (x *examination) object(name string) (o git.Object) {
	var err error
	if x.cat == nil {
		if x.cat, err = x.host.CatFile(x.ctx); err != nil {
			x.fail(err)
			return o
		}
	}
	o, err = x.cat.Get(strings.ReplaceAll(name, "\n", ""), maxBlob)
	x.fail(err)
	return o
}

func (x *examination) note(what string) {
	if what = "not looked at: " + what; !slices.Contains(x.notes, what) {
		x.notes = append(x.notes, what)
	}
}

package gate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

// wants says what of a file is kept for the rules.
type wants uint8

const (
	begun    wants = 1 << iota
	wantAll        // every line
	wantSome       // lines that a row asks for
)

// maxKept is how many lines of one file are kept.
const maxKept = 20_000

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
	unlined []*change // of commits, without lines that git shows

	findings []Finding
	notes    []string

	asked  map[*change]map[string]pkg // by manifests that changed
	locked map[string]map[string]pkg  // by lockfiles that changed
}

func (x *examination) run() (err error) {
	x.book, x.secrets, x.odd = newBook(), newScanner(), map[*change][]oddity{}
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

// messages lists the new commits and looks for secrets in what they say.
func (x *examination) messages() (all []commit, err error) {
	c := x.host.Cmd("log", "-z", "--no-color", "--no-decorate", "--no-notes", "--no-show-signature", "--no-patch",
		"--encoding=UTF-8", "--format=%H %P%n%an <%ae>%n%B", "--stdin")
	c.Stdin = x.revisions()
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
		all = append(all, one)
		no := 0
		for line := range strings.Lines(text) {
			x.secrets.line("", one.oid, no, []byte(strings.TrimSuffix(line, "\n")))
			no++
		}
		x.secrets.close(one.oid)
		return nil
	})
	return all, err
}

// tipSink takes the patch from the base to the tip, for all rules.
type tipSink examination

func (s *tipSink) file(c *change) {
	x := (*examination)(s)
	x.changes = append(x.changes, c)
	c.wants |= x.book.wants(c.path)
	if x.hooks != "" && strings.HasPrefix(c.path, x.hooks+"/") {
		c.wants |= wantAll
	}
	if c.is == git.ModeLink {
		c.wants |= wantAll
	}
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
	}
	if c.wants&wantAll == 0 && (c.wants&wantSome == 0 || !x.book.some(c.path, text)) {
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
	*kept = append(*kept, line{no, string(text)})
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
const maxText = 4096

// show is a changed line for a person.
func show(sign, text string) string {
	return sign + safetext.Line(safetext.Cut(strings.TrimSpace(text), 200))
}

// add records a finding.
func (x *examination) add(f Finding) {
	f.Path, f.Count = safetext.Line(f.Path), max(f.Count, 1)
	x.findings = append(x.findings, f)
}

// judge turns what was gathered into findings.
func (x *examination) judge() error {
	moved := x.moves()
	x.files(moved)
	x.names()
	for _, check := range []func() error{x.repositories, x.manifests, x.blobs, x.twins} {
		if err := check(); err != nil {
			return err
		}
	}
	x.weakened(moved)
	x.hidden()
	if len(x.secrets.found) == maxSecrets {
		x.note(fmt.Sprintf("secrets after the first %d", maxSecrets))
	}
	var touched []string
	for _, c := range x.changes {
		if !c.fresh() {
			touched = append(touched, c.path)
		}
	}
	secrets, err := x.secrets.unknown(x.ctx, x.host, x.in.Base, touched)
	if err != nil {
		return err
	}
	for i := range x.findings {
		x.findings[i].Text, x.findings[i].Says = x.secrets.mask(x.findings[i].Text), x.secrets.mask(x.findings[i].Says)
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

// files applies the catalogue.
func (x *examination) files(moved moves) {
	for _, c := range x.changes {
		rows := x.book.rowsOf(c.path)
		if x.hooks != "" && strings.HasPrefix(c.path, x.hooks+"/") {
			rows = append(rows[:len(rows):len(rows)], &row{kind: "commit", says: "git runs it as a hook"})
		}
		told := map[Kind]bool{}
		if c.unread() {
			rows = slices.Concat(rows, x.unread(c))
		}
		for _, r := range rows {
			if told[r.kind] {
				continue
			}
			if f, ok := x.apply(r, c, moved); ok {
				told[r.kind] = true
				x.add(f)
			}
		}
		x.modes(c, moved)
	}
}

// unread are rows for a file whose lines can't be read: a link, which leads to a file of another name or in place of a
// whole directory, or a file that counts as binary, which one NUL is enough for. What such a file could be asks for
// consent.
func (x *examination) unread(c *change) (rows []*row) {
	all := x.book.rowsOf(c.path)
	if c.is == git.ModeLink {
		all = slices.Concat(all, x.book.rowsOf(c.path+"/x"))
	}
	for _, r := range all {
		if r.kind.row().response == Ask {
			rows = append(rows, &row{kind: r.kind, danger: r.danger, says: r.says})
		}
	}
	if isManifest(c.path) {
		rows = append(rows, &row{kind: "install", says: "may run scripts when the project is installed, and can't be read"})
	}
	return rows
}

// apply says what a row has to say about a file.
func (x *examination) apply(r *row, c *change, moved moves) (Finding, bool) {
	f := Finding{Kind: r.kind, Danger: r.danger, Path: c.path, Says: r.says, rule: r.says}
	plain := r.has == "" && r.line == ""
	if c.gone() {
		f.Says, f.Text = "was removed: it "+strings.TrimPrefix(r.says, "it "), ""
		return f, r.removed && plain && !moved.blob(c.wasOID)
	}
	if r.kind == "weakened" && plain && c.fresh() || moved.blob(c.isOID) && c.wasOID != c.isOID && c.fresh() {
		return f, false
	}
	hit, n := x.first(r, c, c.added, moved.removed)
	if n > 0 {
		f.Line, f.Text, f.Count = hit.no, "+"+x.shown(r, hit.text), n
		return f, true
	}
	if plain {
		if hit, n := x.first(r, c, c.removed, moved.added); n > 0 {
			f.Line, f.Text, f.Count = hit.no, "-"+x.shown(r, hit.text), n
			return f, true
		}
	}
	if c.cut {
		f.Says += ", and has more lines than are looked at"
		return f, true
	}
	return f, plain && (c.binary || c.plus+c.minus == 0 && c.wasOID != c.isOID && c.is != git.ModeGitlink && !c.fresh())
}

// shown is a line for a person. Of settings only the name is shown: the value may be a password.
func (x *examination) shown(r *row, text string) string {
	if r.kind == "environment" {
		if name, _, ok := strings.Cut(text, "="); ok {
			text = name + "=…"
		} else if name, _, ok := strings.Cut(text, ":"); ok {
			text = name + ": …"
		}
	}
	return show("", text)
}

// first is the first line that a row asks for, and how many there are.
func (x *examination) first(r *row, c *change, lines []line, elsewhere lineCount) (hit line, n int) {
	var re, not *regexp.Regexp
	if r.line != "" {
		re = x.book.re(r.line)
	}
	if r.except != "" {
		not = x.book.re(r.except)
	}
	comment := commentOf(c.path)
	for _, l := range lines {
		t := strings.TrimSpace(l.text)
		if t == "" || comment != "" && isComment(t, comment) && r.has == "" ||
			r.has != "" && !hasAny(l.text, r.has) || re != nil && !re.MatchString(l.text) ||
			not != nil && not.MatchString(t) || elsewhere[r.kind][t] > 0 {
			continue
		}
		if n++; n == 1 || n == 2 && strings.HasPrefix(strings.TrimSpace(hit.text), "#!") {
			hit = l
		}
	}
	return hit, n
}

func hasAny(text, list string) bool {
	for list != "" {
		var one string
		if one, list, _ = strings.Cut(list, "|"); strings.Contains(text, one) {
			return true
		}
	}
	return false
}

// isComment says whether a line does nothing.
func isComment(t, mark string) bool {
	if !strings.HasPrefix(t, mark) || strings.ContainsAny(t, endsLine) {
		return false
	}
	if mark == "<!--" {
		return strings.Index(t, "-->") == len(t)-len("-->")
	}
	rest := strings.TrimSpace(strings.TrimPrefix(t, mark))
	for _, live := range []string{"!", "syntax=", "escape=", "check=", "go:", "cgo", "%", "include"} {
		if strings.HasPrefix(rest, live) {
			return false
		}
	}
	return true
}

// modes tells of executables, links and submodules.
func (x *examination) modes(c *change, moved moves) {
	f := Finding{Path: c.path}
	switch {
	case c.is == git.ModeExec && c.was != git.ModeExec && !c.fresh():
		f.Kind, f.Says = "executables", "can be started now"
	case c.is == git.ModeExec && c.fresh() && !moved.exec(c.isOID):
		f.Kind, f.Says = "executables", "a new file that can be started"
	case c.is == git.ModeExec && c.wasOID != c.isOID && !c.fresh():
		f.Kind, f.Says = "executables", "a changed file that can be started"
	case c.is == git.ModeLink && (!c.fresh() || !moved.blob(c.isOID)):
		f.Kind, f.Says = "links", "a symbolic link"
	case c.is == git.ModeGitlink:
		f.Kind, f.Says = "links", "a submodule, whose content is not examined"
	default:
		return
	}
	if len(c.added) > 0 && c.is == git.ModeLink {
		f.Text = "-> " + show("", c.added[0].text)
	}
	x.add(f)
}

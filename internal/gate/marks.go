package gate

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// mark is a line that a tool acts on in any file with an ending.
type mark struct {
	ends string // "" for any
	has  string // is looked for first
	expr func() *regexp.Regexp
	kind Kind
	says string
	// plain are lines that do no more than set how a file is shown.
	plain func() *regexp.Regexp
}

var marks = [...]mark{
	{".go", "//go:", expr(`^//go:(?:generate|linkname|debug|cgo_\w+)\s`), "build",
		"go runs it, or hands it to the compiler", nil},
	{".go", "#cgo", expr(`^\s*(?://)?\s*#cgo\s`), "build", "go hands it to the C compiler", nil},
	{".go", "func TestMain(", expr(`^func TestMain\(`), "test", "runs before any test", nil},
	{".tf", "", expr(`\b(?:local-exec|remote-exec|provisioner|user_data)\b|data\s+"external"`), "build",
		"terraform runs it", nil},
	{"", "vim:", expr(`(?:^|\s)(?:vi|vim|Vim)(?:[<=>]?\d+)?:\s*\S`), "editor", "vim acts on it when the file is opened",
		expr(`(?i)(?:vi|vim)(?:[<=>]?\d+)?:\s*(?:set?\s+)?(?:(?:ts|sw|sts|tw|ft|et|noet|ai|si|cc|ff|fenc|syn|syntax|` +
			`tabstop|` +
			`shiftwidth|softtabstop|textwidth|filetype|expandtab|noexpandtab|fileencoding|spell|nospell|nowrap|wrap|cindent|` +
			`smartindent|autoindent|fdm|foldmethod|fdl|foldlevel|foldmarker|fmr|encoding|nu|number|list|nolist|tags)` +
			`(?:=[\w.,{}/-]*)?[\s:]*)*(?:\*/|-->)?\s*$`)},
	{"", "-*-", expr(`-\*-.*[:;].*-\*-`), "editor", "emacs acts on it when the file is opened",
		expr(`-\*-\s*(?:(?:coding|mode|tab-width|c-basic-offset|indent-tabs-mode|fill-column|buffer-read-only|encoding|` +
			`lexical-binding|c-file-style|py-indent-offset|buffer-file-coding-system|js-indent-level|sh-basic-offset|` +
			`default-directory|truncate-lines|no-byte-compile|origami-fold-style)\s*:\s*[\w.+/" -]*;?\s*)*-\*-`)},
	{"", "Local Variables:", expr(`Local Variables:\s*\S{0,4}$`), "editor",
		"emacs acts on what follows when the file is opened", nil},
}

// marked says which row a line falls under; nil if none.
func marked(p string, text []byte) *mark {
	for i := range marks {
		m := &marks[i]
		if m.ends != "" && path.Ext(p) != m.ends || !bytes.Contains(text, []byte(m.has)) || len(text) > maxText ||
			!m.expr().Match(text) || m.plain != nil && m.plain().Match(text) {
			continue
		}
		return m
	}
	return nil
}

// marked tells of lines that tools act on.
func (x *examination) marked() {
	for _, c := range x.changes {
		told := map[string]bool{}
		for _, l := range x.marks[c] {
			m := marked(c.path, []byte(l.text))
			if told[m.says] || within(fold(c.path), fixtures) && m.kind.row().response == Tell ||
				m.kind == "editor" && strings.HasSuffix(fold(c.path), ".md") {
				continue
			}
			told[m.says] = true
			x.add(Finding{Kind: m.kind, Danger: Medium, Path: c.path, Line: l.no, Text: show("+", l.text), Says: m.says})
		}
	}
}

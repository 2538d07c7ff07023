package program

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/word"
)

// make runs a makefile; what the command line adds to it is read.
func (s *Judge) make(argv []arg) {
	o := word.Parse(argv[1:], "CfIjloWE", "--directory", "--file", "--makefile", "--eval", "--jobs", "--include-dir",
		"--old-file", "--what-if")
	for _, a := range o.Values("-C", "--directory") {
		s.MoveTo(a, false)
	}
	for _, a := range o.Values("-I", "--include-dir") {
		s.CheckProgram(s.Absolute(a.Known()), a)
	}
	for _, a := range o.Values("--eval", "-E") {
		s.recipe(a.Text, a)
	}
	files := o.Values("-f", "--file", "--makefile")
	for _, a := range files {
		if v, ok := a.Literal(); ok && v != "-" {
			s.CheckProgram(s.Absolute(v), a)
			if content, ok := s.Files[s.Absolute(v)]; ok {
				s.recipe(content, a)
			}
		}
		if a.Is("-") && s.Stdin != nil {
			s.recipe(s.Stdin.Text, a)
		} else if a.Is("-") {
			s.Awaits(a, "make")
		}
	}
	if len(files) == 0 {
		for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
			if content, ok := s.Files[s.Absolute(name)]; ok {
				s.recipe(content, argv[0])
			}
		}
	}
	for _, a := range o.Operands {
		name, _, assigned := strings.Cut(a.Prefix(), "=")
		if !assigned {
			continue
		}
		value := a.After(len(name) + 1)
		if !table.CarriesText(table.LastWord(name), value) {
			s.Mentions(value.Text, value)
		}
		s.makeShell(value)
		s.setTo(name, value)
	}
	s.Print(word.Unknown(word.Dynamic))
}

// makeShell runs what $(shell …) would.
func (s *Judge) makeShell(a arg) {
	if _, rest, ok := strings.Cut(a.Known(), "$(shell "); ok {
		text, _, _ := strings.Cut(rest, ")")
		s.Isolated(func() { s.RunText(word.Lit(text), a, "make") })
	}
}

// recipe runs the command lines of a makefile that this command has written.
func (s *Judge) recipe(t text, at arg) {
	for _, line := range strings.Split(t.Known(), "\n") {
		command, ok := strings.CutPrefix(line, "\t")
		if !ok {
			if _, after, found := strings.Cut(line, ";"); found {
				command, ok = after, true
			}
		}
		if strings.Contains(line, "$(shell ") {
			s.makeShell(at.Hold(word.Lit(line)))
		}
		if name, value, found := strings.Cut(line, "="); found && !ok &&
			strings.TrimRight(strings.TrimSpace(name), ":?!") == "SHELL" {
			command, ok = strings.TrimSpace(value), true
		}
		if !ok {
			continue
		}
		command = strings.TrimLeft(strings.ReplaceAll(command, "$$", "$"), "@-+ ")
		if command == "" || strings.HasPrefix(command, "#") || strings.Contains(command, "$(") &&
			!strings.Contains(command, "/") {
			continue
		}
		s.Isolated(func() { s.SuspiciousRun(command, at) })
	}
}

// SuspiciousRun runs text that another language may have decorated: if it
// doesn't parse as shell, it is only searched for outside paths.
func (s *Judge) SuspiciousRun(command string, at arg) {
	if _, _, err := bash.ParseBash(command); err != nil {
		s.Mentions(word.Lit(command), at)
		return
	}
	s.RunText(word.Lit(command), at, "a script")
}

// packageScripts reads the scripts of a package.json that was just written.
func (s *Judge) packageScripts(at arg) {
	content, ok := s.Files[s.Absolute("package.json")]
	if !ok {
		return
	}
	for _, piece := range strings.Split(content.Known(), `"`) {
		if strings.ContainsAny(piece, " /") && !strings.Contains(piece, "\n") {
			s.Isolated(func() { s.SuspiciousRun(piece, at) })
		}
	}
}

// runOperands reads scripts and sources among the operands that this very
// command has written: running or compiling them is running their text.
func (s *Judge) runOperands(argv []arg) {
	for _, a := range argv[1:] {
		v, ok := a.Literal()
		if !ok || strings.HasPrefix(v, "-") {
			continue
		}
		content, ok := s.Files[s.Absolute(v)]
		if !ok {
			continue
		}
		switch ext := path.Ext(v); ext {
		case ".sh", ".bash":
			s.Isolated(func() { s.RunText(content, a, "a script") })
		default:
			if lang := table.LanguageOf(ext); lang != "" {
				s.code(lang, content, a)
			}
		}
	}
}

// RunFile runs a script that this command has written, by its first line.
func (s *Judge) RunFile(content text, argv []arg) {
	first, _, _ := strings.Cut(content.Known(), "\n")
	lang := "shell"
	if prog, ok := strings.CutPrefix(first, "#!"); ok {
		words := strings.Fields(prog)
		for len(words) > 1 && (path.Base(words[0]) == "env" || strings.HasPrefix(words[0], "-")) {
			words = words[1:]
		}
		if len(words) > 0 {
			lang = table.InterpreterOf(path.Base(words[0]))
		}
	}
	if lang != "shell" {
		s.code(lang, content, argv[0])
		return
	}
	s.Isolated(func() {
		s.Self, s.Params = argv[0].Text, word.Texts(argv[1:])
		s.RunText(content, argv[0], "a script")
	})
}

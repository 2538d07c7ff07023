package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Imaginary says that an absolute path begins with a directory that does not
// exist, as those in URLs and routes do: at the root, or where homes and mounts
// are. Only arguments of programs that nothing is known of are read so.
func (s *Judge) Imaginary(t text) bool {
	v := t.Filled(land.Star, land.Hole)
	if !strings.HasPrefix(v, "/") || strings.HasPrefix(v, "/..") {
		return false
	}
	first, rest, _ := strings.Cut(strings.Trim(v, "/"), "/")
	if word.Listed(" home Users mnt media ", first) {
		second, _, _ := strings.Cut(rest, "/")
		return second == "" || second != ".." && s.Land.Missing("/"+first+"/"+second)
	}
	return first != "" && s.Land.Missing("/"+first)
}

// Operand checks an argument of a command that may do anything with it.
func (s *Judge) Operand(a arg) {
	if !word.PathLike(a.Text) {
		return
	}
	s.Check(land.Write, a)
}

// generic is the rule for commands that nothing more is known of: whatever
// argument of theirs resolves to the outside is denied.
func (s *Judge) generic(argv []arg) {
	for i := range argv[1:] {
		s.argument(argv, i+1)
	}
	s.reads(argv)
	s.Print(word.Unknown(word.Dynamic))
}

// reads judges what a program that nobody knows may read and run.
func (s *Judge) reads(argv []arg) {
	s.inFront(argv)
	s.inputText(argv)
	s.written(argv)
	s.runOperands(argv)
}

// Loose checks an argument of which nothing is known: it may be a path, or name
// one behind an equals sign, and a path outside may not stand anywhere in it.
func (s *Judge) Loose(a arg) {
	switch v, i := a.Prefix(), strings.IndexByte(a.Prefix(), '='); {
	case i > 0 && !strings.ContainsAny(v[:i], "/ "):
		s.setTo(v[:i], a.After(i+1))
	case strings.HasPrefix(v, "-o"):
		s.setTo("o", a.After(len("-o")))
	case strings.HasPrefix(v, "file://"):
		s.guess(a.After(len("file://")))
	case !strings.HasPrefix(v, "-"):
		s.guess(a)
	}
	s.Mentions(a.Text, a)
}

// setTo checks the value of a named option or variable. A place of the system
// is taken as something to be used, unless the name says that it is written.
func (s *Judge) setTo(name string, a arg) {
	if where, _ := s.Locate(a.Text, s.Dir(), false); where == land.System && !s.namesOutput(name) || a.Is("/") &&
		!s.namesOutput(name) || table.RecordsOnly(name) && !s.installs() {
		return
	}
	s.guess(a)
}

// namesOutput says whether an option's name speaks of something written.
// A prefix is only noted down, until something is installed.
func (s *Judge) namesOutput(name string) bool {
	lower := strings.ToLower(strings.TrimLeft(name, "-"))
	if strings.Contains(lower, "conf") {
		return false
	}
	if strings.Contains(lower, "prefix") || strings.Contains(lower, "install") {
		return s.installs()
	}
	for _, part := range []string{"out", "dest", "target", "log", "save", "dump", "export", "report", "cache", "write",
		"datadir", "workdir", "state"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return lower == "of" || lower == "o" || lower == "d"
}

// installs says that the command being judged installs something.
func (s *Judge) installs() bool {
	for _, a := range s.current {
		switch v, _ := a.Literal(); {
		case v == "-n" || v == "--dry-run" || v == "--just-print":
			return false
		case strings.HasPrefix(strings.TrimLeft(v, "-"), "install"):
			return !s.staged()
		}
	}
	return false
}

// staged says that DESTDIR sends what is installed into the workspace.
func (s *Judge) staged() bool {
	for _, a := range s.current {
		if value, ok := strings.CutPrefix(a.Prefix(), "DESTDIR="); ok && value != "" {
			where, _ := s.Locate(a.Cut(len("DESTDIR=")), s.Dir(), false)
			return where.Writable()
		}
	}
	v, ok := s.Vars["DESTDIR"]
	if !ok || len(v.Alts) != 1 || len(v.Alts[0]) == 0 {
		return false
	}
	where, _ := s.Locate(v.Alts[0], s.Dir(), false)
	return where.Writable()
}

// guess checks an argument that may be a path.
func (s *Judge) guess(a arg) {
	if !s.Imaginary(a.Text) {
		s.Operand(a)
	}
}

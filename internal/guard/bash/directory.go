package bash

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// cd changes directory; every place that it may lead to must be inside.
func (s *Shell) cd(argv []arg) {
	o, rest := word.Leading(argv[1:], "", nil)
	var target arg
	if len(rest) > 0 {
		target = rest[0]
	}
	switch {
	case len(rest) == 0:
		target = arg{Text: word.Lit(s.Home()), Start: argv[0].Start, End: argv[len(argv)-1].End}
	case target.Is("-"):
		s.back(target)
		return
	case len(target.Text) == 0:
		return // cd "" stays
	}
	s.MoveTo(target, o.Has("-P"))
}

// back goes where OLDPWD says, which a command may have set itself.
func (s *Shell) back(at arg) {
	from := s.Dirs
	var to []string
	for _, t := range s.Lookup("OLDPWD").Alts {
		for _, dir := range from {
			to = union(to, []string{s.directory(at.Hold(t), dir, false)})
		}
	}
	s.old, s.Dirs = from, to
	delete(s.Vars, "OLDPWD")
}

// MoveTo makes target the current directory.
func (s *Shell) MoveTo(target arg, physical bool) {
	from := s.Dirs
	var to []string
	for _, dir := range from {
		s.cdpath(target, dir)
		to = union(to, []string{s.directory(target, dir, physical)})
	}
	name, known := target.Literal()
	if known && !s.Errexit && !path.IsAbs(name) && len(from) == 1 && !s.Made[to[0]] && s.Land.Missing(to[0]) {
		to = union(to, from) // this cd will fail, and the shell stays
	}
	s.old, s.Dirs = from, to
	delete(s.Vars, "OLDPWD")
}

// directory checks one directory that is about to be entered.
func (s *Shell) directory(target arg, from string, physical bool) string {
	where, abs := s.Locate(target.Text, from, false)
	logical := abs
	if v, ok := target.Literal(); ok && !physical {
		logical = v
		if !path.IsAbs(v) {
			logical = path.Join(from, v)
		}
		logical = path.Clean(logical)
		if p := s.Land.Place(s.Land.Resolve(logical)); !p.Writable() && p != land.Protected {
			where, abs = p, logical
		}
	}
	switch where {
	case land.Workspace, land.Scratch, land.Protected, land.Git:
		return logical
	case land.Unknown:
		s.Deny(verdict.RuleUnknownPath, target, "", "cd to "+target.String()+" can't be followed beforehand",
			"use a path below "+s.Workspace()+" that is written out")
	}
	s.Deny(verdict.RuleDirectory, target, abs, "cd to "+verdict.Clip(abs, 200)+" leaves the workspace",
		"use a path below "+s.Workspace())
	return ""
}

// cdpath denies a directory that would be found through CDPATH.
func (s *Shell) cdpath(target arg, from string) {
	v, ok := s.Vars["CDPATH"]
	if !ok || strings.HasPrefix(target.Prefix(), "/") || strings.HasPrefix(target.Prefix(), ".") {
		return
	}
	for _, t := range v.Values() {
		for _, dir := range t.Split(":") {
			s.directory(target.Hold(dir.Plus("/").With(target.Text...)), from, false)
		}
	}
}

func (s *Shell) pushd(argv []arg) {
	_, rest := word.Leading(argv[1:], "", nil)
	top := s.Dirs
	switch {
	case len(rest) == 0 || strings.HasPrefix(rest[0].Prefix(), "+"):
		if n := len(s.stack); n > 0 {
			s.Dirs = s.stack[n-1]
			s.stack = append(s.stack[:n-1:n-1], top)
		}
	default:
		s.MoveTo(rest[0], false)
		s.stack = append(s.stack[:len(s.stack):len(s.stack)], top)
	}
}

func (s *Shell) popd() {
	if n := len(s.stack); n > 0 {
		s.Dirs, s.stack = s.stack[n-1], s.stack[:n-1:n-1]
	}
}

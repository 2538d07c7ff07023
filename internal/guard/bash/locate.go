package bash

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
	"github.com/cco-dev/cco/internal/paths"
)

// Locate finds where a text leads from dir, and the path that it resolves to.
// With name, the last part is not followed if it is a link.
func (s *Shell) Locate(t text, dir string, name bool) (land.Place, string) {
	if len(t) == 0 {
		return s.Land.Place(s.Land.Resolve(dir)), dir
	}
	if t.Worst() == word.Hidden || t.First() >= word.Environ || strings.Contains(t.Known(), "\x00") {
		return land.Unknown, ""
	}
	abs := t.Filled(land.Star, land.Hole)
	if !path.IsAbs(abs) {
		abs = dir + "/" + abs
	}
	resolved := s.Land.Resolve(abs)
	if name && !strings.HasSuffix(abs, "/") {
		resolved = s.Land.ResolveParent(abs)
	}
	return s.Land.Place(resolved), resolved
}

// Check denies an operation on a path outside, from every directory that the shell may be in.
func (s *Shell) Check(o land.Op, a arg) {
	for _, dir := range s.Dirs {
		s.CheckFrom(o, a, dir)
	}
}

func (s *Shell) CheckFrom(o land.Op, a arg, dir string) {
	s.Step()
	if len(a.Text) == 0 {
		return
	}
	where, abs := s.Locate(a.Text, dir, o == land.Remove)
	switch {
	case !where.Writable():
	case o == land.Remove && s.Land.RemovesRoot(abs), o == land.Redirect && TiesRepository(abs):
		where = land.Git
	case o == land.Remove && s.Land.IsProtected(abs, true):
		where = land.Protected
	default:
		return
	}
	if where == land.Unknown && o != land.Redirect && o != land.Remove && a.Worst() < word.Hidden {
		return // data: refusing every variable would refuse ordinary work
	}
	s.Refuse(o, a, where, abs)
}

// TiesRepository says that a file makes a directory part of some repository: git in it would then work on that one.
func TiesRepository(abs string) bool {
	return strings.HasSuffix(abs, "/.git") || strings.HasSuffix(abs, "/.git/commondir")
}

// Refuse says why an operation on a path is denied.
func (s *Shell) Refuse(o land.Op, a arg, where land.Place, abs string) {
	inside := "use a path below " + s.Workspace()
	shown := verdict.Clip(abs, 200)
	switch {
	case where == land.Unknown:
		s.Deny(verdict.RuleUnknownPath, a, "", "the target "+a.String()+" can't be told beforehand",
			"write it out, or begin it with a directory below "+s.Workspace())
	case where == land.Protected:
		s.Deny(verdict.RuleSelf, a, abs, shown+" belongs to the guard and may not be changed",
			"leave it as it is and go on with the task")
	case where == land.Git:
		s.Deny(verdict.RuleGitShared, a, abs, shown+" ties a directory to its repository",
			"use git commands on the current branch")
	case o == land.LinkTo:
		s.Deny(verdict.RuleLink, a, abs, "a link to "+shown+" would open a way out of the workspace",
			"copy the file, or link below "+s.Workspace())
	case o == land.Remove:
		s.Deny(verdict.RuleDelete, a, abs, shown+" is outside the workspace and may not be removed or moved", inside)
	default:
		s.Deny(verdict.RuleWrite, a, abs, shown+" is outside the workspace and may not be written", inside)
	}
}

// Homed expands a leading ~.
func (s *Shell) Homed(v string) text {
	if v == "~" || strings.HasPrefix(v, "~/") {
		return word.Lit(s.Home() + v[1:])
	}
	return word.Lit(v)
}

// CheckProgram denies programs that lie outside, except where systems and users install them.
func (s *Shell) CheckProgram(name string, at arg) {
	where, abs := s.Locate(word.Lit(name), s.Dir(), false)
	if where.Writable() || where == land.System || where == land.Protected || where == land.Git || s.IsUserProgram(abs) {
		return
	}
	s.Deny(verdict.RuleRunOutside, at, abs, name+" is a program outside the workspace",
		"run what is installed or what stands below "+s.Workspace())
}

// IsUserProgram says whether a path is a hidden directory of the home or one
// of its bin directories, where version managers put programs.
func (s *Shell) IsUserProgram(abs string) bool {
	if s.Home() == "" || !paths.Within(abs, s.Home()) || s.Land.Host != "" && paths.Within(abs, s.Land.Host) {
		return false
	}
	rest := strings.TrimPrefix(abs, s.Home()+"/")
	return strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "bin/")
}

// cd changes directory; every place that it may lead to must be inside.
func (s *Shell) cd(argv []arg) {
	o, rest := word.Leading(argv[1:], "", nil)
	target := word.Cover(argv).Hold(word.Lit(s.Home()))
	if len(rest) > 0 {
		target = rest[0]
	}
	if len(rest) > 1 { // which fails, but not in zsh
		s.stayed = union(s.stayed, s.Dirs)
	}
	switch {
	case target.Is("-"):
		s.moveTo(target, s.Lookup("OLDPWD").Alts, false)
	case len(target.Text) > 0: // cd "" stays
		s.moveTo(target, []text{target.Text}, o.Has("-P"))
	}
}

// MoveTo makes target the current directory.
func (s *Shell) MoveTo(target arg, physical bool) {
	s.moveTo(target, []text{target.Text}, physical)
	s.Dirs = union(s.Dirs, s.stayed) // a program may go on where it is
}

func (s *Shell) moveTo(at arg, targets []text, physical bool) {
	from := s.Dirs
	var to []string
	_, known := at.Literal()
	for _, t := range targets {
		for _, dir := range from {
			entered := s.directory(at.Hold(t), dir, physical)
			s.steps += strings.Count(entered, "/")
			to = union(to, []string{entered})
			if e, _ := s.Land.Lookup(s.Land.Resolve(entered)); known && !s.Made[entered] &&
				(e == land.EntryMissing || e == land.EntryFile) {
				s.stayed = union(s.stayed, []string{dir}) // this cd will fail
			}
		}
	}
	if s.old = union(from, s.old); len(s.stayed) == 0 {
		s.old = from
	}
	s.Dirs = to
	delete(s.Vars, "OLDPWD")
}

// directory checks one directory that is about to be entered.
func (s *Shell) directory(target arg, from string, physical bool) string {
	if !strings.HasPrefix(target.Prefix(), "/") && !strings.HasPrefix(target.Prefix(), ".") {
		for _, t := range s.Vars["CDPATH"].Alts {
			if len(t) > 0 {
				s.Deny(verdict.RuleDirectory, target, "", "cd would look for "+target.String()+" in CDPATH", "leave it empty")
			}
		}
	}
	where, abs := s.Locate(target.Text, from, false)
	logical := abs
	if v, ok := target.Literal(); ok && !physical {
		logical = paths.From(from, v)
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

// pushd goes elsewhere and remembers where it was; without a directory it goes back, as popd does.
func (s *Shell) pushd(argv []arg) {
	_, rest := word.Leading(argv[1:], "", nil)
	if len(rest) == 0 || strings.HasPrefix(rest[0].Prefix(), "+") {
		s.popd()
		return
	}
	top := s.Dirs
	s.MoveTo(rest[0], false)
	s.stack = append(slices.Clip(s.stack), top)
}

func (s *Shell) popd() {
	if n := len(s.stack); n > 0 {
		s.Dirs, s.stack = s.stack[n-1], s.stack[:n-1]
	}
}

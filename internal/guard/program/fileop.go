package program

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/word"
	"github.com/cco-dev/cco/internal/paths"
)

// destination divides operands into where they go and what goes there.
func destination(o word.Options) (targets, sources []arg) {
	targets, sources = o.Values("-t", "--target-directory"), o.Operands
	if n := len(sources); len(targets) == 0 && n > 0 {
		return sources[n-1:], sources[:n-1]
	}
	return targets, sources
}

// transfer copies or moves what is named first to what is named last.
func (s *Judge) transfer(r *table.Row, name string, args []arg) {
	valued, long := r.Options()
	o := word.Parse(args, valued, long...)
	targets, sources := destination(o)
	moves, installs := r.Family() == "mv", strings.HasSuffix(name, "install")
	if installs && o.Has("-d", "--directory") {
		targets, sources = o.Operands, nil
	}
	for _, a := range sources {
		if moves && (a.First() < word.Environ || a.Worst() == word.Hidden) { // a variable is data: mv "$f" "$f.bak"
			s.Check(land.Remove, a)
		}
	}
	for _, a := range targets { // first, so that a denial names what the agent wrote
		s.Check(land.Write, a)
		if moves || slices.ContainsFunc(sources, isMany) {
			s.fills(a)
		}
	}
	for _, a := range sources {
		if !moves && !installs && o.Has("-l", "--link", "-s", "--symbolic-link") {
			s.Check(land.LinkTo, a)
		}
		for _, t := range targets {
			s.puts(a, t, o.Has("-r", "-R", "-a", "--recursive", "--archive"))
		}
	}
}

// isMany says that a source stands for all files of a directory.
func isMany(source arg) bool {
	return source.Worst() == word.Matched || strings.HasSuffix(source.Known(), "/.")
}

// intoDirectory checks where a source lands if the target is a directory:
// copying settings.json into .claude writes .claude/settings.json.
func (s *Judge) intoDirectory(target, source arg) {
	v, ok := source.Literal()
	if name, _ := target.Literal(); ok && !land.IsDevice(name) {
		s.Check(land.Write, target.Hold(target.Plus("/"+path.Base(v))))
	}
}

// puts denies putting a file where it would tie a directory to another repository, or a tree where guarded files stand.
// The content of a written script goes along to its copy.
func (s *Judge) puts(source, target arg, tree bool) {
	s.intoDirectory(target, source)
	from, ok1 := source.Literal()
	to, ok2 := target.Literal()
	if !ok1 || !ok2 {
		return
	}
	content, written := s.Files[s.Absolute(from)]
	e, _ := s.Land.Lookup(s.Absolute(from))
	tree = tree || e == land.EntryDir || s.Made[s.Absolute(from)]
	for _, abs := range [...]string{s.Absolute(to), s.Absolute(path.Join(to, path.Base(from)))} {
		switch where := s.Land.Place(abs); {
		case !where.Writable():
		case tree && s.HoldsSettings(abs):
			s.Refuse(land.Write, target, land.Protected, abs)
		case !tree && bash.TiesRepository(abs):
			s.Refuse(land.Write, target, land.Git, abs)
		}
		if written {
			s.Files[abs] = content
		}
	}
	if e, linked := s.Land.Lookup(s.Land.ResolveParent(s.Joined(from))); e == land.EntryLink {
		s.standsFor(to, linked)
	}
}

// link denies links whose target lies outside, seen from where the link is.
func (s *Judge) link(args []arg) {
	o := word.Parse(args, "tS", "--target-directory", "--suffix")
	places, targets := destination(o)
	if len(targets) == 0 {
		places, targets = []arg{{Text: word.Lit(".")}}, places
	}
	place := places[0]
	s.Check(land.Write, place)
	dir := s.Dir()
	if v, ok := place.Literal(); ok && o.Has("-s", "--symbolic") && !o.Has("-r", "--relative") {
		at := s.Absolute(v)
		if e, _ := s.Land.Lookup(at); e == land.EntryDir || strings.HasSuffix(v, "/") || v == "." || s.Made[at] ||
			len(targets) > 1 {
			dir = at
		} else {
			dir = path.Dir(at)
		}
	}
	for _, a := range targets {
		if where, abs := s.Locate(a.Text, dir, false); !where.Writable() && where != land.Protected || where == land.Unknown {
			if where == land.Unknown && a.Worst() < word.Hidden && a.First() != word.Dynamic {
				continue
			}
			s.Refuse(land.LinkTo, a, where, abs)
		}
		v, ok := a.Literal()
		if !ok {
			continue
		}
		s.puts(a.Hold(word.Lit(path.Join(dir, v))), place, false)
		if at, ok := place.Literal(); ok && o.Has("-s", "--symbolic") {
			s.standsFor(at, v)
		}
	}
}

// standsFor makes a link known before it is made.
func (s *Judge) standsFor(name, target string) {
	at := s.Land.ResolveParent(s.Joined(name))
	if e, _ := s.Land.Lookup(at); e == land.EntryDir || s.Made[at] {
		at = path.Join(at, path.Base(target))
	}
	s.Land.Expect(at, land.EntryLink, target)
	for dir := path.Dir(at); s.Made[dir]; dir = path.Dir(dir) {
		if e, _ := s.Land.Lookup(dir); e == land.EntryMissing {
			s.Land.Expect(dir, land.EntryDir, "")
		}
	}
}

// Joined is a path from the current directory, with links left as they are.
func (s *Judge) Joined(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(s.Dir(), name)
}

func (s *Judge) mkdir(args []arg) {
	o := word.Parse(args, "mZ", "--mode", "--context")
	for _, a := range o.Operands {
		s.Check(land.Write, a)
		if v, ok := a.Literal(); ok {
			abs := s.Absolute(v)
			for dir := abs; dir != "/" && dir != "." && land.WithinAny(dir, s.Land.Own); dir = path.Dir(dir) {
				s.Made[dir] = true
			}
			s.Made[abs] = true
		}
	}
}

// HoldsSettings says that a directory directly holds guarded files.
func (s *Judge) HoldsSettings(abs string) bool {
	return !paths.Within(s.Workspace(), abs) && abs != s.Home() &&
		slices.ContainsFunc(s.Land.Protected, func(p string) bool { return path.Dir(p) == abs })
}

// fills denies putting whatever a tree or archive holds into a directory with guarded files.
func (s *Judge) fills(target arg) {
	if where, abs := s.Locate(target.Text, s.Dir(), false); where.Writable() && s.HoldsSettings(abs) {
		s.Refuse(land.Write, target, land.Protected, abs)
	}
}

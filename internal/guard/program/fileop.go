package program

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
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

func (s *Judge) copy(name string, args []arg) {
	o := word.Parse(args, "tSmgo", "--target-directory", "--suffix", "--mode", "--group", "--owner")
	targets, sources := destination(o)
	if name == "install" && o.Has("-d", "--directory") {
		targets, sources = o.Operands, nil
	}
	linked := name != "install" && o.Has("-l", "--link", "-s", "--symbolic-link")
	for _, a := range targets { // first, so that a denial names what the agent wrote
		s.Check(land.Write, a)
		for _, source := range sources {
			if source.Worst() == word.Matched || strings.HasSuffix(source.Known(), "/.") {
				s.fills(a)
			}
		}
	}
	for _, a := range sources {
		if linked {
			s.Check(land.LinkTo, a)
		}
		for _, t := range targets {
			s.intoDirectory(t, a)
			s.overTies(a, t, o.Has("-r", "-R", "-a", "--recursive", "--archive"))
		}
	}
	s.carry(sources, targets)
}

// overTies denies putting a file where it would tie a directory to another
// repository, or a tree where guarded files stand.
func (s *Judge) overTies(source, target arg, tree bool) {
	from, ok1 := source.Literal()
	to, ok2 := target.Literal()
	if !ok1 || !ok2 {
		return
	}
	e, _ := s.Land.Lookup(s.Absolute(from))
	tree = tree || e == land.EntryDir || s.Made[s.Absolute(from)]
	for _, to := range [...]string{s.Absolute(to), path.Join(s.Absolute(to), path.Base(from))} {
		switch where := s.Land.Place(to); {
		case !where.Writable():
		case tree && s.HoldsSettings(to):
			s.Refuse(land.Write, target, land.Protected, to)
		case !tree && bash.TiesRepository(to):
			s.Refuse(land.Write, target, land.Git, to)
		}
	}
}

// intoDirectory checks where a source lands if the target is a directory:
// copying settings.json into .claude writes .claude/settings.json.
func (s *Judge) intoDirectory(target, source arg) {
	v, ok := source.Literal()
	if name, _ := target.Literal(); !ok || land.IsDevice(name) {
		return
	}
	s.Check(land.Write, target.Hold(target.Plus("/"+path.Base(v))))
}

// carry takes the content of a written script along to its copy.
func (s *Judge) carry(sources, targets []arg) {
	if len(sources) != 1 || len(targets) != 1 {
		return
	}
	from, ok1 := sources[0].Literal()
	to, ok2 := targets[0].Literal()
	if !ok1 || !ok2 {
		return
	}
	if e, target := s.Land.Lookup(s.Land.ResolveParent(s.Joined(from))); e == land.EntryLink {
		s.standsFor(to, target)
	}
	if content, ok := s.Files[s.Absolute(from)]; ok {
		s.Files[s.Absolute(to)] = content
		s.Files[s.Absolute(path.Join(to, path.Base(from)))] = content
	}
}

func (s *Judge) move(args []arg) {
	o := word.Parse(args, "tS", "--target-directory", "--suffix")
	targets, sources := destination(o)
	for _, a := range sources {
		if a.First() < word.Environ || a.Worst() == word.Hidden { // a variable is data here, as in mv "$f" "$f.bak"
			s.Check(land.Remove, a)
		}
		for _, t := range targets {
			s.intoDirectory(t, a)
			s.overTies(a, t, false)
		}
	}
	for _, a := range targets {
		s.Check(land.Write, a)
		if where, abs := s.Locate(a.Text, s.Dir(), false); where.Writable() && s.Land.IsProtected(abs, true) &&
			!paths.Within(s.Workspace(), abs) {
			s.Refuse(land.Write, a, land.Protected, abs) // moving something into the place of .claude
		}
	}
	s.carry(sources, targets)
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
		s.intoDirectory(place, a)
		if v, ok := a.Literal(); ok {
			if at, ok := place.Literal(); ok && o.Has("-s", "--symbolic") {
				s.standsFor(at, v)
			}
			s.carry([]arg{a.Hold(word.Lit(path.Join(dir, v)))}, []arg{place})
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

// change checks the files of chmod and chown, whose first operand is a mode.
func (s *Judge) change(args []arg) {
	var operands []arg
	byReference := false
	for _, a := range args {
		v := a.Prefix()
		byReference = byReference || strings.HasPrefix(v, "--reference")
		if strings.HasPrefix(v, "--reference=") || strings.HasPrefix(v, "-") && strings.Trim(v, "-rwxXstugo+,=") != "" {
			continue
		}
		operands = append(operands, a)
	}
	for i, a := range operands {
		if i > 0 || byReference {
			s.Check(land.Write, a)
			s.fills(a)
		}
	}
}

// HoldsSettings says that a directory directly holds guarded files.
func (s *Judge) HoldsSettings(abs string) bool {
	return !paths.Within(s.Workspace(), abs) && abs != s.Home() &&
		slices.ContainsFunc(s.Land.Protected, func(p string) bool { return path.Dir(p) == abs })
}

// fills denies putting whatever a tree or archive holds into a directory with
// guarded files.
func (s *Judge) fills(target arg) {
	if where, abs := s.Locate(target.Text, s.Dir(), false); where.Writable() && s.HoldsSettings(abs) {
		s.Refuse(land.Write, target, land.Protected, abs)
	}
}

func (s *Judge) dd(args []arg) {
	for _, a := range args {
		if strings.HasPrefix(a.Prefix(), "of=") {
			s.Check(land.Redirect, a.After(3))
		}
	}
	s.Print(s.decoded("dd"))
}

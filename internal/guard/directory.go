package guard

import (
	"path"
	"strings"
)

// cd changes directory; every place that it may lead to must be inside.
func (s *shell) cd(argv []arg) {
	target, given, physical := arg{}, false, false
	for i, a := range argv[1:] {
		v, ok := a.literal()
		if ok && v == "--" {
			if i+2 < len(argv) {
				target, given = argv[i+2], true
			}
			break
		}
		if ok && len(v) > 1 && v[0] == '-' && strings.Trim(v[1:], "LPe@") == "" {
			physical = physical || strings.Contains(v, "P")
			continue
		}
		target, given = a, true
		break
	}
	switch {
	case !given:
		target = arg{lit(s.land.home), argv[0].start, argv[len(argv)-1].end}
	case target.is("-"):
		s.back(target)
		return
	case len(target.text) == 0:
		return // cd "" stays
	}
	s.moveTo(target, physical)
}

// back goes where OLDPWD says, which a command may have set itself.
func (s *shell) back(at arg) {
	from := s.sc.dirs
	var to []string
	for _, t := range s.lookup("OLDPWD").alts {
		for _, dir := range from {
			to = union(to, []string{s.directory(arg{t, at.start, at.end}, dir, false)})
		}
	}
	s.sc.old, s.sc.dirs = from, to
	delete(s.sc.vars, "OLDPWD")
}

// moveTo makes target the current directory.
func (s *shell) moveTo(target arg, physical bool) {
	from := s.sc.dirs
	var to []string
	for _, dir := range from {
		s.cdpath(target, dir)
		to = union(to, []string{s.directory(target, dir, physical)})
	}
	name, known := target.literal()
	if known && !s.sc.errexit && !path.IsAbs(name) && len(from) == 1 && !s.sc.made[to[0]] && s.land.missing(to[0]) {
		to = union(to, from) // this cd will fail, and the shell stays
	}
	s.sc.old, s.sc.dirs = from, to
	delete(s.sc.vars, "OLDPWD")
}

// directory checks one directory that is about to be entered.
func (s *shell) directory(target arg, from string, physical bool) string {
	where, abs := s.locate(target.text, from, false)
	logical := abs
	if v, ok := target.literal(); ok && !physical {
		logical = v
		if !path.IsAbs(v) {
			logical = path.Join(from, v)
		}
		logical = path.Clean(logical)
		if p := s.land.place(s.land.resolve(logical)); !p.writable() && p != placeProtected {
			where, abs = p, logical
		}
	}
	switch where {
	case placeWorkspace, placeScratch, placeProtected, placeGit:
		return logical
	case placeUnknown:
		s.deny(RuleUnknownPath, target, "", "cd to "+target.String()+" can't be followed beforehand",
			"use a path below "+s.land.workspace+" that is written out")
	}
	s.deny(RuleDirectory, target, abs, "cd to "+clip(abs, 200)+" leaves the workspace",
		"use a path below "+s.land.workspace)
	return ""
}

// cdpath denies a directory that would be found through CDPATH.
func (s *shell) cdpath(target arg, from string) {
	v, ok := s.sc.vars["CDPATH"]
	if !ok || strings.HasPrefix(target.prefix(), "/") || strings.HasPrefix(target.prefix(), ".") {
		return
	}
	for _, t := range v.values() {
		for _, dir := range t.split(":") {
			s.directory(arg{dir.with(seg{literal, "/"}).with(target.text...), target.start, target.end}, from, false)
		}
	}
}

func (s *shell) pushd(argv []arg) {
	var target *arg
	for i := range argv[1:] {
		v, _ := argv[i+1].literal()
		if v == "-n" || v == "--" {
			continue
		}
		target = &argv[i+1]
		break
	}
	top := s.sc.dirs
	switch {
	case target == nil || strings.HasPrefix(target.prefix(), "+"):
		if n := len(s.sc.stack); n > 0 {
			s.sc.dirs = s.sc.stack[n-1]
			s.sc.stack = append(s.sc.stack[:n-1:n-1], top)
		}
	default:
		s.moveTo(*target, false)
		s.sc.stack = append(s.sc.stack[:len(s.sc.stack):len(s.sc.stack)], top)
	}
}

func (s *shell) popd() {
	if n := len(s.sc.stack); n > 0 {
		s.sc.dirs, s.sc.stack = s.sc.stack[n-1], s.sc.stack[:n-1:n-1]
	}
}

package guard

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

func (s *shell) copy(name string, args []arg) {
	o := parseOptions(args, "tSmgo", "--target-directory", "--suffix", "--mode", "--group", "--owner")
	targets := o.values("-t", "--target-directory")
	sources := o.operands
	switch {
	case name == "install" && o.has("-d", "--directory"):
		targets, sources = o.operands, nil
	case len(targets) == 0 && len(sources) > 0:
		targets, sources = sources[len(sources)-1:], sources[:len(sources)-1]
	}
	linked := name != "install" && o.has("-l", "--link", "-s", "--symbolic-link")
	for _, a := range targets { // first, so that a denial names what the agent wrote
		s.check(opWrite, a)
		for _, source := range sources {
			if source.worst() == matched || strings.HasSuffix(source.known(), "/.") {
				s.fills(a)
			}
		}
	}
	for _, a := range sources {
		if linked {
			s.check(opLinkTo, a)
		}
		for _, t := range targets {
			s.intoDirectory(t, a)
			s.overTies(a, t, o.has("-r", "-R", "-a", "--recursive", "--archive"))
		}
	}
	s.carry(sources, targets)
}

// overTies denies putting a file where it would tie a directory to another
// repository, or a tree where guarded files stand.
func (s *shell) overTies(source, target arg, tree bool) {
	from, ok1 := source.literal()
	to, ok2 := target.literal()
	if !ok1 || !ok2 {
		return
	}
	e, _ := s.land.lookup(s.absolute(from))
	tree = tree || e == EntryDir || s.sc.made[s.absolute(from)]
	for _, to := range [...]string{s.absolute(to), path.Join(s.absolute(to), path.Base(from))} {
		switch where := s.land.place(to); {
		case !where.writable():
		case tree && s.isSettingsDir(to):
			s.refuse(opWrite, target, placeProtected, to)
		case !tree && tiesRepository(to):
			s.refuse(opWrite, target, placeGit, to)
		}
	}
}

// intoDirectory checks where a source lands if the target is a directory:
// copying settings.json into .claude writes .claude/settings.json.
func (s *shell) intoDirectory(target, source arg) {
	v, ok := source.literal()
	if name, _ := target.literal(); !ok || isDevice(name) {
		return
	}
	s.check(opWrite, arg{target.with(seg{literal, "/" + path.Base(v)}), target.start, target.end})
}

// carry takes the content of a written script along to its copy.
func (s *shell) carry(sources, targets []arg) {
	if len(sources) != 1 || len(targets) != 1 {
		return
	}
	from, ok1 := sources[0].literal()
	to, ok2 := targets[0].literal()
	if !ok1 || !ok2 {
		return
	}
	if e, target := s.land.lookup(s.land.resolveParent(s.joined(from))); e == EntryLink {
		s.standsFor(to, target)
	}
	if content, ok := s.sc.files[s.absolute(from)]; ok {
		s.sc.files[s.absolute(to)] = content
		s.sc.files[s.absolute(path.Join(to, path.Base(from)))] = content
	}
}

func (s *shell) move(args []arg) {
	o := parseOptions(args, "tS", "--target-directory", "--suffix")
	targets := o.values("-t", "--target-directory")
	sources := o.operands
	if len(targets) == 0 && len(sources) > 0 {
		targets, sources = sources[len(sources)-1:], sources[:len(sources)-1]
	}
	for _, a := range sources {
		if a.first() < environ || a.worst() == hidden { // a variable is data here, as in mv "$f" "$f.bak"
			s.check(opRemove, a)
		}
		for _, t := range targets {
			s.intoDirectory(t, a)
			s.overTies(a, t, false)
		}
	}
	for _, a := range targets {
		s.check(opWrite, a)
		if where, abs := s.locate(a.text, s.sc.dirs[0], false); where.writable() && s.land.isProtected(abs, true) &&
			!paths.Within(s.land.workspace, abs) {
			s.refuse(opWrite, a, placeProtected, abs) // moving something into the place of .claude
		}
	}
	s.carry(sources, targets)
}

// link denies links whose target lies outside, seen from where the link is.
func (s *shell) link(args []arg) {
	o := parseOptions(args, "tS", "--target-directory", "--suffix")
	targets := o.operands
	var place arg
	switch vs := o.values("-t", "--target-directory"); {
	case len(vs) > 0:
		place = vs[0]
	case len(targets) > 1:
		place, targets = targets[len(targets)-1], targets[:len(targets)-1]
	default:
		place = arg{lit("."), 0, 0}
	}
	s.check(opWrite, place)
	dir := s.sc.dirs[0]
	if v, ok := place.literal(); ok && o.has("-s", "--symbolic") && !o.has("-r", "--relative") {
		at := s.absolute(v)
		if e, _ := s.land.lookup(at); e == EntryDir || strings.HasSuffix(v, "/") || v == "." || s.sc.made[at] ||
			len(targets) > 1 {
			dir = at
		} else {
			dir = path.Dir(at)
		}
	}
	for _, a := range targets {
		if where, abs := s.locate(a.text, dir, false); !where.writable() && where != placeProtected || where == placeUnknown {
			if where == placeUnknown && a.worst() < hidden && a.first() != dynamic {
				continue
			}
			s.refuse(opLinkTo, a, where, abs)
		}
		s.intoDirectory(place, a)
		if v, ok := a.literal(); ok {
			s.remember(place, v, dir)
			if at, ok := place.literal(); ok && o.has("-s", "--symbolic") {
				s.standsFor(at, v)
			}
		}
	}
}

// standsFor makes a link known before it is made.
func (s *shell) standsFor(name, target string) {
	at := s.land.resolveParent(s.joined(name))
	if e, _ := s.land.lookup(at); e == EntryDir || s.sc.made[at] {
		at = path.Join(at, path.Base(target))
	}
	s.land.seen[at] = found{EntryLink, target}
	for dir := path.Dir(at); s.sc.made[dir]; dir = path.Dir(dir) {
		if e, _ := s.land.lookup(dir); e == EntryMissing {
			s.land.seen[dir] = found{entry: EntryDir}
		}
	}
}

// joined is a path from the current directory, with links left as they are.
func (s *shell) joined(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(s.sc.dirs[0], name)
}

// remember keeps in mind that a link was made, by refusing nothing but
// carrying written content along.
func (s *shell) remember(place arg, target, dir string) {
	if !path.IsAbs(target) {
		target = path.Join(dir, target)
	}
	if content, ok := s.sc.files[target]; ok {
		if v, ok := place.literal(); ok {
			s.sc.files[s.absolute(v)] = content
		}
	}
}

func (s *shell) remove(args []arg) {
	o := parseOptions(args, "nsg", "--random-source", "--size", "--iterations", "--glob")
	for _, a := range o.operands {
		s.check(opRemove, a)
	}
}

func (s *shell) mkdir(args []arg) {
	o := parseOptions(args, "mZ", "--mode", "--context")
	for _, a := range o.operands {
		s.check(opWrite, a)
		if v, ok := a.literal(); ok {
			abs := s.absolute(v)
			for dir := abs; dir != "/" && dir != "." && withinAny(dir, s.land.own); dir = path.Dir(dir) {
				s.sc.made[dir] = true
			}
			s.sc.made[abs] = true
		}
	}
}

// change checks the files of chmod and chown, whose first operand is a mode.
func (s *shell) change(args []arg) {
	var o options
	byReference := false
	for _, a := range args {
		v := a.prefix()
		byReference = byReference || strings.HasPrefix(v, "--reference")
		if strings.HasPrefix(v, "--reference=") || strings.HasPrefix(v, "-") && strings.Trim(v, "-rwxXstugo+,=") != "" {
			o.flags = append(o.flags, flag{name: v})
			continue
		}
		o.operands = append(o.operands, a)
	}
	if len(o.operands) == 0 {
		return
	}
	for i, a := range o.operands {
		if i == 0 && !byReference {
			continue
		}
		s.check(opWrite, a)
		if where, abs := s.locate(a.text, s.sc.dirs[0], false); where.writable() && s.isSettingsDir(abs) {
			s.refuse(opWrite, a, placeProtected, abs)
		}
	}
}

// isSettingsDir says that a directory directly holds guarded files.
func (s *shell) isSettingsDir(abs string) bool {
	for _, p := range s.land.protected {
		if path.Dir(p) == abs && !paths.Within(s.land.workspace, abs) && abs != s.land.home {
			return true
		}
	}
	return false
}

// fills denies putting whatever a tree or archive holds into a directory with
// guarded files.
func (s *shell) fills(target arg) {
	if where, abs := s.locate(target.text, s.sc.dirs[0], false); where.writable() && s.isSettingsDir(abs) {
		s.refuse(opWrite, target, placeProtected, abs)
	}
}

func (s *shell) touch(name string, argv []arg) {
	o := parseOptions(argv[1:], "rdtsolm", "--reference", "--date", "--time", "--size", "--mode")
	for _, a := range o.operands {
		s.operand(a)
	}
	if name == "tee" || name == "sponge" {
		s.printed("tee", argv)
	}
}

func (s *shell) dd(args []arg) {
	for _, a := range args {
		if strings.HasPrefix(a.prefix(), "of=") {
			s.check(opRedirect, arg{a.cut(3), a.start, a.end})
		}
	}
	s.print(s.decoded("dd"))
}

func (s *shell) rsync(argv []arg) {
	o := parseOptions(argv[1:], "eTBfM", "--rsh", "--rsync-path", "--log-file", "--backup-dir", "--partial-dir",
		"--temp-dir", "--exclude", "--include", "--files-from", "--exclude-from", "--compare-dest", "--link-dest",
		"--write-batch")
	for _, a := range o.values("-e", "--rsh", "--rsync-path") {
		s.isolated(func() { s.runText(a.text, a, "rsync") })
	}
	for _, a := range o.values("--log-file", "--backup-dir", "--partial-dir", "-T", "--temp-dir", "--write-batch") {
		s.check(opWrite, a)
	}
	s.lastWritten(o)
	if n := len(o.operands); n > 1 && (o.has("--delete", "--del") || strings.HasSuffix(o.operands[0].known(), "/")) {
		s.fills(o.operands[n-1])
	}
}

// lastWritten checks the last operand as a place to be written, and the
// others too if the options say that sources are removed.
func (s *shell) lastWritten(o options) {
	n := len(o.operands)
	if n == 0 {
		return
	}
	if o.has("--remove-source-files") {
		for _, a := range o.operands[:n-1] {
			s.check(opRemove, a)
		}
	}
	if last := o.operands[n-1]; n > 1 && (pathLike(last.text) || last.first() != literal) {
		s.check(opWrite, last)
		for _, a := range o.operands[:n-1] {
			s.intoDirectory(last, a)
		}
	}
}

func (s *shell) scp(argv []arg) {
	o := parseOptions(argv[1:], "cDFiJloPSX")
	for _, a := range o.values("-S") {
		s.isolated(func() { s.runText(a.text, a, "scp") })
	}
	for i, a := range o.operands {
		if host, rest, ok := strings.Cut(a.known(), ":"); ok && isHere(host) && i > 0 && i == len(o.operands)-1 {
			s.checkFrom(opWrite, arg{lit(rest), a.start, a.end}, s.land.home)
		}
	}
	s.lastWritten(o)
}

package guard

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

// findRoots splits find's arguments into where it looks and what it does.
func findRoots(args []arg) (roots, rest []arg) {
	i := 0
	for i < len(args) {
		v := args[i].prefix()
		if v == "-D" && i+1 < len(args) {
			i += 2
			continue
		}
		if v != "-H" && v != "-L" && v != "-P" && !strings.HasPrefix(v, "-O") {
			break
		}
		i++
	}
	for ; i < len(args); i++ {
		v := args[i].prefix()
		if strings.HasPrefix(v, "-") || v == "(" || v == "!" || v == "," {
			break
		}
		roots = append(roots, args[i])
	}
	if len(roots) == 0 {
		roots = []arg{{lit("."), 0, 0}}
	}
	return roots, args[i:]
}

// find looks only, unless an action of its says otherwise.
func (s *shell) find(argv []arg) {
	roots, rest := findRoots(argv[1:])
	filtered, guarded := false, s.guardedBelow(roots, rest)
	for i := 0; i < len(rest); i++ {
		v, _ := rest[i].literal()
		switch v {
		case "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename", "-empty", "-newer", "-mtime", "-size",
			"-mindepth":
			filtered = true
		case "-delete":
			for _, r := range roots {
				s.findDelete(r, filtered)
			}
			for _, a := range guarded {
				s.check(opRemove, a)
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(rest) {
				s.check(opWrite, rest[i+1])
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(rest) && !rest[end].is(";") && (!rest[end].is("+") || !rest[end-1].is("{}")) {
				end++
			}
			s.findExec(v, roots, rest[i+1:end])
			for _, a := range guarded {
				s.isolated(func() { s.run(substituted(rest[i+1:end], "{}", a.text)) })
			}
			i = end
		}
	}
	s.printed("find", argv)
}

// guardedBelow lists the files of the guard that stand below the roots and have
// one of the names that find looks for.
func (s *shell) guardedBelow(roots, rest []arg) (list []arg) {
	for i, a := range rest {
		if i == 0 || !rest[i-1].is("-name") && !rest[i-1].is("-iname") || a.worst() > matched {
			continue
		}
		for _, p := range s.land.protected {
			if !globMatch(a.known(), path.Base(p)) {
				continue
			}
			for _, r := range roots {
				if e, _ := s.land.lookup(p); e != EntryFile && e != EntryDir {
					continue
				}
				if _, root := s.locate(r.text, s.sc.dirs[0], false); paths.Within(p, root) {
					list = append(list, arg{lit(p), a.start, a.end})
				}
			}
		}
	}
	return list
}

func (s *shell) findDelete(root arg, filtered bool) {
	if filtered {
		s.check(opRemove, arg{root.with(seg{literal, "/"}, seg{below, ""}), root.start, root.end})
		return
	}
	s.check(opRemove, arg{root.with(seg{literal, "/"}, seg{matched, "*"}), root.start, root.end})
	if where, abs := s.locate(root.text, s.sc.dirs[0], false); where.writable() &&
		(s.land.isProtected(abs, true) || s.land.removesRoot(abs)) {
		s.refuse(opRemove, root, placeProtected, abs)
	}
}

// findExec runs the command with the found names in it.
func (s *shell) findExec(action string, roots, command []arg) {
	for _, r := range roots {
		found := r.with(seg{literal, "/"}, seg{below, ""})
		if r.is(".") {
			found = unknown(below)
		}
		dir := strings.HasSuffix(action, "dir")
		s.isolated(func() {
			if dir {
				s.moveTo(arg{found, r.start, r.end}, false)
				found = unknown(token)
			}
			s.run(substituted(command, "{}", found))
		})
		if dir { // what stands in the root itself is found too
			s.isolated(func() {
				s.moveTo(r, false)
				s.run(substituted(command, "{}", unknown(token)))
			})
		}
	}
}

func (s *shell) fd(argv []arg) {
	for i, a := range argv {
		v, _ := a.literal()
		if v == "-x" || v == "-X" || v == "--exec" || v == "--exec-batch" {
			roots := s.starts("fd", argv[1:i])
			command := argv[i+1:]
			if !strings.Contains(joinArgs(command).known(), "{") {
				command = append(append([]arg{}, command...), arg{lit("{}"), a.start, a.end})
			}
			s.findExec("-exec", roots, command)
			return
		}
	}
	s.printed("fd", argv)
}

package program

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
	"github.com/cco-dev/cco/internal/paths"
)

// findRoots splits find's arguments into where it looks and what it does.
func findRoots(args []arg) (roots, rest []arg) {
	i := 0
	for ; i < len(args); i++ {
		switch v := args[i].Prefix(); {
		case v == "-D":
			i++
		case v == "-H" || v == "-L" || v == "-P" || strings.HasPrefix(v, "-O"):
		case strings.HasPrefix(v, "-") || v == "(" || v == "!" || v == ",":
			return orHere(roots), args[i:]
		default:
			roots = append(roots, args[i])
		}
	}
	return orHere(roots), nil
}

// orHere is the current directory where none is named.
func orHere(roots []arg) []arg {
	if len(roots) == 0 {
		return []arg{{Text: word.Lit(".")}}
	}
	return roots
}

// find looks only, unless an action of its says otherwise.
func (s *Judge) find(argv []arg) {
	roots, rest := findRoots(argv[1:])
	filtered, guarded := false, s.guardedBelow(roots, rest)
	for i := 0; i < len(rest); i++ {
		v, _ := rest[i].Literal()
		switch v {
		case "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename", "-empty", "-newer", "-mtime", "-size",
			"-mindepth":
			filtered = true
		case "-delete":
			for _, r := range roots {
				s.findDelete(r, filtered)
			}
			for _, a := range guarded {
				s.Check(land.Remove, a)
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(rest) {
				s.Check(land.Write, rest[i+1])
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(rest) && !rest[end].Is(";") && (!rest[end].Is("+") || !rest[end-1].Is("{}")) {
				end++
			}
			s.findExec(v, roots, rest[i+1:end])
			for _, a := range guarded {
				s.Isolated(func() { s.Exec(word.Substituted(rest[i+1:end], "{}", a.Text)) })
			}
			i = end
		}
	}
	s.printed("find", argv)
}

// guardedBelow lists the files of the guard that stand below the roots and have
// one of the names that find looks for.
func (s *Judge) guardedBelow(roots, rest []arg) (list []arg) {
	for i, a := range rest {
		if i == 0 || !rest[i-1].Is("-name") && !rest[i-1].Is("-iname") || a.Worst() > word.Matched {
			continue
		}
		for _, p := range s.Land.Protected {
			if !word.GlobMatch(a.Known(), path.Base(p)) || !s.Land.IsFile(p) {
				continue
			}
			for _, r := range roots {
				if _, root := s.Locate(r.Text, s.Dir(), false); paths.Within(p, root) {
					list = append(list, a.Hold(word.Lit(p)))
				}
			}
		}
	}
	return list
}

func (s *Judge) findDelete(root arg, filtered bool) {
	if filtered {
		s.Check(land.Remove, root.Hold(root.With(word.Piece(word.Literal, "/"), word.Piece(word.Below, ""))))
		return
	}
	s.Check(land.Remove, root.Hold(root.With(word.Piece(word.Literal, "/"), word.Piece(word.Matched, "*"))))
	if where, abs := s.Locate(root.Text, s.Dir(), false); where.Writable() &&
		(s.Land.IsProtected(abs, true) || s.Land.RemovesRoot(abs)) {
		s.Refuse(land.Remove, root, land.Protected, abs)
	}
}

// findExec runs the command with the found names in it.
func (s *Judge) findExec(action string, roots, command []arg) {
	for _, r := range roots {
		found := r.With(word.Piece(word.Literal, "/"), word.Piece(word.Below, ""))
		if r.Is(".") {
			found = word.Unknown(word.Below)
		}
		dir := strings.HasSuffix(action, "dir")
		s.Isolated(func() {
			if dir {
				s.MoveTo(r.Hold(found), false)
				found = word.Unknown(word.Token)
			}
			s.Exec(word.Substituted(command, "{}", found))
		})
		if dir { // what stands in the root itself is found too
			s.Isolated(func() {
				s.MoveTo(r, false)
				s.Exec(word.Substituted(command, "{}", word.Unknown(word.Token)))
			})
		}
	}
}

func (s *Judge) fd(argv []arg) {
	for i, a := range argv {
		v, _ := a.Literal()
		if v == "-x" || v == "-X" || v == "--exec" || v == "--exec-batch" {
			roots := s.starts("fd", argv[1:i])
			command := argv[i+1:]
			if !strings.Contains(word.JoinArgs(command).Known(), "{") {
				command = append(append([]arg{}, command...), a.Hold(word.Lit("{}")))
			}
			s.findExec("-exec", roots, command)
			return
		}
	}
	s.printed("fd", argv)
}

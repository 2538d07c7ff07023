package program

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
	"github.com/cco-dev/cco/internal/paths"
)

// xargs appends what it reads to a command.
func (s *Judge) xargs(argv []arg) {
	o, rest := word.Leading(argv[1:], "IiLlnPsEdaJR", []string{"--replace", "--max-args", "--max-procs", "--arg-file",
		"--delimiter", "--max-lines", "--max-chars"})
	at, in, items := argv[0], s.Stdin, []text{word.Unknown(word.Dynamic)}
	for _, a := range o.Values("-a", "--arg-file") {
		in = s.FileStream(a)
	}
	if in != nil {
		items = in.Text.Split(xargsSeparators(o))
	}
	if len(rest) == 0 {
		rest = word.Literals(at, "echo")
	}
	marker := ""
	if vs := o.Values("-I", "--replace", "-J"); len(vs) > 0 {
		marker = vs[0].Known()
	} else if o.Has("-i", "--replace") {
		marker = "{}"
	}
	items = items[:min(len(items), bash.MaxRounds)]
	if marker == "" {
		full := append([]arg{}, rest...)
		for _, item := range items {
			full = append(full, at.Hold(item))
		}
		s.WithStdin(nil, func() { s.Exec(full) })
		return
	}
	for _, item := range items {
		s.WithStdin(nil, func() { s.Exec(word.Substituted(rest, marker, item)) })
	}
}

// xargsSeparators are the bytes between the items that xargs reads.
func xargsSeparators(o word.Options) string {
	switch vs := o.Values("-d", "--delimiter"); {
	case o.Has("-0", "--null"):
		return "\x00"
	case len(vs) > 0:
		return word.AnsiC(vs[0].Known())
	case o.Has("-I", "-i", "--replace"):
		return "\n"
	}
	return " \t\n"
}

// runWrapper runs a command through the program in front of it.
func (s *Judge) runWrapper(name string, argv []arg) bool {
	r := table.Find(name, table.WrapperRow)
	if r == nil {
		return false
	}
	valued, long := r.Options()
	flags, rest := word.Leading(argv[1:], valued, long)
	if r.Sub != "" {
		found := len(rest) > 0 && slices.Contains(strings.Fields(r.Sub), rest[0].Known())
		if found || r.Early {
			s.follow(r, flags, name)
		}
		if !found {
			return false
		}
		flags, rest = word.Leading(rest[1:], valued, long)
	}
	vars, out := s.Vars, s.Out
	s.follow(r, flags, name)
	if r.Skip > 0 && len(rest) > 0 {
		s.guess(rest[0])
		flags, rest = word.Leading(rest[1:], valued, long)
		s.follow(r, flags, name)
	}
	for r.Vars && len(rest) > 0 && isAssignment(rest[0]) {
		s.envArg(rest[0], rest[1:])
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
		s.Print(word.Unknown(word.Dynamic))
	case r.Rest == table.JoinedOperands:
		s.RunText(word.JoinArgs(rest), word.Cover(rest), name)
	default:
		s.Branch = s.Isolated(func() { s.Exec(rest) }).Branch // no builtin of this shell
		s.elevated(name, rest)
	}
	s.Vars, s.Out = vars, out
	return true
}

// elevated denies what sudo would do to the system; reading as another user is left alone.
func (s *Judge) elevated(name string, argv []arg) {
	v, ok := argv[0].Literal()
	own := ok && (table.ReadsOnly(v) || word.Listed(" -l -v git rm touch cp mv ", v)) // judged by its own rules
	if !own && word.Listed(" sudo doas pkexec ", name) {
		s.Deny(verdict.RuleSystem, word.Cover(argv), "", name+" would alter the system outside the workspace",
			"work without it, below "+s.Workspace())
	}
}

// isAssignment says whether an argument is VAR=value.
func isAssignment(a arg) bool { // in env's sense, whose names may be odd
	name, _, ok := strings.Cut(a.Prefix(), "=")
	return ok && (strings.HasPrefix(name, bashFunction) || syntax.ValidName(name))
}

// envArg sets VAR=value for the command after it.
func (s *Judge) envArg(a arg, argv []arg) {
	name, _, _ := strings.Cut(a.Prefix(), "=")
	value := a.After(len(name) + 1)
	s.Set(name, value)
	s.Sees(name, value, argv)
	s.Vars = maps.Clone(s.Vars)
	s.Vars[name] = bash.Variable{Alts: []text{value.Text}}
}

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
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(rest) {
				s.Check(land.Write, rest[i+1])
			}
		case "-delete", "-exec", "-execdir", "-ok", "-okdir":
			command := word.Literals(rest[i], "rm", "{}")
			if v == "-delete" && !filtered {
				for _, r := range roots {
					s.Exec(append(word.Literals(rest[i], "rm", "-rf"), r))
				}
			} else if v != "-delete" {
				end := i + 1
				for end < len(rest) && !rest[end].Is(";") && (!rest[end].Is("+") || !rest[end-1].Is("{}")) {
					end++
				}
				command, i = rest[i+1:end], end
			}
			s.findExec(v, roots, command)
			for _, a := range guarded {
				s.Isolated(func() { s.Exec(word.Substituted(command, "{}", a.Text)) })
			}
		}
	}
	s.printed("find", argv)
}

// guardedBelow lists the files of the guard that stand below the roots and have one of the names that find looks for.
func (s *Judge) guardedBelow(roots, rest []arg) (list []arg) {
	for _, p := range s.Land.Protected {
		named := slices.ContainsFunc(rest, func(a arg) bool {
			return a.Worst() <= word.Matched && word.GlobMatch(a.Known(), path.Base(p))
		})
		for _, r := range roots {
			_, root := s.Locate(r.Text, s.Dir(), false)
			if named && paths.Within(p, root) && s.Land.IsFile(p) {
				list = append(list, r.Hold(word.Lit(p)))
			}
		}
	}
	return list
}

// findExec runs the command with the found names in it.
func (s *Judge) findExec(action string, roots, command []arg) {
	for _, r := range roots {
		found := r.With(word.Piece(word.Literal, "/"), word.Piece(word.Below, ""))
		s.Isolated(func() {
			if strings.HasSuffix(action, "dir") { // what stands in the root itself is found too
				s.MoveTo(r, false)
				found = word.Unknown(word.Token)
			}
			s.Exec(word.Substituted(command, "{}", found))
		})
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

// ssh runs elsewhere, unless elsewhere is here.
func (s *Judge) ssh(r *table.Row, argv []arg) {
	valued, long := r.Options()
	o, rest := word.Leading(argv[1:], valued, long)
	s.follow(r, o, "ssh")
	for _, a := range o.Values("-o") {
		if i := strings.IndexAny(a.Prefix(), "= "); i > 0 && strings.HasSuffix(strings.ToLower(a.Prefix()[:i]), "command") {
			s.RunApart(a.After(i+1), "ssh")
		}
	}
	s.Print(word.Unknown(word.Dynamic))
	if len(rest) == 1 && isHere(rest[0].Known()) {
		s.Awaits(rest[0], "ssh")
	}
	if len(rest) < 2 {
		return
	}
	if host, _ := rest[0].Literal(); isHere(host) || host == "" || rest[0].Worst() > word.Literal {
		s.Isolated(func() {
			s.Dirs = []string{s.Home()}
			s.RunText(word.JoinArgs(rest[1:]), word.Cover(rest[1:]), "ssh")
		})
	}
}

// isHere says that a host, with a user before it or not, is this machine.
func isHere(host string) bool {
	host = host[strings.LastIndexByte(host, '@')+1:]
	return host == "localhost" || host == "::1" || host == "[::1]" || strings.HasPrefix(host, "127.")
}

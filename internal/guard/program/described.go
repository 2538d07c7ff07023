package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// described judges a program by what its rows of a kind say of options and operands; false if there are none.
func (s *Judge) described(as table.Kind, name string, argv []arg) bool {
	rows := table.Uses(name, as, argv)
	for _, r := range rows {
		s.use(r, name, argv)
	}
	return len(rows) > 0
}

// use judges a program by one row.
func (s *Judge) use(r *table.Row, name string, argv []arg) {
	if i := slices.IndexFunc(argv[1:], func(a arg) bool { return word.Listed(r.Ends, a.Known()) }); i >= 0 {
		argv = argv[:i+1]
	}
	valued, long := r.Options()
	o := word.Parse(argv[1:], valued, long...)
	s.follow(r, o, name)
	if r.Waits != "" && !r.Said(strings.ReplaceAll(r.Waits, " ", "|"), argv) && !onlyAsks(argv) {
		s.Awaits(argv[0], name)
	}
	if r.Looks == "" || !o.Has(strings.Fields(r.Looks)...) {
		s.operands(r, o, argv)
	}
	if r.Moves != "" && r.Said(r.Moves, argv) {
		for i, a := range o.Operands {
			switch {
			case r.Rest == table.ReadOperands:
				s.Operand(a)
			case (i > 0 || r.Rest != table.WriteFirst) && (i < len(o.Operands)-1 || r.Rest != table.WriteLast):
				s.Check(land.Remove, a)
			}
		}
	}
	if !s.printed(name, argv) {
		s.Print(word.Unknown(word.Dynamic))
	}
}

// follow judges the options that were given.
func (s *Judge) follow(r *table.Row, o word.Options, by string) {
	for _, f := range o.Flags {
		if f.Has && r.Mark(f.Name) == table.Entered {
			s.MoveTo(f.Value, false)
		}
	}
	for _, f := range o.Flags {
		mark := r.Mark(f.Name)
		if mark == 0 && r.As == table.WrapperRow {
			mark = table.Judged
		}
		if mark == table.Refused {
			s.Deny(verdict.RuleWrite, f.Value, "", f.Name+" lets "+by+" reach outside the workspace", "leave it out")
		}
		if !f.Has {
			continue
		}
		a := f.Value
		switch mark {
		case table.Written:
			s.Check(land.Write, a)
			s.fills(a)
		case table.Loaded:
			if v, ok := a.Literal(); isStdin(a) {
				s.Awaits(a, by)
			} else if ok {
				s.CheckProgram(s.Absolute(v), a)
			}
		case table.Mounted:
			s.mounts(a)
		case table.Judged:
			if !s.usesSystem(f.Name, a) {
				s.Loose(a)
			}
		case table.ShellOf:
			s.RunApart(a, by)
		case table.Perhaps:
			s.Isolated(func() { s.SuspiciousRun(a.Known(), a) })
		case table.Started:
			s.Exec([]arg{a})
			s.Mentions(a.Text, a)
		}
	}
}

// RunApart runs an argument as shell text of its own.
func (s *Judge) RunApart(a arg, by string) {
	s.Isolated(func() { s.RunText(a.Text, a, by) })
}

// PatchText checks the files that a patch names.
func (s *Judge) PatchText(t text, at arg) { script.Patch(s, t, at) }

// operands judges what is no option.
func (s *Judge) operands(r *table.Row, o word.Options, argv []arg) {
	list := o.Operands
	switch r.Rest {
	case table.WriteButFirst:
		list = list[min(1, len(list)):]
	case table.WriteFirst:
		list = list[:min(1, len(list))]
	}
	switch r.Rest {
	case table.WriteOperands, table.WriteFirst, table.WriteButFirst:
		for _, a := range list {
			s.Operand(a)
			s.fills(a)
		}
	case table.RemoveOperands:
		for _, a := range list {
			s.Check(land.Remove, a)
		}
	case table.WriteLast:
		if n := len(list); n > 1 && (!r.Data || !s.Imaginary(list[n-1].Text)) {
			s.lastWritten(o)
		}
	case table.TextOperands:
		for _, a := range argv[1:] {
			if !strings.ContainsAny(a.Known(), " ;&|") {
				s.Loose(a)
			}
		}
		interprets := func(a arg) bool { return s.Interprets(a.Known()) }
		if i := slices.IndexFunc(argv, interprets); i > 0 { // with what is behind it
			s.Isolated(func() { s.Exec(argv[i:]) })
			list = list[:max(slices.IndexFunc(list, interprets), 0)]
		}
		for _, a := range list {
			runner, name, ok := strings.Cut(a.Known(), ":")
			if ok && word.Listed(" npm pnpm yarn bun deno ", runner) && !strings.ContainsAny(name, " \t\n;&|<>()$`/") {
				continue // a script of the package
			}
			s.RunApart(a, argv[0].Known())
		}
		s.inFront(argv)
	case table.JudgeOperands, table.JudgeOptions:
		for i, a := range argv[1:] {
			option := optionOf(argv, i+1)
			followed := option != "" && (r.Mark("-"+option) != 0 || r.Mark("--"+option) != 0)
			if !followed && (r.Rest == table.JudgeOperands || !isRead(r, option, a)) {
				s.argument(argv, i+1)
			}
		}
		switch {
		case r.Data:
		case r.Rest == table.JudgeOperands:
			s.reads(argv)
		default:
			s.runOperands(argv)
		}
	case table.StandardOperands:
		s.Capture(func() { s.generic(argv) })
	}
}

// isRead says that an argument is an operand, or belongs to an option that
// begins with a name of which the row says that it is read.
func isRead(r *table.Row, option string, a arg) bool {
	if option == "" || !strings.HasPrefix(a.Prefix(), "-") && len(option) < 3 {
		return true
	}
	return slices.ContainsFunc(strings.Fields(r.Reads), func(name string) bool {
		return strings.HasPrefix(option, name) && (len(name) > 1 || !strings.HasPrefix(a.Prefix(), "--"))
	})
}

// lastWritten checks the last operand as a place to be written.
func (s *Judge) lastWritten(o word.Options) {
	n := len(o.Operands)
	last := o.Operands[n-1]
	if host, rest, ok := strings.Cut(last.Known(), ":"); ok && isHere(host) {
		s.CheckFrom(land.Write, last.Hold(word.Lit(rest)), s.Home())
	}
	s.Operand(last)
	for _, a := range o.Operands[:n-1] {
		s.intoDirectory(last, a)
	}
	if strings.HasSuffix(o.Operands[0].Known(), "/") || o.Has("--delete", "--del") {
		s.fills(last)
	}
}

// oldTarStyle gives the first argument of tar its dash and moves values after the letters that take them.
func oldTarStyle(argv []arg) []arg {
	if len(argv) < 2 || argv[1].Prefix() == "" || strings.HasPrefix(argv[1].Prefix(), "-") {
		return argv
	}
	letters, out, rest := argv[1].Prefix(), argv[:1:1], argv[2:]
	for i := range len(letters) {
		out = append(out, argv[1].Hold(word.Lit("-"+letters[i:i+1])))
		if strings.IndexByte("fCTXbHVKNgIFL", letters[i]) >= 0 && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// mounts checks what a container would see of this machine: the source of a
// volume, or of a mount whose fields have names.
func (s *Judge) mounts(a arg) {
	for _, field := range a.Split(",") {
		source := append(field.Split(":"), nil)[0]
		if name, _, named := strings.Cut(source.Prefix(), "="); named && (name == "src" || name == "source") {
			source = source.Cut(len(name) + 1)
		} else if named {
			continue
		}
		where, abs := s.Locate(source, s.Dir(), false)
		switch {
		case !strings.ContainsAny(source.Prefix(), "/.~") && source.First() == word.Literal: // a volume by name
		case where.Writable() || where == land.Unknown && a.Worst() < word.Dynamic:
		case where == land.System && strings.HasSuffix(a.Known(), ":ro") && !strings.Contains(a.Known(), ".sock"):
		case where == land.Unknown:
			s.Deny(verdict.RuleUnknownPath, a, "", "the mount source "+a.String()+" can't be told beforehand", "write it out")
		default:
			s.Deny(verdict.RuleLink, a, abs, "mounting "+verdict.Clip(abs, 200)+" would open a way out of the workspace",
				"mount a directory below "+s.Workspace())
		}
	}
}

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

// described judges a program by what its row says of options and operands.
func (s *Judge) described(r *table.Row, name string, argv []arg) {
	if i := slices.IndexFunc(argv[1:], func(a arg) bool { return word.Listed(r.Ends, a.Known()) }); i >= 0 {
		argv = argv[:i+1]
	}
	valued, long := r.Options()
	o := word.Parse(argv[1:], valued, long...)
	s.follow(r, o, name)
	if r.Waits != "" && !said(r, strings.ReplaceAll(r.Waits, " ", "|"), argv) && !onlyAsks(argv) {
		s.Awaits(argv[0], name)
	}
	if r.Looks == "" || !o.Has(strings.Fields(r.Looks)...) {
		s.operands(r, o, argv)
	}
	if r.Moves != "" && o.Has(strings.Fields(r.Moves)...) {
		for i, a := range o.Operands {
			switch {
			case r.Rest == table.ReadOperands:
				s.Operand(a)
			case (i > 0 || r.Rest != table.WriteFirst) && (i < len(o.Operands)-1 || r.Rest != table.WriteLast):
				s.Check(land.Remove, a)
			}
		}
	}
	silent := r.As == table.ToolRow && (r.Rest == table.RemoveOperands || r.Rest == table.WriteOperands ||
		r.Rest == table.WriteLast)
	if !s.printed(name, argv) && !silent {
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
		if mark == 0 && (r.Rest == table.CommandOperands || r.Rest == table.JoinedOperands) {
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

// Apart runs f as a subshell does.
func (s *Judge) Apart(f func()) { s.Isolated(f) }

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
		}
	case table.RemoveOperands:
		for _, a := range list {
			s.Check(land.Remove, a)
		}
	case table.WriteLast:
		if n := len(list); n > 0 && (!r.Data || !s.Imaginary(list[n-1].Text)) {
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
			s.RunApart(a, argv[0].Known())
		}
		s.inFront(argv)
	case table.JudgeOperands:
		for i := range argv[1:] {
			if option := optionOf(argv, i+1); option == "" || r.Mark("-"+option) == 0 && r.Mark("--"+option) == 0 {
				s.argument(argv, i+1)
			}
		}
		s.reads(argv)
	case table.JudgeOptions:
		s.judgeOptions(r, argv)
	case table.StandardOperands:
		s.Capture(func() { s.generic(argv) })
	}
}

// judgeOptions judges options that don't begin with a name of which the row
// says that it is read.
func (s *Judge) judgeOptions(r *table.Row, argv []arg) {
	for i, a := range argv[1:] {
		option := optionOf(argv, i+1)
		if option == "" || !strings.HasPrefix(a.Prefix(), "-") && len(option) < 3 && r.Mark("-"+option) == 0 {
			continue
		}
		known := false
		for name := range strings.FieldsSeq(r.Reads) {
			known = known || strings.HasPrefix(option, name) && (len(name) > 1 || !strings.HasPrefix(a.Prefix(), "--"))
		}
		if !known {
			s.argument(argv, i+1)
		}
	}
	s.runOperands(argv)
}

// lastWritten checks the last operand as a place to be written.
func (s *Judge) lastWritten(o word.Options) {
	n := len(o.Operands)
	if n < 2 {
		return
	}
	last := o.Operands[n-1]
	if host, rest, ok := strings.Cut(last.Known(), ":"); ok && isHere(host) {
		s.CheckFrom(land.Write, last.Hold(word.Lit(rest)), s.Home())
	}
	if !word.PathLike(last.Text) {
		return
	}
	s.Check(land.Write, last)
	for _, a := range o.Operands[:n-1] {
		s.intoDirectory(last, a)
	}
	if strings.HasSuffix(o.Operands[0].Known(), "/") || o.Has("--delete", "--del") {
		s.fills(last)
	}
}

// byRow judges a program by the row of its uses; false if it says nothing of this one.
func (s *Judge) byRow(name string, argv []arg) bool {
	r := table.Find(name, table.UseRow)
	if r != nil && hasWord(argv, r.Edits) {
		for i, a := range argv[1:] {
			if option := optionOf(argv, i+1); option == "" || strings.Contains(r.Edits+" ", "-"+option+" ") {
				s.guess(a)
			}
		}
	}
	if r == nil || r.Says != "" || !r.Data && r.Reads != "*" && !hasWord(argv, r.Reads) || hasWord(argv, r.Edits) {
		return false
	}
	for i := range argv[1:] {
		option := optionOf(argv, i+1)
		v := argv[i+1].Prefix()
		if option == "" || strings.HasPrefix(v, "-") && !strings.ContainsAny(v, "=/") {
			continue
		}
		if option != "d" && s.namesOutput(option) || strings.Contains(" "+r.Writes+" ", "-"+option+" ") {
			s.argument(argv, i+1)
		}
	}
	s.Print(word.Unknown(word.Dynamic))
	return true
}

package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// What becomes of the value of an option, as the mark behind its name says in a
// row. A single dash before several letters means each of them; a plus before a
// name means one option with a single dash.
const (
	ignored = '=' // it is data, or only read
	judged  = '~' // it is judged as that of any program
	written = '>'
	entered = '@' // a directory in which the program then works
	shellOf = '!' // shell text
	perhaps = '?' // text that may be a command of the shell
	started = '%' // a program
	refused = '#' // the option itself is denied
)

// What operands are, as a row says.
const (
	readOperands     = 0
	writeOperands    = 'w'
	removeOperands   = 'd'
	writeLast        = 'l' // it reads the others
	writeFirst       = '1'
	writeButFirst    = '2'
	judgeOperands    = 'a' // as those of any program
	judgeOptions     = 'o' // operands are read, and options judged as those of any program
	textOperands     = 't' // each is shell text, if it is more than a word
	commandOperands  = 'c' // they are a command
	joinedOperands   = 'j' // they are one when they are joined
	standardOperands = 'g' // all of it is judged as for any program
)

// options are the names in the row's options: the short letters that take a
// value, and the other names.
func (r *row) options() (valued string, long []string) {
	for token := range strings.FieldsSeq(r.opts) {
		name := token[:len(token)-1]
		switch {
		case strings.HasPrefix(name, "--"):
			long = append(long, name)
		case name[0] == '+':
			long = append(long, name[1:])
		default:
			valued += name[1:]
		}
	}
	return valued, long
}

// mark is what the row says of an option; 0 if nothing.
func (r *row) mark(option string) byte {
	for token := range strings.FieldsSeq(r.opts) {
		name := strings.TrimPrefix(token[:len(token)-1], "+")
		if name == option || len(option) == 2 && token[0] == '-' && token[1] != '-' &&
			strings.IndexByte(name[1:], option[1]) >= 0 {
			return token[len(token)-1]
		}
	}
	return 0
}

// described judges a program by what its row says of options and operands.
func (s *Judge) described(r *row, name string, argv []arg) {
	valued, long := r.options()
	o := word.Parse(argv[1:], valued, long...)
	outer := s.Dirs
	s.follow(r, o, name)
	if r.waits != "" && !said(strings.ReplaceAll(r.waits, " ", "|"), argv) && !onlyAsks(argv) {
		s.Awaits(argv[0], name)
	}
	if r.looks == "" || !o.Has(strings.Fields(r.looks)...) {
		s.operands(r, o, argv)
	}
	if r.moves != "" && o.Has(strings.Fields(r.moves)...) {
		for i, a := range o.Operands {
			switch {
			case r.rest == readOperands:
				s.operand(a)
			case (i > 0 || r.rest != writeFirst) && (i < len(o.Operands)-1 || r.rest != writeLast):
				s.Check(land.Remove, a)
			}
		}
	}
	s.Dirs = outer
	silent := r.as == toolRow && (r.rest == removeOperands || r.rest == writeOperands || r.rest == writeLast)
	if !s.printed(name, argv) && !silent {
		s.Print(word.Unknown(word.Dynamic))
	}
}

// follow judges the options that were given.
func (s *Judge) follow(r *row, o word.Options, by string) {
	for _, f := range o.Flags {
		if f.Has && r.mark(f.Name) == entered {
			s.MoveTo(f.Value, false)
		}
	}
	for _, f := range o.Flags {
		mark := r.mark(f.Name)
		if mark == 0 && (r.rest == commandOperands || r.rest == joinedOperands) {
			mark = judged
		}
		if mark == refused {
			s.Deny(verdict.RuleWrite, f.Value, "", f.Name+" lets "+by+" reach outside the workspace", "leave it out")
		}
		if !f.Has {
			continue
		}
		a := f.Value
		switch mark {
		case written:
			s.Check(land.Write, a)
			s.fills(a)
		case judged:
			if !s.usesSystem(f.Name, a) {
				s.Loose(a)
				s.Mentions(a.Text, a)
			}
		case shellOf:
			s.runApart(a, by)
		case perhaps:
			s.Isolated(func() { s.SuspiciousRun(a.Known(), a) })
		case started:
			s.Exec([]arg{a})
			s.Suspicious(a)
		}
	}
}

// runApart runs an argument as shell text of its own.
func (s *Judge) runApart(a arg, by string) {
	s.Isolated(func() { s.RunText(a.Text, a, by) })
}

// operands judges what is no option.
func (s *Judge) operands(r *row, o word.Options, argv []arg) {
	list := o.Operands
	switch r.rest {
	case writeButFirst:
		list = list[min(1, len(list)):]
	case writeFirst:
		list = list[:min(1, len(list))]
	}
	switch r.rest {
	case writeOperands, writeFirst, writeButFirst:
		for _, a := range list {
			s.operand(a)
		}
	case removeOperands:
		for _, a := range list {
			s.Check(land.Remove, a)
		}
	case writeLast:
		s.lastWritten(o)
	case textOperands:
		for _, a := range argv[1:] {
			if strings.HasPrefix(a.Prefix(), "-") {
				s.Loose(a)
			}
		}
		for _, a := range list {
			s.runApart(a, argv[0].Known())
		}
	case judgeOperands:
		for i := range argv[1:] {
			if r.mark("-"+optionOf(argv, i+1)) == 0 && r.mark("--"+optionOf(argv, i+1)) == 0 {
				s.argument(argv, i+1)
			}
		}
		s.reads(argv)
	case judgeOptions:
		s.judgeOptions(r, argv)
	case standardOperands:
		s.Capture(func() { s.generic(argv) })
	}
}

// judgeOptions judges options that don't begin with a name of which the row
// says that it is read.
func (s *Judge) judgeOptions(r *row, argv []arg) {
	for i, a := range argv[1:] {
		option := optionOf(argv, i+1)
		if option == "" || !strings.HasPrefix(a.Prefix(), "-") && len(option) < 3 && r.mark("-"+option) == 0 {
			continue
		}
		known := false
		for name := range strings.FieldsSeq(r.reads) {
			known = known || strings.HasPrefix(option, name)
		}
		if !known {
			s.Loose(a)
			s.Mentions(a.Text, a)
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
	if !pathLike(last.Text) {
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

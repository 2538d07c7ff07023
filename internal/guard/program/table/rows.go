// Package table is what the guard knows of programs, as data.
package table

import (
	"cmp"
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// rowKind is what a row tells of a program. A program may have one of each.
type rowKind uint8

// The kinds of rows.
const (
	ToolRow     rowKind = iota // its arguments are understood by code of their own
	LauncherRow                // it runs commands in a way of its own
	WrapperRow                 // it runs the command behind it
	languageRow                // it runs program text
	ReaderRow                  // it reads its operands, whatever its options
	UseRow                     // it reads its operands in some of its uses
	SystemRow                  // it alters the machine, or settings in the home
)

// Row is what is known of a program. A program without a row may do anything
// with a path that it is given.
type Row struct {
	As    rowKind
	names string // with a blank before and after each
	does  string // in words, after "it", if it is not what such rows usually say
	lang  string
	// opts are the options with a value, each with the mark of what becomes of
	// it, and rest is what operands are.
	opts string
	Rest byte
	// waits says that it takes commands from a terminal, unless one of these
	// options is given.
	Waits string
	// looks are options with which operands are only read, and moves those with
	// which what is read is removed.
	Looks, Moves string
	// A command may come after one of the words of sub, behind skip operands,
	// and with vars after variables that are set for it.
	Sub  string
	Skip int
	Vars bool
	// early says that the options before sub count whatever comes behind them.
	Early bool
	// ends are words behind which nothing is judged.
	Ends string
	// alters are the phrases with which it alters what denial says, unless one
	// of spared is said too.
	Alters, Spared string
	Denial         byte
	// reads says when operands are only read: "*" for always, or the words of
	// which one has to be given.
	Reads string
	// edits are the options with which operands are written after all.
	Edits string
	// writes are options whose value is written, beside those whose name says so.
	Writes string
	// says are options whose value is a name or a pattern, without their dashes.
	Says string
	// data says that arguments and input are passed on as they are.
	Data bool
}

// Find finds the row of a kind that a program has.
func Find(name string, as rowKind) *Row {
	for i := range rows {
		if r := &rows[i]; r.As == as && r.has(name) {
			return r
		}
	}
	return nil
}

// has says whether name is one of the row's.
func (r *Row) has(name string) bool { return word.Listed(r.names, name) }

// Family is the first of a row's names.
func (r *Row) Family() string {
	name, _, _ := strings.Cut(r.names[1:], " ")
	return name
}

// ReadsOnly says that a program's operands are only read or are no paths.
func ReadsOnly(name string) bool { return Find(name, ReaderRow) != nil }

// InterpreterOf returns the language that a program of this name runs, or "".
func InterpreterOf(name string) string {
	if r := Find(strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.-"), languageRow); r != nil {
		return r.lang
	}
	return ""
}

// NamesOnly says that the row of a program has an option for names and patterns.
func NamesOnly(prog, option string) bool {
	r := Find(prog, UseRow)
	return r != nil && strings.Contains(" "+r.Says+" ", " "+option+" ")
}

// Explain tells in words what the guard knows of a program.
func Explain(name string) string {
	var b strings.Builder
	for i := range rows {
		plain := name
		if rows[i].As == languageRow {
			plain = strings.TrimRight(name, "0123456789.-")
		}
		if rows[i].has(plain) {
			b.WriteString(name + " " + rows[i].inWords() + "\n")
		}
	}
	if b.Len() == 0 {
		return name + " has no row: a path outside the workspace is denied in its arguments, its input and the variables " +
			"set for it\n"
	}
	return b.String()
}

// usually is what rows of its kind do.
func (r *Row) usually() string {
	switch {
	case r.As == WrapperRow:
		return "runs the command behind it"
	case r.As == languageRow:
		return "runs program text, whose strings are followed to the calls that get them"
	case r.As == SystemRow:
		return "may not keep settings in the home"
	case r.Says != "":
		return "runs the tests of the workspace"
	case r.Data:
		return "talks to a service: arguments are of use there"
	case r.Reads != "" && r.Reads != "*":
		return "reads its operands if it is told to look only"
	}
	return "reads its operands"
}

// inWords is the row as a clause.
func (r *Row) inWords() string {
	s := cmp.Or(r.does, r.usually())
	if r.Reads != "" && r.Rest == JudgeOptions {
		s += ": -" + strings.ReplaceAll(r.Reads, " ", " -")
	} else if r.Reads != "" && r.Reads != "*" {
		s += ": one of " + r.Reads
	}
	if r.Edits != "" {
		s += "; writes them with " + r.Edits
	}
	if r.Says != "" {
		s += "; -" + strings.ReplaceAll(r.Says, " ", " --") + " only names something"
	}
	if r.Writes != "" {
		s += "; writes what is named by " + r.Writes
	}
	for _, m := range [...]struct {
		mark  byte
		words string
	}{{Entered, "enters the directory of"}, {ShellOf, "runs the text of"}, {Perhaps, "may run"}, {Started, "starts"},
		{Written, "writes what is named by"}, {Refused, "may not be given"}} {
		if names := r.marked(m.mark); names != "" {
			s += "; " + m.words + names
		}
	}
	if r.Looks != "" {
		s += "; only reads with " + r.Looks
	}
	if r.Moves != "" {
		s += "; removes what it reads with " + r.Moves
	}
	if r.Vars {
		s += "; takes variables before it"
	}
	if r.Ends != "" {
		s += "; not judged behind " + strings.TrimSpace(r.Ends)
	}
	if r.Sub != "" {
		s += "; only after " + strings.ReplaceAll(r.Sub, " ", " or ")
	}
	if r.Alters != "" && r.Alters != Always && r.Alters != anything {
		s += ": " + strings.ReplaceAll(r.Alters, "|", ", ")
	}
	if r.Spared != "" {
		s += "; not with " + strings.ReplaceAll(r.Spared, "|", ", ")
	}
	return s
}

// marked lists the options that have a mark.
func (r *Row) marked(mark byte) (names string) {
	for token := range strings.FieldsSeq(r.opts) {
		if token[len(token)-1] == mark {
			name := token[:len(token)-1]
			if name[0] == '-' && name[1] != '-' {
				name = "-" + strings.Join(strings.Split(name[1:], ""), " -")
			}
			names += " " + strings.TrimPrefix(name, "+")
		}
	}
	return names
}

// What becomes of the value of an option, as the mark behind its name says in a
// row. A single dash before several letters means each of them; a plus before a
// name means one option with a single dash.
const (
	ignored = '=' // it is data, or only read
	Judged  = '~' // it is judged as that of any program
	Written = '>'
	Entered = '@' // a directory in which the program then works
	ShellOf = '!' // shell text
	Perhaps = '?' // text that may be a command of the shell
	Started = '%' // a program
	Refused = '#' // the option itself is denied
)

// What operands are, as a row says.
const (
	ReadOperands     = 0
	WriteOperands    = 'w'
	RemoveOperands   = 'd'
	WriteLast        = 'l' // it reads the others
	WriteFirst       = '1'
	WriteButFirst    = '2'
	JudgeOperands    = 'a' // as those of any program
	JudgeOptions     = 'o' // operands are read, and options judged as those of any program
	TextOperands     = 't' // each is shell text, if it is more than a word
	CommandOperands  = 'c' // they are a command
	JoinedOperands   = 'j' // they are one when they are joined
	StandardOperands = 'g' // all of it is judged as for any program
)

// Options are the names in the row's options: the short letters that take a
// value, and the other names.
func (r *Row) Options() (valued string, long []string) {
	if r.opts != "" {
		long = make([]string, 0, strings.Count(r.opts, " ")+1)
	}
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

// Mark is what the row says of an option; 0 if nothing.
func (r *Row) Mark(option string) byte {
	for token := range strings.FieldsSeq(r.opts) {
		name := strings.TrimPrefix(token[:len(token)-1], "+")
		if name == option || len(option) == 2 && token[0] == '-' && token[1] != '-' &&
			strings.IndexByte(name[1:], option[1]) >= 0 {
			return token[len(token)-1]
		}
	}
	return 0
}

// Phrases that are always said, and that any operand says.
const (
	Always   = "-"
	anything = "*"
)

// What a program alters that is not the workspace's.
const (
	TheMachine   = 'S'
	TheWorkspace = 'M' // what it is made of
	TheHome      = 'H' // settings in it
)

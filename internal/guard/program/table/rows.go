// Package table is what the guard knows of programs, as data.
package table

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// Kind is what a row tells of a program. A program may have one of each.
type Kind uint8

// The kinds of rows.
const (
	ToolRow     Kind = iota // its arguments are understood by code of their own
	WrapperRow              // it runs the command behind it
	languageRow             // it runs program text
	ReaderRow               // it reads its operands, whatever its options
	UseRow                  // it reads its operands, and options that speak of output are judged
	SystemRow               // it alters the machine, or settings in the home
)

// Row is what is known of a program. A program without a row may do anything with a path that it is given.
type Row struct {
	As    Kind
	names string // with a blank before and after each
	// when are the phrases of which one has to be said for the row to count; behind an exclamation mark, none may be.
	when string
	does string // in words, after "it", if it is not what such rows usually say
	// opts are the options with a value, each with the mark of what becomes of it, and rest is what operands are.
	opts string
	Rest byte
	// lang is the language of the text that it runs, and last are short options
	// behind which everything is the program's.
	Lang, Last string
	// waits says that it takes commands from a terminal, unless one of these options is given.
	Waits string
	// looks are options with which operands are only read, and moves phrases with
	// which what is read is written or removed.
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
	// alters are the phrases with which it alters what denial says, unless one of spared is said too.
	Alters, Spared string
	Denial         byte
	// reads are the options that only name a place to look in, without their dashes.
	Reads string
	// data says that arguments and input are passed on as they are.
	Data bool
}

// Find finds the row of a kind that a program has.
func Find(name string, as Kind) *Row {
	for i := range rows {
		if r := &rows[i]; r.As == as && r.has(name) {
			return r
		}
	}
	return nil
}

// Uses are the rows of a kind that count for these words of a program.
func Uses(name string, as Kind, argv []word.Arg) (list []*Row) {
	for i := range rows {
		r := &rows[i]
		if r.As != as || !r.has(name) {
			continue
		}
		if phrases, none := strings.CutPrefix(r.when, "!"); r.when == "" || r.Said(phrases, argv) != none {
			list = append(list, r)
		}
	}
	return list
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

// Interpreter is the row of a program that runs program text, or nil.
func Interpreter(name string) *Row {
	return Find(strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.-"), languageRow)
}

// Altering is the row that says that a program's words alter something which is not the workspace's, or nil.
func Altering(name string, argv []word.Arg) *Row {
	for _, r := range Uses(name, SystemRow, argv) {
		if r.Alters != "" && r.Said(r.Alters, argv) && (r.Spared == "" || !r.Said(r.Spared, argv)) {
			return r
		}
	}
	return nil
}

// Subcommand is the row that says what the options of a subcommand of git are.
func Subcommand(name string) *Row {
	if r := Find("git-"+name, SystemRow); r != nil && r.opts != "" {
		return r
	}
	return Find("git-log", SystemRow)
}

// Said says whether one of phrases, divided by bars, is what the arguments say: its options are among them, and its
// other words are the first operands. A star ends a word of which only the beginning counts.
func (r *Row) Said(phrases string, argv []word.Arg) bool {
	valued, long := r.Options()
	o := word.Parse(argv[1:], valued, long...)
	for phrase := range strings.SplitSeq(phrases, "|") {
		i, all := 0, true
		for w := range strings.FieldsSeq(phrase) {
			switch {
			case w == Always:
			case w == "=":
				all = all && strings.Contains(word.Cover(argv).Known(), "=")
			case strings.HasPrefix(w, "--") && strings.Contains(w, "="):
				name, value, _ := strings.Cut(w, "=")
				all = all && slices.ContainsFunc(o.Values(name), func(a word.Arg) bool { return matches(a, value) })
			case strings.HasPrefix(w, "-"):
				all = all && (o.Has(w) || slices.ContainsFunc(argv[1:], func(a word.Arg) bool { return a.Is(w) }))
			default:
				all = all && i < len(o.Operands) && matches(o.Operands[i], w)
				i++
			}
		}
		if all {
			return true
		}
	}
	return false
}

// matches says whether an argument is the word of a phrase.
func matches(a word.Arg, w string) bool {
	begin, open := strings.CutSuffix(w, "*")
	return a.Known() == w || open && strings.HasPrefix(a.Known(), begin)
}

// InterpreterOf returns the language that a program of this name runs, or "".
func InterpreterOf(name string) string {
	if r := Interpreter(name); r != nil {
		return r.Lang
	}
	return ""
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

// usually is what rows of a kind do.
var usually = [...]string{
	ToolRow:     "reads its operands",
	WrapperRow:  "runs the command behind it",
	languageRow: "runs program text, whose strings are followed to the calls that get them",
	ReaderRow:   "reads its operands",
	UseRow:      "reads its operands",
	SystemRow:   "may not keep settings in the home",
}

// inWords is the row as a clause.
func (r *Row) inWords() string {
	commas := func(phrases string) string { return strings.ReplaceAll(phrases, "|", ", ") }
	only, negated := strings.CutPrefix(r.when, "!")
	clauses := [...]struct{ words, names string }{
		{"; but not to ", commas(given(only, negated))},
		{"; with ", commas(given(only, !negated))},
		{": -", strings.ReplaceAll(r.Reads, " ", " -")},
		{"; enters the directory of", r.marked(Entered)},
		{"; runs the text of", r.marked(ShellOf)},
		{"; first runs", r.marked(Loaded)},
		{"; may run", r.marked(Perhaps)},
		{"; starts", r.marked(Started)},
		{"; writes what is named by", r.marked(Written)},
		{"; may not be given", r.marked(Refused)},
		{"; obeys the settings of", r.marked(Setting)},
		{"; sees what is mounted by", r.marked(Mounted)},
		{"; only reads with ", r.Looks},
		{"; writes or removes what it reads with ", commas(r.Moves)},
		{"; takes variables ", given("before it", r.Vars)},
		{"; not judged behind ", strings.TrimSpace(r.Ends)},
		{"; only after ", strings.ReplaceAll(r.Sub, " ", " or ")},
		{": ", commas(given(r.Alters, r.Alters != Always && r.Alters != anything))},
		{"; not with ", commas(r.Spared)},
	}
	s := cmp.Or(r.does, usually[r.As])
	for _, c := range clauses {
		if c.names != "" {
			s += c.words + c.names
		}
	}
	return s
}

// given is s if it is to be said.
func given(s string, say bool) string {
	if !say {
		return ""
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

// What becomes of the value of an option, as the mark behind its name says in a row. A single dash before several
// letters means each of them; a plus before a name means one option with a single dash.
const (
	ignored = '=' // it is data, or only read
	Judged  = '~' // it is judged as that of any program
	Written = '>'
	Entered = '@' // a directory in which the program then works
	ShellOf = '!' // text in the language that it runs, which is the shell's if it is no interpreter
	Loaded  = '<' // a file that it runs first
	Perhaps = '?' // text that may be a command of the shell
	Started = '%' // a program
	Refused = '#' // the option itself is denied
	Setting = '&' // a setting of git
	Mounted = '^' // a directory that a container sees
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
	JoinedOperands   = 'j' // they are a command when they are joined
	StandardOperands = 'g' // all of it is judged as for any program
)

// Options are the names in the row's options: the short letters that take a value, and the other names.
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
	TheHooks     = 'K' // of the repository, which a linked worktree shares
	// What a linked worktree shares with its host.
	TheRefs       = 'R'
	TheSettings   = 'C'
	TheRepository = 'G'
	OtherOnes     = 'O' // other repositories, or the schedule of the machine
)

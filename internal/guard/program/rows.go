package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// rowKind is what a row tells of a program. A program may have one of each.
type rowKind uint8

const (
	toolRow     rowKind = iota // its arguments are understood by code of their own
	launcherRow                // it runs commands in a way of its own
	wrapperRow                 // it runs the command behind it
	languageRow                // it runs program text
	readerRow                  // it reads its operands, whatever its options
	useRow                     // it reads its operands in some of its uses
	systemRow                  // it alters the machine, or settings in the home
)

// row is what is known of a program. A program without a row may do anything
// with a path that it is given.
type row struct {
	as    rowKind
	names string // with a blank before and after each
	does  string // in words, after "it"
	lang  string
	// opts are the options with a value, each with the mark of what becomes of
	// it, and rest is what operands are.
	opts string
	rest byte
	// waits says that it takes commands from a terminal, unless one of these
	// options is given.
	waits string
	// looks are options with which operands are only read, and moves those with
	// which what is read is removed.
	looks, moves string
	// A command may come after one of the words of sub, behind skip operands,
	// and with vars after variables that are set for it.
	sub  string
	skip int
	vars bool
	// alters are the phrases with which it alters what denial says, unless one
	// of spared is said too.
	alters, spared string
	denial         byte
	// reads says when operands are only read: "*" for always, or the words of
	// which one has to be given.
	reads string
	// edits are the options with which operands are written after all.
	edits string
	// writes are options whose value is written, beside those whose name says so.
	writes string
	// says are options whose value is a name or a pattern, without their dashes.
	says string
	// data says that arguments and input are passed on as they are.
	data bool
}

// rowFor finds the row of a kind that a program has. Nothing is allocated: the
// hook pays for every piece of memory anew.
func rowFor(name string, as rowKind) *row {
	if name == "" || strings.IndexByte(name, ' ') >= 0 {
		return nil
	}
	for i := range rows {
		if r := &rows[i]; r.as == as && r.has(name) {
			return r
		}
	}
	return nil
}

// has says whether name is one of the row's.
func (r *row) has(name string) bool {
	for names := r.names; ; {
		i := strings.Index(names, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || names[i-1] == ' ') && names[end] == ' ' {
			return true
		}
		names = names[end:]
		names = names[strings.IndexByte(names, ' ')+1:] // each name has a blank behind it
	}
}

// family is the first of a row's names.
func (r *row) family() string {
	name, _, _ := strings.Cut(r.names[1:], " ")
	return name
}

// readsOnly says that a program's operands are only read or are no paths.
func readsOnly(name string) bool { return rowFor(name, readerRow) != nil }

// interpreterOf returns the language that a program of this name runs, or "".
func interpreterOf(name string) string {
	if r := rowFor(strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.-"), languageRow); r != nil {
		return r.lang
	}
	return ""
}

// namesOnly says that the row of a program has an option for names and patterns.
func namesOnly(prog, option string) bool {
	r := rowFor(prog, useRow)
	return r != nil && strings.Contains(" "+r.says+" ", " "+option+" ")
}

// hasWord says whether one of words, which are divided by blanks, is an argument.
func hasWord(argv []arg, words string) bool {
	for _, a := range argv[1:] {
		v, _, _ := strings.Cut(a.Prefix(), "=")
		for _, w := range strings.Fields(words) {
			if v == w {
				return true
			}
		}
	}
	return false
}

// byRow judges a program by the row of its uses; false if it says nothing of this one.
func (s *Judge) byRow(name string, argv []arg) bool {
	r := rowFor(name, useRow)
	if r == nil || r.says != "" || !r.data && (r.reads != "*" && !hasWord(argv, r.reads) || hasWord(argv, r.edits)) {
		return false
	}
	for i := range argv[1:] {
		option := optionOf(argv, i+1)
		v := argv[i+1].Prefix()
		if option == "" || strings.HasPrefix(v, "-") && !strings.ContainsAny(v, "=/") {
			continue
		}
		if option != "d" && s.namesOutput(option) || strings.Contains(" "+r.writes+" ", "-"+option+" ") {
			s.argument(argv, i+1)
		}
	}
	s.Print(word.Unknown(word.Dynamic))
	return true
}

// List is the list of programs that the guard knows, as the documentation has it.
func List() string {
	var b strings.Builder
	b.WriteString("| programs | what they do |\n|---|---|\n")
	for i := range rows {
		b.WriteString("| `" + strings.Join(strings.Fields(rows[i].names), "`, `") + "` | " + rows[i].inWords() + " |\n")
	}
	return b.String()
}

// Explain tells in words what the guard knows of a program.
func Explain(name string) string {
	var b strings.Builder
	for i := range rows {
		plain := name
		if rows[i].as == languageRow {
			plain = strings.TrimRight(name, "0123456789.-")
		}
		if plain != "" && strings.IndexByte(plain, ' ') < 0 && rows[i].has(plain) {
			b.WriteString(name + " " + rows[i].inWords() + "\n")
		}
	}
	if b.Len() == 0 {
		return name + " has no row: a path outside the workspace is denied in its arguments, its input and the variables " +
			"set for it\n"
	}
	return b.String()
}

// inWords is the row as a clause.
func (r *row) inWords() string {
	s := r.does
	if r.reads != "" && r.rest == judgeOptions {
		s += ": -" + strings.ReplaceAll(r.reads, " ", " -")
	} else if r.reads != "" && r.reads != "*" {
		s += ": one of " + r.reads
	}
	if r.edits != "" {
		s += "; writes them with " + r.edits
	}
	if r.says != "" {
		s += "; -" + strings.ReplaceAll(r.says, " ", " --") + " only names something"
	}
	if r.writes != "" {
		s += "; writes what is named by " + r.writes
	}
	for _, m := range [...]struct {
		mark  byte
		words string
	}{{entered, "enters the directory of"}, {shellOf, "runs the text of"}, {perhaps, "may run"}, {started, "starts"},
		{written, "writes what is named by"}, {refused, "may not be given"}} {
		if names := r.marked(m.mark); names != "" {
			s += "; " + m.words + names
		}
	}
	if r.looks != "" {
		s += "; only reads with " + r.looks
	}
	if r.moves != "" {
		s += "; removes what it reads with " + r.moves
	}
	if r.vars {
		s += "; takes variables before it"
	}
	if r.sub != "" {
		s += "; only after " + strings.ReplaceAll(r.sub, " ", " or ")
	}
	if r.alters != "" && r.alters != always && r.alters != anything {
		s += ": " + strings.ReplaceAll(r.alters, "|", ", ")
	}
	if r.spared != "" {
		s += "; not with " + strings.ReplaceAll(r.spared, "|", ", ")
	}
	return s
}

// marked lists the options that have a mark.
func (r *row) marked(mark byte) (names string) {
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

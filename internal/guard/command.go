package guard

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/paths"
)

// run judges a command by its words, and by what the command itself says of its standard input.
func (w *walker) run(argv []arg, stdin string) {
	w.step(len(argv))
	name := w.name(argv[0].text)
	switch args := argv[1:]; {
	case w.funcs[name]: // what it does was walked where it was written
		w.words(name, args)
	case listed("cd chdir pushd popd", name):
		w.enter(argv)
	case name == "eval":
		text := arg{start: argv[0].start, end: argv[len(argv)-1].end}
		for _, a := range args {
			text.text += a.text + " "
		}
		w.nested(text)
	case name == "trap" && len(args) > 1 && args[0].text != "-":
		w.subshell(func() { w.nested(args[0]) })
	case listed("unset read mapfile readarray", name):
		for _, a := range args {
			w.vars[a.text] = hole
		}
	case (name == "source" || name == ".") && len(args) > 0 && args[0].text == "/dev/stdin":
		w.nested(arg{stdin, args[0].start, args[0].end})
	case listed(shells, name):
		w.shell(argv, stdin)
	case name == "git":
		w.git(argv)
	case w.isDeputy(argv, name):
	case listed(wrappers, name):
		w.wrapper(argv, stdin)
	case !only(name, args):
		w.other(name, argv, stdin)
	case strings.HasSuffix(name, "awk"): // its program may write
		for _, a := range args {
			if strings.Contains(a.text, "{") {
				w.word(name, a)
			}
		}
	}
}

// name is what a program is known by. One of the workspace is none of the known ones, whatever it is called.
func (w *walker) name(word string) string {
	if strings.Contains(word, "/") && word[0] != '@' && w.placeOf(word) == inside {
		return word
	}
	return base(word)
}

// base is a program's name, without the version that npx and its like take behind it.
func base(word string) string {
	name := path.Base(word)
	if i := strings.IndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	return name
}

// enter follows a change of directory.
func (w *walker) enter(argv []arg) {
	to := arg{w.policy.Home, argv[0].start, argv[0].end}
	if listed("pushd popd", argv[0].text) {
		to.text = "-"
	}
	for _, a := range argv[1:] {
		if a.text == "-" || !strings.HasPrefix(a.text, "-") {
			to = a
		}
	}
	switch {
	case to.text == "-":
		w.moveTo(strings.TrimPrefix(w.value("OLDPWD"), hole))
	case w.unknown(to.text):
		w.moveTo("")
	default:
		// A shell takes .. away by name first, and the kernel follows links first: both must stay inside.
		for _, name := range []string{paths.From(w.dir, to.text), w.at(to.text)} {
			if abs := w.land.resolve(name); w.land.place(abs) < protected {
				w.deny(RuleDirectory, to, abs, "cd to "+clip(abs, 200)+" leaves the workspace", w.below())
			}
		}
		w.moveTo(paths.From(w.dir, to.text))
	}
}

func (w *walker) moveTo(dir string) {
	w.vars["OLDPWD"], w.vars["PWD"] = w.dir, dir
	w.dir = dir
}

// shell walks the text that a shell is given, as a word or as its input.
func (w *walker) shell(argv []arg, stdin string) {
	name := base(argv[0].text)
	for i, a := range argv[1:] {
		option := strings.TrimLeft(a.text[:min(1, len(a.text))], "-+") == "" && a.text != "--"
		switch {
		case option && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "c") && i+2 < len(argv):
			w.subshell(func() { w.nested(argv[i+2]) })
			w.words(name, argv[i+3:])
			return
		case !option && !strings.HasSuffix(argv[i].text, "o"): // as in -o pipefail
			w.here(argv[0])
			w.words(name, argv[i+1:])
			return
		}
	}
	w.subshell(func() { w.nested(arg{stdin, argv[0].start, argv[0].end}) })
}

// isDeputy denies programs that have somebody else act, unless they only tell something.
func (w *walker) isDeputy(argv []arg, name string) bool {
	row, found := findDeputy(name)
	agent := roster.IsProgram(name)
	tells := len(argv) > 1 && listed("--version --help -h -V version help "+row.reads, argv[1].text)
	if i := slices.IndexFunc(argv[1:], func(a arg) bool { return !strings.HasPrefix(a.text, "-") }); i >= 0 {
		tells = tells || listed(row.reads, argv[i+1].text)
	}
	switch {
	case name == "ssh" && slices.ContainsFunc(argv, isLocal):
		w.deny(RuleDeputy, argv[0], "", "ssh to this machine acts outside of this session", "run the command directly")
	case !found && !agent:
		return false
	case tells:
	case agent:
		w.deny(RuleAgent, argv[0], "", name+" is another agent, which this guard is not around", "do the work yourself")
	default:
		w.deny(RuleDeputy, argv[0], "", name+" "+row.act, row.instead)
	}
	return true
}

func isLocal(a arg) bool {
	return listed("localhost 127.0.0.1 ::1 0.0.0.0", a.text[strings.LastIndexByte(a.text, '@')+1:])
}

// wrapper finds the command that another one runs: the first word that can be one. What stands before it is judged like
// any word, and so is all of it if there is none.
func (w *walker) wrapper(argv []arg, stdin string) {
	name := base(argv[0].text)
	if name == "command" && told(argv[1:min(2, len(argv))], "-v -V") {
		return
	}
	var before []arg
	for i, a := range argv[1:] {
		variable, value, assigned := strings.Cut(a.text, "=")
		switch {
		case assigned && syntax.ValidName(variable):
			w.variable(variable, arg{value, a.start, a.end})
			continue
		case a.text == "" || strings.IndexByte("-0123456789", a.text[0]) >= 0:
		case strings.ContainsAny(strings.TrimSpace(a.text), " \t\n"):
			w.subshell(func() { w.nested(a) })
			w.words(name, argv[i+2:])
			return
		case known(base(a.text)) || !strings.HasPrefix(argv[i].text, "-"):
			w.words(name, before)
			w.run(argv[i+1:], stdin)
			return
		}
		before = append(before, a)
	}
	w.words(name, before)
}

// known says that a name is a program of which there is something to say.
func known(name string) bool {
	_, found := findDeputy(name)
	return found || only(name, nil) || roster.IsProgram(name) || listed("git "+shells, name) ||
		listed(wrappers, name) || listed(writers, name) || isInterpreter(name)
}

func isInterpreter(name string) bool {
	return listed(interpreters, strings.TrimRight(name, "0123456789."))
}

// other judges a command that is not known to only read.
func (w *walker) other(name string, argv []arg, stdin string) {
	w.here(argv[0])
	args := argv[1:]
	switch name {
	case "cp", "rsync":
		args = targets(args)
	case "sed", "gsed":
		args = edited(args)
	}
	w.words(name, args)
	if isInterpreter(name) {
		w.word(name, arg{stdin + " ", argv[0].start, argv[0].end})
	}
}

// here denies a command that would run outside.
func (w *walker) here(at arg) {
	if w.dir != "" && w.placeOf(".") < protected {
		w.deny(RuleDirectory, at, w.dir, clip(at.text, 80)+" would run in "+clip(w.dir, 200)+", outside the workspace",
			"run it in "+w.land.own[0])
	}
}

// targets leaves out what a plain copy only reads.
func targets(args []arg) []arg {
	for _, a := range args {
		if strings.HasPrefix(a.text, "-") && strings.Trim(a.text, "-rRapvfnuLHPTidz") != "" && a.text != "--archive" {
			return args
		}
	}
	return args[max(0, len(args)-1):]
}

// edited leaves out sed's program, which stands behind -e or is the first word that is no option.
func edited(args []arg) (rest []arg) {
	programmed := told(args, "-e -f --expression --file")
	for i, a := range args {
		option := strings.HasPrefix(a.text, "-")
		switch {
		case !option && i > 0 && strings.HasPrefix(args[i-1].text, "-") && strings.HasSuffix(args[i-1].text, "e"):
		case !option && !programmed:
			programmed = true
		default:
			rest = append(rest, a)
		}
	}
	return rest
}

// git judges the paths that git is given. Those before the subcommand aim it somewhere, also if that only reads.
func (w *walker) git(argv []arg) {
	defer func(dir string) { w.dir = dir }(w.dir)
	i := 1
	for ; i < len(argv); i++ {
		takes := listed("-C -c --git-dir --work-tree --namespace --config-env", argv[i-1].text)
		if !takes && !strings.HasPrefix(argv[i].text, "-") {
			break
		}
		if w.word("git -C", argv[i]); argv[i-1].text != "-C" {
			continue
		}
		if w.dir = paths.From(w.dir, argv[i].text); w.unknown(argv[i].text) {
			w.dir = ""
		}
	}
	if w.here(argv[0]); i == len(argv) {
		return
	}
	sub, args := argv[i].text, argv[i+1:]
	if listed(gitReaders, sub) && !told(args, "--output -O --open-files-in-pager --no-index") {
		return
	}
	if w.words("git", args); listed("rm mv checkout restore", sub) {
		w.words("git "+sub, args)
	}
}

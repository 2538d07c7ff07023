package program

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// printed says what a program prints, for those whose output is used as a path or a command; false leaves it unknown.
func (s *Judge) printed(name string, argv []arg) bool {
	args := argv[1:]
	switch name {
	case "dirname":
		s.Print(mapped(word.Parse(args, "").Operands, path.Dir))
	case "realpath", "readlink":
		s.Print(s.realpath(name, args))
	case "mktemp":
		s.Print(s.mktemp(args))
	case "which", "whereis", "type":
		s.Print(s.WhichOutput(args))
	case "ssh-agent", "dircolors", "lesspipe", "opam", "fnm", "starship", "zoxide", "luarocks", "minikube", "thefuck",
		"keychain",
		"date", "nproc", "uname", "arch", "whoami", "id", "hostname", "seq", "wc", "tty", "logname", "groups",
		"basename", "uuidgen", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "stat", "expr", "bc", "tput",
		"getconf", "shuf":
		s.Print(word.Unknown(word.Token))
	case "go", "npm", "pnpm", "yarn":
		switch {
		case name == "go" && hasWord(argv, "env"):
			s.Print(word.Unknown(word.Token))
		case name != "go" && hasWord(argv, "bin"):
			s.Print(word.Lit(s.Dir() + "/node_modules/.bin\n"))
		default:
			return false
		}
	case "pgrep", "pidof":
		s.Print(word.JoinArgs(args).Plus("\n")) // stands for the processes of that name
	case "cat":
		s.Print(s.cat(args))
	case "tac", "tee", "sponge", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "nl":
		return s.filtered(name, args)
	case "cut":
		if v := word.Cover(args).Known(); strings.Contains(v, "-d/") || strings.Contains(v, "-d /") {
			return false // parts of paths
		}
		s.Print(s.reshaped(nil, args))
	case "ls", "find", "fd", "fdfind", "rg":
		return s.listed(name, args)
	case "base64", "base32", "basenc", "xxd", "rev", "openssl", "uudecode", "od", "tr", "gzip", "gunzip", "zcat",
		"bzcat", "xzcat", "zstdcat", "bzip2", "xz", "zstd", "gpg", "ascii2uni", "dd", "perl", "python", "awk", "gawk", "mawk",
		"node", "ruby", "php", "lua":
		s.Print(word.Unknown(s.decoded(name)))
	default:
		return false
	}
	return true
}

// decoded is the kind of what a decoder prints; from data that was never known it is no worse than that data.
func (s *Judge) decoded(name string) word.Kind {
	switch in := s.Stdin; {
	case in == nil && name != "base64" && !strings.HasSuffix(name, "cat"):
		return word.Dynamic
	case in != nil && len(in.Text) > 0 && in.Text.First() != word.Literal:
		return max(word.Dynamic, in.Text.Worst())
	}
	return word.Hidden
}

// mapped prints what f makes of each operand.
func mapped(operands []arg, f func(string) string) (out text) {
	for _, a := range operands {
		v, ok := a.Literal()
		if !ok {
			return word.Unknown(max(word.Environ, a.Worst()))
		}
		out = out.Plus(f(v) + "\n")
	}
	return out
}

func (s *Judge) realpath(name string, args []arg) text {
	o := word.Parse(args, "", "--relative-to", "--relative-base")
	if o.Has("--relative-to") || name == "readlink" && !o.Has("-f", "-e", "-m", "--canonicalize") {
		return word.Unknown(word.Dynamic)
	}
	return mapped(o.Operands, s.Absolute)
}

// mktemp makes files in a scratch root, or where it is told to.
func (s *Judge) mktemp(args []arg) text {
	o := word.Parse(args, "p", "--tmpdir", "--suffix")
	t := word.Lit(slices.Concat(s.Policy.Scratch, []string{"/tmp"})[0] + "/tmp.guarded")
	if v, ok := s.Vars["TMPDIR"]; ok && len(v.Alts) > 0 {
		t = v.Alts[0].Plus("/tmp.guarded")
	}
	if vs := o.Values("-p", "--tmpdir"); len(vs) > 0 {
		t = vs[0].Plus("/tmp.guarded")
	} else if len(o.Operands) > 0 && !o.Has("-t", "--tmpdir") {
		t = o.Operands[0].Text
	}
	s.Check(land.Write, arg{Text: t})
	return t.Plus("\n")
}

// cat prints its operands or its input.
func (s *Judge) cat(args []arg) (out text) {
	operands := word.Parse(args, "").Operands
	if len(operands) == 0 {
		operands = []arg{{Text: word.Lit("-")}}
	}
	for _, a := range operands {
		in := s.Stdin
		if !a.Is("-") || in == nil {
			in = s.FileStream(a)
		}
		out = out.With(in.Text...)
	}
	return out
}

// filtered passes the input's kind on, since choosing lines makes nothing new.
func (s *Judge) filtered(name string, args []arg) bool {
	if s.Stdin == nil {
		if name == "grep" || name == "egrep" || name == "fgrep" {
			return s.listed(name, args)
		}
		s.Print(word.Unknown(word.Dynamic))
		return true
	}
	for _, a := range args {
		if w := strings.Trim(a.Known(), "[]^$"); isGuard(w) || roster.IsProgram(w) {
			s.sought = true
		}
	}
	if name == "tee" || name == "sponge" {
		for _, a := range word.Parse(args, "").Operands {
			if v, ok := a.Literal(); ok {
				s.Files[s.Absolute(v)] = s.Stdin.Text
			}
		}
	}
	s.Print(s.Stdin.Text)
	return true
}

// reshaped is what a script makes of files or of the input. It may begin with a path outside that the script puts in,
// or that the input has and the script does not take away.
func (s *Judge) reshaped(script text, files []arg) text {
	in := s.cat(files)
	out := word.Unknown(max(word.Dynamic, in.Worst()))
	puts := strings.ReplaceAll(script.Known(), "^", "")
	takes := puts // an awk program may do either with what it names
	if parts := strings.Split(puts, (puts + "  ")[1:2]); strings.HasPrefix(puts, "s") && len(parts) > 3 {
		takes, puts = parts[1], parts[2]
	}
	_, put, found := s.Mentioned(word.Lit(puts))
	_, given, has := s.Mentioned(in)
	_, _, taken := s.Mentioned(word.Lit(takes))
	switch {
	case found && (takes != puts || !has):
		return word.Lit(put + "/").With(out...)
	case has && !taken && !strings.Contains(takes, "*/") && !strings.Contains(takes, "NF"):
		return word.Lit(given + "/").With(out...)
	}
	return out
}

// listed is what a listing prints: names below where it looks.
func (s *Judge) listed(name string, args []arg) bool {
	starts := s.starts(name, args)
	if starts == nil {
		s.Print(word.Unknown(word.Dynamic))
		return true
	}
	for i, a := range starts {
		if i > 0 {
			s.Print(word.Lit("\n"))
		}
		where, abs := s.Locate(a.Text, s.Dir(), false)
		if where == land.Unknown {
			s.Print(word.Unknown(max(word.Dynamic, a.Worst())))
			continue
		}
		known := strings.NewReplacer(land.Hole, "-", land.Star, "-").Replace(abs)
		s.Print(word.Lit(known + "/").With(word.Piece(word.Below, "")))
	}
	return true
}

// starts are the directories that a listing command looks in; nil if it prints something else than names.
func (s *Judge) starts(name string, args []arg) []arg {
	switch name {
	case "ls":
		o := word.Parse(args, "IwT")
		if o.Has("-l") {
			return nil
		}
		return orHere(o.Operands)
	case "find":
		roots, _ := findRoots(args)
		return roots
	}
	o := word.Parse(args, "efmABCgtTEdHx", "--include", "--exclude", "--regexp", "--glob", "--type", "--extension",
		"--max-depth")
	lists := o.Has("-l", "-L", "--files-with-matches", "--files-without-match", "--files")
	switch {
	case !lists && !strings.HasPrefix(name, "fd"):
		return nil
	case lists && o.Has("-e", "-f", "--regexp", "--files"):
		return orHere(o.Operands)
	}
	return orHere(o.Operands[min(1, len(o.Operands)):]) // behind the pattern
}

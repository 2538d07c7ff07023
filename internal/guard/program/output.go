package program

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// printed says what a program prints, for those whose output is used as a
// path or a command; false leaves it unknown.
func (s *Judge) printed(name string, argv []arg) bool {
	args := argv[1:]
	switch name {
	case "dirname":
		s.Print(mapped(args, path.Dir))
	case "basename":
		s.Print(s.basename(args))
	case "realpath", "readlink":
		s.Print(s.realpath(name, args))
	case "mktemp":
		s.Print(s.mktemp(args))
	case "which", "whereis", "type":
		s.Print(s.WhichOutput(args))
	case "ssh-agent", "dircolors", "lesspipe", "opam", "fnm", "starship", "zoxide", "luarocks", "minikube", "thefuck",
		"keychain",
		"date", "nproc", "uname", "arch", "whoami", "id", "hostname", "seq", "wc", "tty", "logname", "groups",
		"uuidgen", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "stat", "expr", "bc", "tput", "getconf", "shuf":
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
	case "ls", "find", "fd", "fdfind", "rg":
		return s.listed(name, args)
	case "base64", "base32", "basenc", "xxd", "rev", "openssl", "uudecode", "od", "tr", "gzip", "gunzip", "zcat",
		"bzcat", "xzcat", "zstdcat", "bzip2", "xz", "zstd", "gpg", "ascii2uni", "dd", "perl", "python", "awk", "gawk", "mawk",
		"node", "ruby", "php", "lua":
		if s.Stdin != nil || name == "base64" || strings.HasSuffix(name, "cat") {
			s.Print(s.decoded(name))
		} else {
			s.Print(word.Unknown(word.Dynamic))
		}
	default:
		return false
	}
	return true
}

// decoded marks what a decoder prints; from data that was never known it is
// no worse than that data.
func (s *Judge) decoded(name string) text {
	in := s.Stdin
	if in != nil && len(in.Text) > 0 && (name == "tr" || name == "awk" || name == "od") &&
		in.Text.First() != word.Literal {
		return word.Unknown(max(word.Dynamic, in.Text.Worst()))
	}
	return word.Unknown(word.Hidden)
}

func mapped(args []arg, f func(string) string) text {
	var out text
	for _, a := range args {
		v, ok := a.Literal()
		if !ok {
			return word.Unknown(a.Worst())
		}
		if strings.HasPrefix(v, "-") {
			continue
		}
		out = out.Plus(f(v) + "\n")
	}
	return out
}

func (s *Judge) basename(args []arg) text {
	o := word.Parse(args, "s", "--suffix")
	if len(o.Operands) == 0 {
		return nil
	}
	v, ok := o.Operands[0].Literal()
	if !ok {
		return word.Unknown(word.Token) // one name, whatever it is
	}
	v = path.Base(v)
	if len(o.Operands) > 1 {
		v = strings.TrimSuffix(v, o.Operands[1].Known())
	}
	return word.Lit(v + "\n")
}

func (s *Judge) realpath(name string, args []arg) text {
	o := word.Parse(args, "", "--relative-to", "--relative-base")
	var out text
	for _, a := range o.Operands {
		v, ok := a.Literal()
		if !ok {
			return word.Unknown(max(word.Environ, a.Worst()))
		}
		if len(o.Values("--relative-to")) > 0 || name == "readlink" && !o.Has("-f", "-e", "-m", "--canonicalize") {
			return word.Unknown(word.Dynamic)
		}
		out = out.Plus(s.Absolute(v) + "\n")
	}
	return out
}

// mktemp makes files in a scratch root, or where it is told to.
func (s *Judge) mktemp(args []arg) text {
	o := word.Parse(args, "p", "--tmpdir", "--suffix")
	dir := word.Lit("/tmp")
	if len(s.Policy.Scratch) > 0 {
		dir = word.Lit(s.Policy.Scratch[0])
	}
	if v, ok := s.Vars["TMPDIR"]; ok && len(v.Alts) > 0 {
		dir = v.Alts[0]
	}
	if vs := o.Values("-p", "--tmpdir"); len(vs) > 0 {
		dir = vs[0].Text
	} else if len(o.Operands) > 0 && !o.Has("-t", "--tmpdir") {
		s.Check(land.Write, o.Operands[0])
		t := o.Operands[0].Text
		if !strings.HasPrefix(t.Prefix(), "/") {
			t = word.Lit(s.Dir() + "/").With(t...)
		}
		return t.Plus("\n")
	}
	t := dir.Plus("/tmp.guarded\n")
	s.Check(land.Write, arg{Text: t})
	return t
}

// cat prints its operands or its input.
func (s *Judge) cat(args []arg) text {
	o := word.Parse(args, "")
	if len(o.Operands) == 0 {
		if s.Stdin == nil {
			return word.Unknown(word.Dynamic)
		}
		return s.Stdin.Text
	}
	var out text
	for _, a := range o.Operands {
		if a.Is("-") && s.Stdin != nil {
			out = out.With(s.Stdin.Text...)
			continue
		}
		out = out.With(s.FileStream(a).Text...)
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
		switch {
		case where == land.Unknown:
			s.Print(word.Unknown(max(word.Dynamic, a.Worst())))
		case where.Writable() && a.Prefix() == "" || a.Is("."):
			s.Print(word.Unknown(word.Below))
		default:
			known := strings.NewReplacer(land.Hole, "-", land.Star, "-").Replace(abs)
			s.Print(word.Lit(known + "/").With(word.Piece(word.Below, "")))
		}
	}
	return true
}

// starts are the directories that a listing command looks in; nil if it
// prints something else than names.
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
	case "grep", "egrep", "fgrep", "rg":
		o := word.Parse(args, "efmABCgtT", "--include", "--exclude", "--regexp", "--glob", "--type")
		if !o.Has("-l", "-L", "--files-with-matches", "--files-without-match", "--files") {
			return nil
		}
		ops := o.Operands
		if len(o.Values("-e", "-f", "--regexp")) == 0 && len(ops) > 0 && !o.Has("--files") {
			ops = ops[1:]
		}
		return orHere(ops)
	}
	o := word.Parse(args, "etEdcHx", "--extension", "--type", "--exclude", "--max-depth")
	return orHere(o.Operands[min(1, len(o.Operands)):])
}

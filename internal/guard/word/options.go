package word

import (
	"slices"
	"strings"
)

// Options takes arguments apart. Valued are the short letters that take a
// value, and long the long names that take one as the next argument.
type Options struct {
	Flags    []Flag
	Operands []Arg
}

// Flag is an option that was given.
type Flag struct {
	Name  string // -x or --long
	Value Arg
	Has   bool
}

// Parse reads args by the usual conventions: clustered short options, values
// glued or following, -- ends.
func Parse(args []Arg, valued string, long ...string) Options {
	var o Options
	for i := 0; i < len(args); i++ {
		v := args[i].Prefix()
		switch {
		case args[i].Is("--"):
			o.Operands = append(o.Operands, args[i+1:]...)
			return o
		case strings.HasPrefix(v, "--"):
			name, _, glued := strings.Cut(v, "=")
			f := Flag{Name: name}
			if glued {
				f.Value, f.Has = args[i].After(len(name)+1), true
			} else if slices.Contains(long, name) && i+1 < len(args) {
				i++
				f.Value, f.Has = args[i], true
			}
			o.Flags = append(o.Flags, f)
		case len(v) > 1 && v[0] == '-':
			if slices.Contains(long, v) && i+1 < len(args) {
				i++
				o.Flags = append(o.Flags, Flag{v, args[i], true})
				continue
			}
			i = o.cluster(args, i, valued)
		default:
			o.Operands = append(o.Operands, args[i])
		}
	}
	return o
}

// cluster reads -abcVALUE at args[i] and returns the last index it used.
func (o *Options) cluster(args []Arg, i int, valued string) int {
	v := args[i].Prefix()
	for j := 1; j < len(v); j++ {
		f := Flag{Name: "-" + v[j:j+1]}
		if strings.IndexByte(valued, v[j]) < 0 {
			o.Flags = append(o.Flags, f)
			continue
		}
		f.Has = true
		if j+1 < len(v) || len(args[i].Text) > 1 {
			f.Value = args[i].After(j + 1)
		} else if i+1 < len(args) {
			i++
			f.Value = args[i]
		}
		o.Flags = append(o.Flags, f)
		return i
	}
	return i
}

func (o Options) Has(names ...string) bool {
	for _, f := range o.Flags {
		if slices.Contains(names, f.Name) {
			return true
		}
	}
	return false
}

// Values are those of the named options that have one.
func (o Options) Values(names ...string) []Arg {
	var out []Arg
	for _, f := range o.Flags {
		if f.Has && slices.Contains(names, f.Name) {
			out = append(out, f.Value)
		}
	}
	return out
}

// Leading parses the options before the first operand and returns the rest.
func Leading(args []Arg, valued string, long []string) (Options, []Arg) {
	for i := 0; i < len(args); i++ {
		v := args[i].Prefix()
		if args[i].Is("--") {
			return Parse(args[:i], valued, long...), args[i+1:]
		}
		if len(v) < 2 || v[0] != '-' {
			return Parse(args[:i], valued, long...), args[i:]
		}
		if takesNext(v, args[i], valued, long) {
			i++
		}
	}
	return Parse(args, valued, long...), nil
}

// takesNext says whether an option's value is the next argument.
func takesNext(v string, a Arg, valued string, long []string) bool {
	if strings.HasPrefix(v, "--") || slices.Contains(long, v) {
		return !strings.Contains(v, "=") && slices.Contains(long, v)
	}
	i := strings.IndexAny(v[1:], valued)
	return valued != "" && i >= 0 && i+2 == len(v) && len(a.Text) == 1
}

// Texts are the texts of args.
func Texts(args []Arg) []Text {
	out := make([]Text, len(args))
	for i, a := range args {
		out[i] = a.Text
	}
	return out
}

// JoinArgs joins words with spaces.
func JoinArgs(args []Arg) Text {
	var pieces []Seg
	for i, a := range args {
		if i > 0 {
			pieces = append(pieces, Seg{Literal, " "})
		}
		pieces = append(pieces, a.Text...)
	}
	return Text{}.With(pieces...)
}

// Cover points at all of args, and holds their text.
func Cover(args []Arg) Arg {
	if len(args) == 0 {
		return Arg{}
	}
	return Arg{JoinArgs(args), args[0].Start, args[len(args)-1].End}
}

// Substituted replaces marker in every argument.
func Substituted(argv []Arg, marker string, with Text) []Arg {
	out := make([]Arg, len(argv))
	for i, a := range argv {
		out[i] = a
		if marker == "" || !strings.Contains(a.Known(), marker) {
			continue
		}
		var t Text
		for _, piece := range a.Text {
			if piece.Kind != Literal {
				t = t.With(piece)
				continue
			}
			for j, part := range strings.Split(piece.Text, marker) {
				if j > 0 {
					t = t.With(with...)
				}
				t = t.Plus(part)
			}
		}
		out[i].Text = t
	}
	return out
}

package word

import (
	"slices"
	"strings"
)

// Options takes arguments apart. Valued are the short letters that take a value, with a star behind those whose value
// can only be glued to them, and long the long names that take one as the next argument.
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

// Parse reads args by the usual conventions: clustered short options, values glued or following, -- ends.
func Parse(args []Arg, valued string, long ...string) Options {
	o, _ := parse(args, valued, long, false, "")
	return o
}

// Leading parses the options before the first operand, or up to the first of the short options in last, and returns
// the rest.
func Leading(args []Arg, valued string, long []string, last ...string) (Options, []Arg) {
	return parse(args, valued, long, true, strings.Join(last, ""))
}

func parse(args []Arg, valued string, long []string, leading bool, last string) (o Options, rest []Arg) {
	for i := 0; i < len(args); i++ {
		v := args[i].Prefix()
		name, _, glued := strings.Cut(v, "=")
		named := slices.Contains(long, name)
		switch {
		case args[i].Is("--"):
			if leading {
				return o, args[i+1:]
			}
			o.Operands = append(o.Operands, args[i+1:]...)
			return o, nil
		case strings.HasPrefix(v, "--") || named && (glued || i+1 < len(args)):
			f := Flag{Name: name, Has: glued || named && i+1 < len(args)}
			if glued {
				f.Value = args[i].After(len(name) + 1)
			} else if f.Has {
				i++
				f.Value = args[i]
			}
			o.Flags = append(o.Flags, f)
		case len(v) > 1 && v[0] == '-':
			i = o.cluster(args, i, valued)
			if strings.Contains(last, o.Flags[len(o.Flags)-1].Name[1:]) {
				return o, args[i+1:]
			}
		case leading:
			return o, args[i:]
		default:
			o.Operands = append(o.Operands, args[i])
		}
	}
	return o, nil
}

// cluster reads -abcVALUE at args[i] and returns the last index it used.
func (o *Options) cluster(args []Arg, i int, valued string) int {
	v := args[i].Prefix()
	for j := 1; j < len(v); j++ {
		f := Flag{Name: "-" + v[j:j+1]}
		at := strings.IndexByte(valued, v[j])
		if at < 0 {
			o.Flags = append(o.Flags, f)
			continue
		}
		f.Has = true
		if j+1 < len(v) || len(args[i].Text) > 1 {
			f.Value = args[i].After(j + 1)
		} else if strings.HasPrefix(valued[at+1:], "*") {
			f.Has = false
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
	return slices.ContainsFunc(o.Flags, func(f Flag) bool { return slices.Contains(names, f.Name) })
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

// Texts are the texts of args.
func Texts(args []Arg) []Text {
	out := make([]Text, len(args))
	for i, a := range args {
		out[i] = a.Text
	}
	return out
}

// JoinArgs joins words with spaces.
func JoinArgs(args []Arg) Text { return Join(Texts(args)) }

// Join joins texts with spaces.
func Join(texts []Text) Text {
	var pieces []Seg
	for i, t := range texts {
		if i > 0 {
			pieces = append(pieces, Seg{Literal, " "})
		}
		pieces = append(pieces, t...)
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
	out := slices.Clone(argv)
	for i, a := range argv {
		var t Text
		for _, piece := range a.Text {
			before, after, found := strings.Cut(piece.Text, marker)
			for ; found && marker != "" && piece.Kind == Literal; before, after, found = strings.Cut(after, marker) {
				t = t.Plus(before).With(with...)
				piece.Text = after
			}
			t = t.With(piece)
		}
		out[i].Text = t
	}
	return out
}

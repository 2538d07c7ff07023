package guard

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arg is a word of a command, as the command will see it.
type arg struct {
	text       string // with a hole for what can't be known
	start, end int    // its place in the command
}

// Hole stands in a text for what can't be known, gap for where the shell splits a word.
const (
	hole = "\x01"
	gap  = "\x02"
)

// fields expands words.
func (w *walker) fields(words []*syntax.Word) (args []arg) {
	for _, word := range words {
		text := w.parts(word.Parts, false)
		if !strings.Contains(text, gap) {
			args = append(args, w.argOf(word, text))
			continue
		}
		for field := range strings.SplitSeq(text, gap) {
			if field != "" {
				args = append(args, w.argOf(word, field))
			}
		}
	}
	return args
}

// joined expands a word that stays one.
func (w *walker) joined(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	return strings.ReplaceAll(w.parts(word.Parts, false), gap, " ")
}

func (w *walker) argOf(word *syntax.Word, text string) arg {
	return arg{text, int(word.Pos().Offset()), int(word.End().Offset())}
}

// parts expands what a word is made of.
func (w *walker) parts(list []syntax.WordPart, quoted bool) string {
	var b strings.Builder
	for i, part := range list {
		w.step(1)
		text := hole
		switch p := part.(type) {
		case *syntax.Lit:
			text = unescaped(p.Value, quoted)
			if i == 0 && !quoted && strings.HasPrefix(p.Value, "~") {
				text = w.homed(text)
			}
		case *syntax.SglQuoted:
			if text = p.Value; p.Dollar {
				text = ansi(text)
			}
		case *syntax.DblQuoted:
			text = w.parts(p.Parts, true)
		case *syntax.ParamExp:
			if text = w.parameter(p); !quoted {
				text = splitting.Replace(text)
			}
			w.step(len(text) / 512)
		case *syntax.ProcSubst:
			w.apart(p.Stmts)
			text = "/dev/fd/63"
		default:
			w.within(part)
		}
		if b.WriteString(text); b.Len() > maxValue+len(w.source) {
			return hole
		}
	}
	return b.String()
}

// splitting makes gaps of what an unquoted value is split at.
var splitting = strings.NewReplacer(" ", gap, "\t", gap, "\n", gap)

// homed expands a ~ in front of a text. Other users have their homes beside this one's.
func (w *walker) homed(text string) string {
	name, rest, _ := strings.Cut(text[1:], "/")
	switch {
	case w.policy.Home == "":
		return hole
	case name != "":
		return path.Join(path.Dir(w.policy.Home), name, rest)
	}
	return w.policy.Home + text[1:]
}

// unescaped takes away the backslashes that a shell takes away.
func unescaped(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansi reads what stands in $'…'. Characters that are written as numbers are not looked at.
func ansi(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\'`, `'`, `\"`, `"`, `\r`, "\n",
		`\x`, hole, `\u`, hole, `\U`, hole, `\0`, hole, `\1`, hole).Replace(s)
}

// parameter is the value of a variable where the command itself says it, or else its default.
func (w *walker) parameter(p *syntax.ParamExp) string {
	odd := p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || p.Slice != nil ||
		p.Repl != nil || p.Names != 0 || p.NestedParam != nil || p.Modifiers != nil
	switch {
	case odd:
	case p.Exp == nil:
		return w.value(p.Param.Value)
	case p.Exp.Op == syntax.DefaultUnset, p.Exp.Op == syntax.DefaultUnsetOrNull,
		p.Exp.Op == syntax.AssignUnset, p.Exp.Op == syntax.AssignUnsetOrNull:
		other := w.joined(p.Exp.Word)
		if value := w.value(p.Param.Value); value != hole {
			return value
		}
		return other
	}
	w.within(p)
	return hole
}

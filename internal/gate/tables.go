package gate

import (
	"embed"
	"encoding"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// What the gate knows is in the files of data. A paragraph is a row and each of its lines a field, "name: value"; an
// indented line goes on with the value before it, and one that begins with # is a comment. Lines are joined with a
// space, but for one that begins with |, as the next choice of an expression does. A field that is there several times
// makes a list.
//
//go:embed data/*.txt
var data embed.FS

// table is a file that is read when it is first used.
func table[R any](name string) func() []R {
	return sync.OnceValue(func() []R { return rows[R](name) })
}

// rows reads a file. TestTables reads all of them: what is wrong there never gets this far.
func rows[R any](name string) (all []R) {
	var wrong error
	for paragraph := range strings.SplitSeq(file(name), "\n\n") {
		var row R
		empty := true
		for field, value := range fields(paragraph) {
			empty = false
			wrong = errors.Join(wrong, setField(reflect.ValueOf(&row).Elem(), field, value))
		}
		if !empty {
			all = append(all, row)
		}
	}
	if wrong != nil {
		panic(fmt.Sprintf("gate: data/%s.txt: %v", name, wrong))
	}
	return all
}

func file(name string) string {
	b, err := data.ReadFile("data/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// fields gives the names and values of a text, the lines of a value apart by newlines.
func fields(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "\n  ", "\x00"), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			name, value, _ := strings.Cut(line, ": ")
			if !yield(name, strings.ReplaceAll(strings.ReplaceAll(value, "\x00|", "|"), "\x00", "\n")) {
				return
			}
		}
	}
}

func setField(row reflect.Value, name, value string) error {
	f := row.FieldByName(strings.ToUpper(name[:1]) + name[1:])
	if !f.IsValid() || value == "" {
		return fmt.Errorf("no field %q, or no value", name)
	}
	if f.Kind() == reflect.Slice {
		f.Set(reflect.Append(f, reflect.Zero(f.Type().Elem())))
		f = f.Index(f.Len() - 1)
	}
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(value))
	}
	switch f.Kind() {
	case reflect.Bool:
		if f.SetBool(true); value != "yes" {
			return fmt.Errorf("%s is yes, or is not there", name)
		}
	case reflect.Float64:
		n, err := strconv.ParseFloat(value, 64)
		f.SetFloat(n)
		return err
	default:
		f.SetString(strings.ReplaceAll(value, "\n", " "))
	}
	return nil
}

// lists are the named lists of words and patterns, and the expressions; each has a space in front and behind.
var lists = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for name, value := range fields(file("words") + file("popular") + file("expressions")) {
		all[name] = " " + strings.ReplaceAll(value, "\n", " ") + " "
	}
	return all
})

// listed is a list by its name.
func listed(name string) string { return lists()[name] }

// inList says whether a word is in a list.
func inList(name, word string) bool { return strings.Contains(listed(name), " "+word+" ") }

// first is the first row that fits; nil if none does.
func first[R any](rows []R, fits func(*R) bool) *R {
	for i := range rows {
		if fits(&rows[i]) {
			return &rows[i]
		}
	}
	return nil
}

// expression is compiled when it is first used: every start of the program would pay for it.
type expression func() *regexp.Regexp

func expr(s string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// named is one of the expressions that are too long for a line of code.
func named(name string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.TrimSpace(listed(name))) })
}

// UnmarshalText takes an expression out of a table.
func (e *expression) UnmarshalText(b []byte) error {
	*e = expr(string(b))
	return nil
}

// match says whether there is such an expression, and it matches.
func (e expression) match(text string) bool { return e != nil && e().MatchString(text) }

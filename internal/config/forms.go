package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/vt"
)

// form is how values of a kind stand in files.
type form struct {
	read func(value any, home string) (any, error)
	show func(v any) any // nil if it is written as it is
	zero any             // what is shown for zero
}

// readBy is the form of what is read without knowing where home is.
func readBy[T any](read func(value any) (T, error)) form {
	return form{read: func(value any, _ string) (any, error) { return read(value) }}
}

func readAt[T any](read func(value any, home string) (T, error)) form {
	return form{read: func(value any, home string) (any, error) { return read(value, home) }}
}

// parsedBy is the form of what is parsed from text.
func parsedBy[T any](text func(any) (string, error), parse func(string) (T, error)) form {
	return readBy(func(value any) (v T, err error) {
		s, err := text(value)
		if err == nil {
			v, err = parse(s)
		}
		return v, err
	})
}

func showing[T any](f form, show func(v T) any) form {
	f.show = func(v any) any { return show(v.(T)) }
	return f
}

// orElse shows a word for zero.
func (f form) orElse(zero any) form {
	f.zero = zero
	return f
}

// shown is a value as a file says it, nil if nothing is set.
func (f form) shown(v reflect.Value) any {
	if v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	list := v.IsValid() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map)
	switch {
	case !v.IsValid() || v.IsZero() || list && v.Len() == 0:
		return f.zero
	case f.show != nil:
		return f.show(v.Interface())
	}
	return v.Interface()
}

var (
	sizes     = showing(readBy(asSize), sizeText)
	durations = showing(parsedBy(written(`durations are written like "30m"`), ParseDuration), durationText)
)

// formOf is how a setting is written: as its tag says, or its type.
func formOf(forms map[string]form, as string, t reflect.Type) form {
	if as == "" {
		as = t.String()
	}
	f, ok := forms[as]
	if !ok {
		panic("no form for settings like " + as)
	}
	return f
}

// forms are the ways in which settings are written, by the names that tags have for them and by types.
func forms() map[string]form {
	return map[string]form{
		"string":                     readBy(asText),
		"bool":                       readBy(asSwitch).orElse(false),
		"int":                        readBy(asCount),
		"int64":                      sizes,
		"float64":                    parsedBy(dollarText, ParseDollars).orElse(None),
		"time.Duration":              durations,
		"[]string":                   readBy(asTexts),
		"[]gate.Kind":                showing(readBy(asKinds), texts[gate.Kind]),
		"[]broker.Rule":              showing(readBy(asRules), ruleTexts),
		"[]config.Mount":             showing(readAt(asMounts), mountTexts),
		"config.Command":             showing(readBy(asCommand), commandText),
		"config.Key":                 showing(readAt(asSecret), tableOf[Key]),
		"vt.Key":                     showing(parsedBy(asText, vt.ParseKey), keyText),
		"map[string]config.OwnAgent": showing(readAt(asAgents), agentTables),
		"map[string]string":          showing(readBy(asTextTable), textTable),

		"address":   readBy(asHostPort),
		"caches":    readBy(asCaches),
		"days":      readBy(asDays).orElse(0),
		"endless":   showing(readBy(asEndless), durationText).orElse(None),
		"file":      readAt(asFile),
		"heartbeat": showing(readBy(asHeartbeat), durationText),
		"label":     readBy(asLabel),
		"labels":    readBy(asLabels),
		"model key": showing(readAt(asKey), tableOf[Key]),
		"tokens":    showing(parsedBy(tokenDigits, ParseTokens), tokenText).orElse(None),
		"url":       readBy(asURL),
		"variable":  readBy(asVariable),
		"variables": showing(readBy(asEnv), pairs),
	}
}

// ownForm is how a backend's own setting is written.
func ownForm(s box.Setting) form {
	switch s.Kind {
	case box.Text:
		return readBy(asText)
	case box.Word:
		return readBy(func(value any) (string, error) { return asWord(value, "", s.Words, " and ") })
	case box.HostFile:
		return readAt(asFile)
	case box.Count:
		return readBy(asCount)
	case box.Size:
		return sizes
	case box.Switch:
		return readBy(asSwitch) // nothing is shown where nothing is set
	case box.Packages:
		return readBy(asPackages)
	case box.HostFiles:
		return readAt(asFiles)
	case box.Copies:
		return showing(readAt(asCopies), copiesTable)
	}
	panic("box." + s.Name + " is of no known kind")
}

// among is the form of one word of a list.
func among(list string, words []string) form {
	return readBy(func(value any) (string, error) { return asWord(value, list+" ", words, ", ") })
}

// several is the form of some words of a list.
func several(list string, words []string) form {
	return readBy(func(value any) ([]string, error) {
		some, err := asTexts(value)
		for _, s := range some {
			if !slices.Contains(words, s) {
				return nil, fmt.Errorf("no %s %q; there are %s", list, s, strings.Join(words, ", "))
			}
		}
		return some, err
	})
}

// asWord accepts one of several words.
func asWord(value any, list string, words []string, between string) (string, error) {
	s, err := asText(value)
	if err == nil && !slices.Contains(words, s) {
		err = fmt.Errorf("no %s%q; there are %s", list, s, strings.Join(words, between))
	}
	return s, err
}

// readTable reads a table into a struct, by the tags of its fields.
func readTable(into any, table map[string]any, home string) error {
	forms := forms()
	t := reflect.TypeOf(into).Elem()
	var there []string
	fields := map[string]reflect.StructField{}
	for f := range t.Fields() {
		name := f.Tag.Get("toml")
		fields[name] = f
		there = append(there, name)
	}
	for name, value := range table {
		f, ok := fields[name]
		if !ok {
			return fmt.Errorf("%s: unknown key; there are %s", name, strings.Join(there, ", "))
		}
		v, err := formOf(forms, f.Tag.Get("as"), f.Type).read(value, home)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		reflect.ValueOf(into).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(v))
	}
	return nil
}

// tableOf is a struct as a table without what is not set.
func tableOf[T any](of T) any {
	table, forms := map[string]any{}, forms()
	v := reflect.ValueOf(of)
	for f := range v.Type().Fields() {
		field := v.FieldByIndex(f.Index)
		shown := formOf(forms, f.Tag.Get("as"), f.Type).shown(field)
		if shown != nil && !field.IsZero() {
			table[f.Tag.Get("toml")] = shown
		}
	}
	return table
}

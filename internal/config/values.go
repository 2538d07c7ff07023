package config

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

type setter = func(c *Config, value any, home string) error

// value is how a setting's value is read from a file and written to one.
type value struct {
	set setter
	get func(c *Config) any // as it is written in a file; nil if nothing is set
	// words are the values that there are, or that make sense.
	words []string
}

// meaning adds the values that make sense.
func (v value) meaning(words []string) value {
	v.words = words
	return v
}

func text(at func(*Config) *string) value {
	return value{set: reader(at, asText), get: unlessZero(at, same)}
}

func texts(at func(*Config) *[]string) value {
	return value{set: reader(at, asTexts), get: func(c *Config) any { return listOf(*at(c)) }}
}

func flag(at func(*Config) *bool) value {
	return value{set: reader(at, asSwitch), get: func(c *Config) any { return *at(c) }, words: []string{"true", "false"}}
}

func count(at func(*Config) *int) value {
	return value{set: reader(at, asCount), get: unlessZero(at, same)}
}

// reader sets a value that is read as it stands in the file.
func reader[T any](at func(*Config) *T, read func(any) (T, error)) setter {
	return func(c *Config, value any, _ string) error {
		v, err := read(value)
		if err == nil {
			*at(c) = v
		}
		return err
	}
}

func asSwitch(value any) (bool, error) {
	b, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("want true or false, not %s", kind(value))
	}
	return b, nil
}

func asCount(value any) (int, error) {
	n, ok := value.(int64)
	if !ok {
		return 0, fmt.Errorf("want a whole number, not %s", kind(value))
	}
	if n <= 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("want a number from 1 to %d, not %d", math.MaxInt32, n)
	}
	return int(n), nil
}

// asDays reads a number of days, of which there may be none.
func asDays(value any) (int, error) {
	const most = 36500
	n, ok := value.(int64)
	if !ok || n < 0 || n > most {
		return 0, fmt.Errorf("want a whole number of days from 0 to %d", most)
	}
	return int(n), nil
}

// parsed sets a value that is parsed from text.
func parsed[T any](at func(*Config) *T, text func(any) (string, error), parse func(string) (T, error)) setter {
	return func(c *Config, value any, _ string) error {
		s, err := text(value)
		if err != nil {
			return err
		}
		v, err := parse(s)
		if err == nil {
			*at(c) = v
		}
		return err
	}
}

// written is asText with an error that shows the expected form.
func written(words string) func(any) (string, error) {
	return func(value any) (string, error) {
		s, err := asText(value)
		if err != nil {
			err = fmt.Errorf("%w; %s", err, words)
		}
		return s, err
	}
}

// among sets one of several words.
func among(at func(*Config) *string, what string, words []string) value {
	return value{set: parsed(at, asText, func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("no %s %q; there are %s", what, s, strings.Join(words, ", "))
		}
		return s, nil
	}), get: unlessZero(at, same), words: words}
}

// several sets a list of words that are known.
func several(at func(*Config) *[]string, words []string) value {
	return value{set: reader(at, func(value any) ([]string, error) {
		list, err := asTexts(value)
		for _, s := range list {
			if !slices.Contains(words, s) {
				return nil, fmt.Errorf("no %q; there are %s", s, strings.Join(words, " and "))
			}
		}
		return list, err
	}), get: func(c *Config) any { return listOf(*at(c)) }, words: words}
}

func size(at func(*Config) *int64) value {
	return value{set: reader(at, asSize), get: unlessZero(at, sizeText)}
}

func asSize(value any) (int64, error) {
	s, err := written(`sizes are written like "4GiB"`)(value)
	if err != nil {
		return 0, err
	}
	return ParseSize(s)
}

func duration(at func(*Config) *time.Duration) value {
	return value{set: parsed(at, written(`durations are written like "30m"`), ParseDuration),
		get: unlessZero(at, durationText)}
}

func command(at func(*Config) *Command) value {
	return value{set: setCommand(at), get: func(c *Config) any { return commandText(*at(c)) }}
}

func setCommand(at func(*Config) *Command) setter {
	return func(c *Config, value any, _ string) error {
		if _, ok := value.(string); ok {
			line, err := asText(value)
			if err == nil {
				*at(c) = Command{Shell: line}
			}
			return err
		}
		argv, err := asTexts(value)
		if err != nil {
			return fmt.Errorf("want a line of shell, or an array of program and arguments: %w", err)
		}
		if len(argv) > 0 && argv[0] == "" {
			return errors.New("the program has no name")
		}
		*at(c) = Command{Argv: argv}
		return nil
	}
}

// ParseSize reads a size like "4GiB": a whole number above zero and one of B, KiB, MiB, GiB, TiB, kB, MB, GB, TB.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	unit, ok := map[string]int64{
		"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	}[s[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a size; write it like \"4GiB\", \"512MiB\" or \"100MB\"", s)
	}
	if err != nil || int64(n) > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is too large", s)
	}
	if n == 0 {
		return 0, fmt.Errorf("%q is zero; leave the key out for the default", s)
	}
	return int64(n) * unit, nil
}

// ParseDuration reads a duration above zero like "2h", "90s" or "1h30m".
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; write it like \"2h\", \"30m\" or \"90s\"", s)
	}
	if d < time.Millisecond {
		return 0, fmt.Errorf("%q is too short; leave the key out for the default", s)
	}
	return d, nil
}

func setMounts(c *Config, value any, home string) error {
	list, err := asList(value)
	if err != nil {
		return err
	}
	mounts := make([]Mount, 0, len(list))
	for i, v := range list {
		m, err := asMount(v, home)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if slices.ContainsFunc(mounts, func(o Mount) bool { return o.Path == m.Path }) {
			return fmt.Errorf("entry %d: %s is named twice", i+1, m.Path)
		}
		mounts = append(mounts, m)
	}
	c.Box.Mounts = mounts
	return nil
}

func asMount(value any, home string) (Mount, error) {
	var m Mount
	switch v := value.(type) {
	case string:
		m.Path = v
		if p, ok := strings.CutSuffix(v, ":rw"); ok {
			m = Mount{Path: p, Write: true}
		} else if p, ok := strings.CutSuffix(v, ":ro"); ok {
			m.Path = p
		}
	case map[string]any:
		for name, field := range v {
			var ok bool
			switch name {
			case "path":
				m.Path, ok = field.(string)
			case "write":
				m.Write, ok = field.(bool)
			default:
				return Mount{}, fmt.Errorf("unknown key %q; there are path and write", name)
			}
			if !ok {
				return Mount{}, fmt.Errorf("%s can't be %s", name, kind(field))
			}
		}
	default:
		return Mount{}, fmt.Errorf("want \"~/dir\", \"~/dir:rw\" or {path = \"~/dir\", write = true}, not %s", kind(value))
	}
	p, err := mountPath(m.Path, home)
	m.Path = p
	return m, err
}

func mountPath(p, home string) (string, error) {
	if _, err := asText(p); err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/') {
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("%q: the home directory is not known", p)
		}
		p = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(p) {
		return "", fmt.Errorf("%q is not absolute; begin it with / or ~/", p)
	}
	p = filepath.Clean(p)
	// It would break the promise of every box: that it can't see the user's home with its keys.
	if p == "/" || home != "" && strings.HasPrefix(filepath.Clean(home)+"/", p+"/") {
		return "", fmt.Errorf("%s holds your whole home; name the directories below it that the box needs", p)
	}
	return p, nil
}

// caches reads a list of directories below home.
func caches(at func(*Config) *[]string) value {
	return value{set: setCaches(at), get: func(c *Config) any { return listOf(*at(c)) }}
}

func setCaches(at func(*Config) *[]string) setter {
	return func(c *Config, value any, _ string) error {
		list, err := asTexts(value)
		if err != nil {
			return err
		}
		dirs := make([]string, 0, len(list))
		for i, s := range list {
			p := path.Clean(strings.TrimPrefix(s, "~/"))
			if p == "." || p == "~" || p == ".." || strings.HasPrefix(p, "../") || path.IsAbs(p) {
				return fmt.Errorf("entry %d: %q is not a directory below home", i+1, s)
			}
			dirs = append(dirs, p)
		}
		*at(c) = dirs
		return nil
	}
}

// Compiled when it is first needed: every start of cco would pay for it.
var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// setEnv reads a table, or an array of KEY=value.
func setEnv(c *Config, value any, _ string) error {
	vars := map[string]any{}
	if table, ok := value.(map[string]any); ok {
		vars = table
	} else {
		list, err := asTexts(value)
		if err != nil {
			return fmt.Errorf("want a table, or an array of \"KEY=value\": %w", err)
		}
		for i, s := range list {
			name, v, ok := strings.Cut(s, "=")
			if _, twice := vars[name]; !ok || twice {
				return fmt.Errorf("entry %d: want \"KEY=value\", each KEY once", i+1)
			}
			vars[name] = v
		}
	}
	env := make([]string, 0, len(vars))
	for name, v := range vars {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("%s: want a string, not %s", name, kind(v))
		}
		if !envName().MatchString(name) || strings.ContainsRune(s, 0) {
			return fmt.Errorf("%q can't be the name of a variable, or its value holds a NUL", name)
		}
		env = append(env, name+"="+s)
	}
	slices.Sort(env)
	c.Box.Env = env
	return nil
}

func asText(value any) (string, error) {
	s, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("want a string, not %s", kind(value))
	}
	if s == "" {
		return "", errors.New("is empty; leave the key out for the default")
	}
	if strings.ContainsRune(s, 0) {
		return "", errors.New("holds a NUL")
	}
	return s, nil
}

func asTexts(value any) ([]string, error) {
	list, err := asList(value)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("entry %d: want a string, not %s", i+1, kind(v))
		}
		if strings.ContainsRune(s, 0) {
			return nil, fmt.Errorf("entry %d: holds a NUL", i+1)
		}
		out = append(out, s)
	}
	return out, nil
}

func asList(value any) ([]any, error) {
	switch v := value.(type) {
	case []any:
		return v, nil
	case []map[string]any: // [[box.mounts]]
		out := make([]any, len(v))
		for i := range v {
			out[i] = v[i]
		}
		return out, nil
	}
	return nil, fmt.Errorf("want an array, not %s", kind(value))
}

func kind(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("the string %q", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return strconv.FormatBool(v)
	case []any, []map[string]any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

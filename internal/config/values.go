package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/gate"
)

// None removes a bound on purpose: leaving a key out keeps the default, and a zero could easily be meant otherwise.
const None = "none"

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

func asSize(value any) (int64, error) {
	s, err := written(`sizes are written like "4GiB"`)(value)
	if err != nil {
		return 0, err
	}
	return ParseSize(s)
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

// asEndless is a duration that can be None.
func asEndless(value any) (time.Duration, error) {
	if value == None {
		return 0, nil
	}
	s, err := written(`durations are written like "30m"`)(value)
	if err != nil {
		return 0, err
	}
	return ParseDuration(s)
}

func dollarText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case int64, float64:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("want dollars like 2.50, not %s", kind(value))
}

func tokenDigits(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return "", fmt.Errorf("want a number of tokens like \"20M\", not %s", kind(value))
}

// ParseDollars reads an amount above zero like "2.50" or "$10"; "none" is 0, no bound at all.
func ParseDollars(s string) (float64, error) {
	if s == None {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is not an amount; write dollars like \"2.50\", or %q", s, None)
	}
	if n <= 0 {
		return 0, fmt.Errorf("%q: give more than zero, or %q for no limit", s, None)
	}
	return n, nil
}

// ParseTokens reads a number above zero like "500000", "500k" or "20M"; "none" is 0, no bound at all.
func ParseTokens(s string) (int64, error) {
	if s == None {
		return 0, nil
	}
	digits := strings.TrimRight(s, "kM")
	unit, ok := map[string]int64{"": 1, "k": 1e3, "M": 1e6}[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case !ok || err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is not a number of tokens; write it like \"500k\", \"20M\" or %q", s, None)
	case n <= 0:
		return 0, fmt.Errorf("%q: give more than zero, or %q for no limit", s, None)
	case err != nil || n > math.MaxInt64/unit:
		return 0, fmt.Errorf("%q is too large", s)
	}
	return n * unit, nil
}

func asCommand(value any) (Command, error) {
	if _, ok := value.(string); ok {
		line, err := asText(value)
		return Command{Shell: line}, err
	}
	argv, err := asTexts(value)
	if err != nil {
		return Command{}, fmt.Errorf("want a line of shell, or an array of program and arguments: %w", err)
	}
	if len(argv) > 0 && argv[0] == "" {
		return Command{}, errors.New("the program has no name")
	}
	return Command{Argv: argv}, nil
}

// asRules reads what may leave boxes.
func asRules(value any) ([]broker.Rule, error) {
	texts, err := asTexts(value)
	if err != nil {
		return nil, err
	}
	return broker.ParseRules(texts)
}

// asKinds reads kinds of changes.
func asKinds(value any) ([]gate.Kind, error) {
	names, err := asTexts(value)
	if err != nil {
		return nil, err
	}
	return gate.ParseKinds(names)
}

package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// None removes a bound on purpose: leaving a key out keeps the default, and a zero could easily be meant otherwise.
const None = "none"

// dollars reads a price, or None.
func dollars(at func(*Config) *float64) value {
	return value{set: parsed(at, func(value any) (string, error) {
		switch v := value.(type) {
		case string:
			return v, nil
		case int64, float64:
			return fmt.Sprint(v), nil
		}
		return "", fmt.Errorf("want dollars like 2.50, not %s", kind(value))
	}, ParseDollars), get: orNone(at, same)}
}

// tokens reads a number of tokens, or None.
func tokens(at func(*Config) *int64) value {
	return value{set: parsed(at, func(value any) (string, error) {
		switch v := value.(type) {
		case string:
			return v, nil
		case int64:
			return strconv.FormatInt(v, 10), nil
		}
		return "", fmt.Errorf("want a number of tokens like \"20M\", not %s", kind(value))
	}, ParseTokens), get: orNone(at, tokenText)}
}

// endless is a duration that can be None.
func endless(at func(*Config) *time.Duration) value {
	return value{set: func(c *Config, v any, home string) error {
		if v == None {
			*at(c) = 0
			return nil
		}
		return duration(at).set(c, v, home)
	}, get: orNone(at, durationText)}
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

// bounded takes a bound that is below the user's; zero is no bound, and so above every other.
func bounded[T cmp.Ordered](at func(*Config) *T) func(*Config, Config, Sources) string {
	return func(c *Config, want Config, _ Sources) string {
		var none T
		has, asks := *at(c), *at(&want)
		if has != none && (asks == none || asks > has) {
			return fmt.Sprintf("is more than your %v", has)
		}
		*at(c) = asks
		return ""
	}
}

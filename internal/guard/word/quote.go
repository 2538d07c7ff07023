package word

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// AnsiC decodes the inside of $'…'.
func AnsiC(v string) string {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			b.WriteByte(v[i])
			continue
		}
		i++
		switch c := v[i]; c {
		case 'a', 'b', 'f', 'n', 'r', 't', 'v', 'e', 'E':
			b.WriteByte("\a\b\f\n\r\t\v\x1b\x1b"[strings.IndexByte("abfnrtveE", c)])
		case 'x':
			i += code(&b, v[i+1:], 16, 2, false)
		case 'u':
			i += code(&b, v[i+1:], 16, 4, true)
		case 'U':
			i += code(&b, v[i+1:], 16, 8, true)
		case 'c':
			if i+1 < len(v) {
				i++
				b.WriteByte(v[i] & 0x1f)
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i += code(&b, v[i:], 8, 3, false) - 1
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// code writes the character whose number stands at the front of v and returns
// how many digits it took.
func code(b *strings.Builder, v string, base, most int, wide bool) int {
	n := 0
	for n < len(v) && n < most {
		if _, err := strconv.ParseUint(v[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	value, err := strconv.ParseUint(v[:n], base, 32)
	switch {
	case err != nil:
		b.WriteByte('\\')
	case wide && utf8.ValidRune(rune(value)):
		b.WriteRune(rune(value))
	default:
		b.WriteByte(byte(value))
	}
	return n
}

// GlobMatch matches a shell pattern against s. It goes back to the last star
// only, which is enough and keeps the cost to the product of the lengths.
func GlobMatch(pattern, s string) bool {
	afterStar, retry := "", ""
	starred := false
	for {
		if strings.HasPrefix(pattern, "*") {
			pattern = pattern[1:]
			afterStar, retry, starred = pattern, s, true
			continue
		}
		if s == "" && pattern == "" {
			return true
		}
		if s != "" {
			if rest, ok := matchOne(pattern, s[0]); ok {
				pattern, s = rest, s[1:]
				continue
			}
		}
		if !starred || retry == "" {
			return false
		}
		retry = retry[1:]
		pattern, s = afterStar, retry
	}
}

// matchOne matches one byte against the front of a pattern that is no star.
func matchOne(pattern string, c byte) (rest string, ok bool) {
	if pattern == "" {
		return "", false
	}
	switch pattern[0] {
	case '?':
		return pattern[1:], true
	case '[':
		ok, rest := classMatch(pattern, c)
		return rest, ok
	case '\\':
		if len(pattern) > 1 {
			pattern = pattern[1:]
		}
	}
	return pattern[1:], pattern[0] == c
}

// classMatch matches c against the bracket expression that pattern begins with.
func classMatch(pattern string, c byte) (bool, string) {
	end := strings.IndexByte(pattern[1:], ']')
	if end < 0 {
		return c == '[', pattern[1:]
	}
	class, rest := pattern[1:end+1], pattern[end+2:]
	negate := strings.HasPrefix(class, "!") || strings.HasPrefix(class, "^")
	if negate {
		class = class[1:]
	}
	in := false
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			in = in || class[i] <= c && c <= class[i+2]
			i += 2
			continue
		}
		in = in || class[i] == c
	}
	return in != negate, rest
}

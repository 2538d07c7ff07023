package word

import (
	"path"
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

// GlobMatch matches a shell pattern against s. Other than in package path, a star matches slashes too.
func GlobMatch(pattern, s string) bool {
	pattern = strings.NewReplacer(`\[`, `\[`, "[!", "[^", "/", "\x00").Replace(pattern)
	ok, err := path.Match(pattern, strings.ReplaceAll(s, "/", "\x00"))
	return ok && err == nil
}

// IsGlob says that GlobMatch can read a pattern.
func IsGlob(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && !strings.Contains(pattern, "[[")
}

package gate

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// maxPieces is how long a line may be that is looked at for what it means and not only for what it says.
const maxPieces = 8 << 10

var (
	piece  = expr(`["'\x60]\s*(?:\+|\.\.|\.|&|\|\||<>|,|\\)?\s*[rbufL]{0,2}["'\x60]`)
	coded  = expr(`[A-Za-z0-9+/_-]{16,}={0,2}`)
	naming = expr(`(?i)(?:\b(?:name|key)["']?\s*[:=]\s*["']?|<key>)[\w.-]*(?:pass|secret|token|key|pwd|credential)`)
	value  = expr(`(?i)^[\s"'-]*(?:value["']?\s*[:=]|<string>)`)
)

// calls and gives say quickly whether a line may name a secret, or give a value.
func calls(text []byte) bool {
	return (bytes.Contains(text, []byte("ame")) || bytes.Contains(text, []byte("ey")) || bytes.Contains(text,
		[]byte("AME")) ||
		bytes.Contains(text, []byte("EY"))) && naming().Match(text)
}

func gives(text []byte) bool {
	return (bytes.Contains(text, []byte("alue")) || bytes.Contains(text, []byte("<string>"))) && value().Match(text)
}

// mayJoin says whether the next line may go on with a literal, or give the value to a name.
func mayJoin(text []byte) bool {
	t := bytes.TrimRight(text, " \t\r,;)")
	return len(t) > 0 && (strings.IndexByte(`"'+\.&(`, t[len(t)-1]) >= 0 || calls(text) || gives(text))
}

// joins says whether a line goes on with the one before it.
func joins(before string, text []byte) bool {
	t := bytes.TrimLeft(text, " \t+.&")
	if len(t) == 0 {
		return false
	}
	was := []byte(before)
	return strings.IndexByte("\"'`", t[0]) >= 0 && !calls(was) || gives(text) && calls(was) || calls(text) && gives(was)
}

// meanings are other texts that a line stands for.
func meanings(before string, text []byte) (all []string) {
	quotes, run, longest, escaped := 0, 0, 0, false
	for i, b := range text {
		switch {
		case b == '"' || b == '\'' || b == '`':
			quotes++
			escaped = escaped || i > 0 && text[i-1] == '\\'
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '_' ||
			b == '-':
			run++
			longest = max(longest, run)
			continue
		}
		run = 0
	}
	line := string(text)
	if escaped {
		line = strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\n`, " ").Replace(line)
		line = strings.TrimRight(strings.TrimSpace(line), `",`)
		if strings.Count(line, `"`)%2 == 1 { // the quote that opened the cell's line
			line = strings.TrimLeft(line, " \t\"")
		}
		if unbalanced := strings.Count(line, `"`)%2 == 1; unbalanced {
			line += `"`
		}
		all = append(all, line)
	}
	if before != "" && value().MatchString(before) {
		before, line = line, strings.TrimLeft(before, " \t-")
	}
	if before != "" {
		line = strings.TrimRight(before, " \t\r,;)+\\.&") + " " + strings.TrimLeft(line, " \t+.&")
		all = append(all, line)
	}
	if quotes > 3 || before != "" {
		if joined := piece().ReplaceAllString(line, ""); joined != line {
			all = append(all, joined)
		}
	}
	if longest >= 16 {
		plain := coded().ReplaceAllStringFunc(line, decoded)
		if plain != line {
			all = append(all, plain)
		}
	}
	return slices.Compact(all)
}

// decoded is what base64 stands for, if that is text.
func decoded(s string) string {
	bare := strings.TrimRight(s, "=")
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		b, err := e.DecodeString(bare)
		if err != nil || len(b) < 8 || !utf8.Valid(b) {
			continue
		}
		if !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > '~' }) {
			return strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", " ")
		}
	}
	return s
}

// fake says that a value obviously stands for a secret and is none, or that a manual has printed it.
func fake(secret string, guess bool) bool {
	lower := strings.ToLower(secret)
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
	}
	if slices.ContainsFunc(published, func(p string) bool { return strings.Contains(secret, p) }) {
		return true
	}
	if strings.Contains(secret, "-----BEGIN") {
		return has([]string{"example", "xxxx", "...", "fake"}) || len(secret) < 120
	}
	if has(fakeWords) || few(secret) {
		return true
	}
	if !guess {
		return false
	}
	// What people read has words in it, and neither figures nor capitals among them.
	return len(secret) < 60 && has(weakWords) ||
		!strings.ContainsAny(secret, "0123456789") && !strings.ContainsAny(secret, "!@#$%^&*+/=?") && !mixed(secret) ||
		strings.ContainsAny(secret, "${}<>()[]") && !strings.ContainsAny(secret, "!@#%^&*")
}

// mixed says that as many letters are capitals as in a random text.
func mixed(s string) bool {
	large := 0
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			large++
		}
	}
	return len(s) >= 12 && large*10 >= 3*len(s) && large*10 <= 8*len(s) && !strings.ContainsAny(s, "_-. ")
}

// few says that a text has hardly any different characters.
func few(s string) bool {
	seen := map[rune]bool{}
	for _, r := range s {
		seen[r] = true
	}
	return len(seen) < 6
}

// decodings are what a text may say in the encodings that a commit can name: rather all than the one it names.
func decodings(data []byte) (all []string) {
	for _, e := range charmap.All {
		if b, err := e.NewDecoder().Bytes(data); err == nil && !bytes.Equal(b, data) {
			all = append(all, string(b))
		}
	}
	seven := expr(`\+([A-Za-z0-9+/]+)-?`)().ReplaceAllStringFunc(string(data), func(s string) string {
		b, err := base64.RawStdEncoding.DecodeString(strings.Trim(s, "+-"))
		if err != nil || len(b) < 2 {
			return s
		}
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
		}
		return string(utf16.Decode(units))
	})
	all = append(all, seven)
	for _, text := range words(string(data)) {
		all = append(all, text)
	}
	return all
}

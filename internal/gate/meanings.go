package gate

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// maxPieces is how long a line may be that is looked at for what it means and not only for what it says.
const maxPieces = 8 << 10

var (
	piece   = expr(`["'\x60]\s*(?:\+|\.\.|\.|&|\|\||<>|,|\\)?\s*[rbufL]{0,2}["'\x60]`)
	escaped = expr(`(?:%|\\x|\\u00)[0-9A-Fa-f]{2}`)
	coded   = expr(`[A-Za-z0-9+/_-]{16,}={0,2}`)
	naming  = expr(`(?i)(?:\b(?:name|key)["']?\s*[:=]\s*["']?|<key>)[\w.-]*(?:pass|secret|token|key|pwd|credential)`)
	value   = expr(`(?i)^[\s"'-]*(?:value["']?\s*[:=]|<string>)`)
)

// calls and gives say whether a line names a secret, or gives a value.
func calls(text []byte) bool { return bytes.ContainsAny(text, "yYmM") && naming().Match(text) }
func gives(text []byte) bool { return bytes.ContainsAny(text, "uU<") && value().Match(text) }

// opens says that a line names what the next one gives a value.
func opens(before []byte) bool {
	end := bytes.TrimRight(before, " \t\r>|-+")
	return len(end) > 0 && (end[len(end)-1] == ':' || end[len(end)-1] == '=')
}

// goesOn says that a line ends with base64 of a text, which need not have ended with it.
func goesOn(before []byte) bool {
	words := bytes.Fields(before)
	last := words[len(words)-1]
	return len(last) >= 16 && len(last)%4 == 0 && !bytes.Equal(decoded(last), last)
}

// joined is a line together with the one before it, if that sets a variable that it uses, or names what it gives a
// value, or the other way round, or if it goes on with a literal; nil otherwise.
func joined(before, text []byte) []byte {
	both := func(a, b []byte) []byte { return slices.Concat(a, []byte(" "), b) }
	end, start := bytes.TrimRight(before, " \t\r,;)"), bytes.TrimLeft(text, " \t+.&")
	switch {
	case len(start) == 0 || len(end) == 0:
	case bytes.Contains(text, []byte("${")):
		name, value, _ := bytes.Cut(bytes.TrimSpace(before), []byte("="))
		return bytes.ReplaceAll(text, slices.Concat([]byte("${"), name, []byte("}")), bytes.Trim(value, `"'`))
	case gives(text) && calls(before):
		return both(end, start)
	case gives(before) && calls(text):
		return both(text, bytes.TrimLeft(before, " \t-"))
	case opens(before) && len(bytes.Fields(start)) == 1:
		return both(bytes.TrimRight(end, " >|-+"), start)
	case len(bytes.Fields(start)) == 1 && goesOn(before): // base64
		return slices.Concat(end, start)
	case strings.IndexByte("\"'`", start[0]) >= 0 && strings.IndexByte(`"'+\.&(`, end[len(end)-1]) >= 0 && !calls(before):
		return both(bytes.TrimRight(end, " +\\.&"), start)
	}
	return nil
}

// meanings are other texts that a line stands for, and the line with those that it goes on.
func meanings(before, text []byte) (all [][]byte, line []byte) {
	line = text
	if bytes.ContainsAny(text, "\"'`:=<$") || opens(before) { // which all that is quoted, named or given has
		line, all = spelled(before, text)
	}
	if hasRun(text, 16, &inSecret, "") {
		for _, s := range slices.Concat(all[max(0, len(all)-1):], [][]byte{line}) {
			all = append(all, coded().ReplaceAllFunc(s, decoded))
		}
	}
	if bytes.ContainsAny(text, `%\`) {
		all = append(all, escaped().ReplaceAllFunc(text, func(s []byte) []byte {
			b, _ := hex.DecodeString(string(s[len(s)-2:]))
			return b
		}))
	}
	return all, line
}

// spelled is a line without quoted quotes and with what belongs to it, and all that it was on the way.
func spelled(before, text []byte) (line []byte, all [][]byte) {
	line = text
	if bytes.Contains(text, []byte(`\"`)) || bytes.Contains(text, []byte(`\'`)) {
		plain := strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\n`, " ").Replace(string(text))
		plain = strings.TrimRight(strings.TrimSpace(plain), `",`)
		if strings.Count(plain, `"`)%2 == 1 { // the quote that opened the cell's line
			plain = strings.TrimLeft(plain, " \t\"")
		}
		if unbalanced := strings.Count(plain, `"`)%2 == 1; unbalanced {
			plain += `"`
		}
		line = []byte(plain)
		all = append(all, line)
	}
	both := joined(before, line)
	if both != nil {
		line = both
		all = append(all, line)
	}
	if both != nil || bytes.Count(text, []byte(`"`))+bytes.Count(text, []byte(`'`))+bytes.Count(text, []byte("`")) > 3 {
		all = append(all, piece().ReplaceAll(line, nil))
	}
	return line, all
}

// decoded is what base64 stands for, if that is text.
func decoded(s []byte) []byte {
	bare := string(bytes.TrimRight(s, "="))
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		b, err := e.DecodeString(bare)
		if err != nil || len(b) < 8 || !utf8.Valid(b) {
			continue
		}
		if !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > '~' }) {
			return bytes.ReplaceAll(bytes.TrimSpace(b), []byte("\n"), []byte(" "))
		}
	}
	return s
}

// fake says that a value obviously stands for a secret and is none, or that a manual has printed it.
func fake(secret string, guess bool) bool {
	lower := strings.ToLower(secret)
	has := func(text, words string) bool {
		return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case has(secret, listed("published")):
		return true
	case strings.Contains(secret, "-----BEGIN"):
		return has(lower, "example xxxx ... fake") || len(secret) < 120
	case has(lower, listed("fake")) || entropy(secret) < 2.3:
		return true
	}
	if !guess {
		return false
	}
	// What people read has words in it, and neither figures nor capitals among them.
	return len(secret) < 60 && has(lower, listed("weak")) ||
		!strings.ContainsAny(secret, "0123456789") && !strings.ContainsAny(secret, "!@#$%^&*+/=?") && !mixed(secret) ||
		strings.ContainsAny(secret, "${}<>()[]") && !strings.ContainsAny(secret, "!@#%^&*")
}

var capital = expr(`[A-Z]`)

// mixed says that as many letters are capitals as in a random text.
func mixed(s string) bool {
	large := len(capital().FindAllString(s, -1))
	return len(s) >= 12 && large*10 >= 3*len(s) && large*10 <= 8*len(s) && !strings.ContainsAny(s, "_-. ")
}

// decodings are what a text may say in the encodings that a commit can name: rather all than the one it names.
func decodings(data []byte) (all []string) {
	for _, e := range charmap.All {
		if b, err := e.NewDecoder().Bytes(data); err == nil && !bytes.Equal(b, data) {
			all = append(all, string(b))
		}
	}
	seven := expr(`\+([A-Za-z0-9+/]+)-?`)().ReplaceAllStringFunc(string(data), func(s string) string {
		if b, err := base64.RawStdEncoding.DecodeString(strings.Trim(s, "+-")); err == nil {
			return strings.ReplaceAll(string(b), "\x00", "") // UTF-16
		}
		return s
	})
	all = append(all, seven)
	for _, text := range words(string(data)) {
		all = append(all, text)
	}
	return all
}

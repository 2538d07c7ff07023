package reading

import (
	"slices"
	"strings"
	"unicode"
)

// Remark says whether words only thank or praise, so that nobody has to do anything about them. Only words of a short
// list make a remark: in doubt it is a wish.
func Remark(text string) bool {
	praise := false
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(".,!;:()*_~-–—\"'’", r)
	})
	for _, word := range words {
		switch {
		case slices.Contains(praising(), word), picture(word):
			praise = true
		case !slices.Contains(filling(), word):
			return false
		}
	}
	return praise && len(words) <= maxRemark
}

// maxRemark bounds a remark, in words.
const maxRemark = 15

func praising() []string {
	return []string{"thanks", "thank", "thx", "ty", "lgtm", "great", "good", "nice", "nicely", "awesome", "excellent",
		"perfect", "lovely", "cool", "fine",
		"cheers", "done", "finished", "ready", "well", "+1", "👍", "neat", "wow", "brilliant", "superb", "bravo", "amazing"}
}

// filling holds words that can't be part of a request.
func filling() []string {
	return []string{"you", "so", "much", "very", "really", "all", "a", "lot", "looks", "looking", "to", "me", "for", "the",
		"this", "that", "it", "is", "its",
		"s", "are", "work", "job", "from", "my", "side", "and", "i", "we", "yes", "ok", "okay", "quick",
		"fixing", "everyone", "both", "pretty",
		"as", "always", "of", "approved", "happy", "with"}
}

// picture says whether a word is nothing but emoji.
func picture(word string) bool {
	for _, r := range word {
		if !unicode.In(r, unicode.So, unicode.Sk, unicode.Variation_Selector) && r != '\u200d' {
			return false
		}
	}
	return word != ""
}

// Wish gives a comment's text, "" if it asks for nothing because it holds only markers or a remark.
func Wish(body string) string {
	if OnlyMarkers(body) || Remark(withoutMarkers(body)) {
		return ""
	}
	return body
}

func withoutMarkers(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if rest, ok := cutMarker(strings.TrimSpace(line)); ok {
			line = rest + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

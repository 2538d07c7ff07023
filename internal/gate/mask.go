package gate

import "strings"

// MaskSecrets hides what looks like a secret in a text of somebody else's.
func MaskSecrets(text string) string {
	if text == "" {
		return ""
	}
	s := newScanner()
	no := 0
	for line := range strings.Lines(text) {
		no++
		s.line("", "", no, []byte(strings.TrimRight(line, "\r\n")))
	}
	s.close("")
	for _, f := range s.found {
		for line := range strings.Lines(f.raw) { // a key may have many
			if line = strings.TrimSpace(line); len(line) >= 8 {
				text = strings.ReplaceAll(text, line, masked(line))
			}
		}
	}
	return text
}

package gate

// Secret says whether a line of text holds what looks like a secret.
func Secret(line string) bool {
	s := newScanner()
	s.line("", "", 1, []byte(line))
	return len(s.found) > 0
}

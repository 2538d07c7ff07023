package gate

// keywords finds many words in one pass over a text, without regard to case: by their first two bytes, which few words
// share.
type keywords struct {
	words []string // in lower case
	by    [1 << 16][]uint16
	lower [256]uint8
}

func newKeywords(words []string) *keywords {
	k := &keywords{words: words}
	for b := range k.lower {
		if k.lower[b] = uint8(b); b >= 'A' && b <= 'Z' {
			k.lower[b] += 'a' - 'A'
		}
	}
	for i, w := range words {
		at := int(w[0])<<8 | int(w[1])
		k.by[at] = append(k.by[at], uint16(i))
	}
	return k
}

// find calls hit for each word in the text with the place behind it.
func (k *keywords) find(text []byte, hit func(word, end int)) {
	if len(text) == 0 {
		return
	}
	next := k.lower[text[0]]
	for i := range len(text) - 1 {
		first := next
		next = k.lower[text[i+1]]
		for _, w := range k.by[int(first)<<8|int(next)] {
			if k.begins(text[i:], k.words[w]) {
				hit(int(w), i+len(k.words[w]))
			}
		}
	}
}

func (k *keywords) begins(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := 2; i < len(word); i++ {
		if k.lower[text[i]] != word[i] {
			return false
		}
	}
	return true
}

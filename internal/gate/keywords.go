package gate

import "github.com/cco-dev/cco/internal/gate/gitleaks"

// keywords finds the words of rules in one pass over a text: by their first two bytes, which few words share. The bit
// that tells small letters from capitals does not count.
type keywords [1 << 12][]*keyword

type keyword struct {
	word  string
	rules []int
}

const anyCase = 0x20

func slot(a, b byte) int { return (int(a|anyCase)<<5 ^ int(b|anyCase)) & (1<<12 - 1) }

func newKeywords(rules []gitleaks.Rule) *keywords {
	k, by := &keywords{}, map[string]*keyword{}
	for i, r := range rules {
		for _, w := range r.Keywords {
			if by[w] == nil {
				by[w] = &keyword{word: w}
				at := slot(w[0], w[1])
				k[at] = append(k[at], by[w])
			}
			by[w].rules = append(by[w].rules, i)
		}
	}
	return k
}

// find calls hit for each rule that has a word in the text, with the place behind it.
func (k *keywords) find(text []byte, hit func(rule, end int)) {
	for i := range max(1, len(text)) - 1 {
		for _, w := range k[slot(text[i], text[i+1])] {
			if w.begins(text[i:]) {
				for _, r := range w.rules {
					hit(r, i+len(w.word))
				}
			}
		}
	}
}

func (w *keyword) begins(text []byte) bool {
	if len(text) < len(w.word) {
		return false
	}
	for i := range len(w.word) {
		if text[i]|anyCase != w.word[i]|anyCase {
			return false
		}
	}
	return true
}

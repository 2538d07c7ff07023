package gate

import (
	"bytes"

	"github.com/cco-dev/cco/internal/gate/gitleaks"
)

// keywords finds the words of rules in one pass over a text: by their first two bytes, which few words share. The bit
// that tells small letters from capitals does not count.
type keywords struct {
	some  [1 << 12]bool // whether there are words: small enough to stay near the processor
	words [1 << 12][]*keyword
}

type keyword struct {
	word  []byte
	rules []int
}

const anyCase = 0x20

func slot(a, b byte) int { return (int(a|anyCase)<<5 ^ int(b|anyCase)) & (1<<12 - 1) }

func newKeywords(rules []gitleaks.Rule) *keywords {
	k, by := &keywords{}, map[string]*keyword{}
	for i, r := range rules {
		for _, w := range r.Keywords {
			if by[w] == nil {
				by[w] = &keyword{word: []byte(w)}
				at := slot(w[0], w[1])
				k.some[at], k.words[at] = true, append(k.words[at], by[w])
			}
			by[w].rules = append(by[w].rules, i)
		}
	}
	return k
}

// find calls hit for each rule that has a word in the text, with the place behind it.
func (k *keywords) find(text []byte, hit func(rule, end int)) {
	for i := range max(1, len(text)) - 1 {
		at := slot(text[i], text[i+1])
		if !k.some[at] {
			continue
		}
		for _, w := range k.words[at] {
			if end := i + len(w.word); end <= len(text) && bytes.EqualFold(text[i:end], w.word) {
				for _, r := range w.rules {
					hit(r, end)
				}
			}
		}
	}
}

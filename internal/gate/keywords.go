package gate

// keywords finds many words in one pass over a text, without regard to case. It is Aho and Corasick's machine with its
// transitions written out: a table of states and classes of bytes.
type keywords struct {
	class [256]uint8
	width int
	next  []uint16
	out   [][]uint16 // what ends in a state
}

// newKeywords builds the machine for words in lower case. What it reports is the index of a word.
func newKeywords(words []string) *keywords {
	k := &keywords{width: 1}
	for _, w := range words {
		for i := range len(w) {
			b := w[i]
			if k.class[b] != 0 {
				continue
			}
			k.class[b] = uint8(k.width)
			if b >= 'a' && b <= 'z' {
				k.class[b-'a'+'A'] = uint8(k.width)
			}
			k.width++
		}
	}
	k.add()
	for n, w := range words {
		at := 0
		for i := range len(w) {
			to := at*k.width + int(k.class[w[i]])
			if k.next[to] == 0 {
				k.next[to] = uint16(k.add())
			}
			at = int(k.next[to])
		}
		k.out[at] = append(k.out[at], uint16(n))
	}
	k.link()
	return k
}

func (k *keywords) add() int {
	k.next = append(k.next, make([]uint16, k.width)...)
	k.out = append(k.out, nil)
	return len(k.out) - 1
}

// link fills in where to go on when a word breaks off.
func (k *keywords) link() {
	fail := make([]uint16, len(k.out))
	var queue []int
	for c := range k.width {
		if to := k.next[c]; to != 0 {
			queue = append(queue, int(to))
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range k.width {
			i := at*k.width + c
			back := k.next[int(fail[at])*k.width+c]
			if k.next[i] == 0 {
				k.next[i] = back
				continue
			}
			to := int(k.next[i])
			fail[to] = back
			k.out[to] = append(k.out[to], k.out[back]...)
			queue = append(queue, to)
		}
	}
}

// find calls hit for each word in the text with the place behind it.
func (k *keywords) find(text []byte, hit func(word, end int)) {
	at := 0
	for i, b := range text {
		at = int(k.next[at*k.width+int(k.class[b])])
		if at != 0 && k.out[at] != nil {
			for _, w := range k.out[at] {
				hit(int(w), i+1)
			}
		}
	}
}

package gate

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/cco-dev/cco/internal/git"
)

// Files that git takes for binary are searched for secrets up to this size, and as far as all of them together have
// this size: reading them takes as long as taking them.
const (
	maxBinary   = 1 << 20
	maxBinaries = 8 << 20
)

// scanBinaries looks for secrets in files whose lines git does not show: UTF-16, or text with a NUL in it. Small ones
// come first, as they are most likely text.
func (x *examination) scanBinaries() error {
	if len(x.unlined) == 0 {
		return nil
	}
	var ask []string
	for _, c := range x.unlined {
		if ask = append(ask, c.isOID); !c.fresh() {
			ask = append(ask, c.wasOID)
		}
	}
	sizes := map[string]int64{}
	if err := x.host.Kinds(x.ctx, ask, func(o git.Object) error {
		if o.Kind == "blob" {
			sizes[o.OID] = o.Size
		}
		return nil
	}); err != nil {
		return err
	}
	slices.SortStableFunc(x.unlined, func(a, b *change) int { return cmp.Compare(sizes[a.isOID], sizes[b.isOID]) })
	var all int64
	for _, c := range x.unlined {
		was, is := sizes[c.wasOID], sizes[c.isOID]
		if was > maxBinary {
			was = 0
		}
		if all += was + is; is > maxBinary || all > maxBinaries {
			x.note("secrets in binary files that are large or many")
			return nil
		}
		if err := x.scanBinary(c, was > 0); err != nil {
			return err
		}
	}
	return nil
}

// scanBinary looks at what a file has that it had not before.
func (x *examination) scanBinary(c *change, before bool) error {
	had := map[string]bool{}
	if before {
		was, err := x.blob(c.wasOID)
		if err != nil {
			return err
		}
		for _, text := range words(was) {
			had[text] = true
		}
	}
	is, err := x.blob(c.isOID)
	if err != nil {
		return err
	}
	for no, text := range words(is) {
		if !had[text] {
			x.secrets.line(c.path, c.commit, no, []byte(text))
		}
	}
	x.secrets.close(c.commit)
	return nil
}

// minWords is how many characters in a row can hold a secret. Random bytes seldom have as many that are text.
const minWords = 12

// words gives the text in a file, as strings(1) does, with the number of its line.
func words(data string) iter.Seq2[int, string] {
	if order, rest := wide(data); order != nil {
		units := make([]uint16, len(rest)/2)
		for i := range units {
			units[i] = order.Uint16([]byte(rest[2*i : 2*i+2]))
		}
		data = string(utf16.Decode(units))
	}
	return func(yield func(int, string) bool) {
		start, no := 0, 1
		for i := range len(data) {
			b := data[i]
			if b >= ' ' && b <= '~' || b == '\t' {
				continue
			}
			if i-start >= minWords && !yield(no, data[start:i]) {
				return
			}
			if start = i + 1; b == '\n' {
				no++
			}
		}
		if len(data)-start >= minWords {
			yield(no, data[start:])
		}
	}
}

// wide says how a UTF-16 text is written, with its mark or without; nil if it is none.
func wide(data string) (binary.ByteOrder, string) {
	switch {
	case strings.HasPrefix(data, "\xff\xfe"):
		return binary.LittleEndian, data[2:]
	case strings.HasPrefix(data, "\xfe\xff"):
		return binary.BigEndian, data[2:]
	}
	var zeros [2]int
	sample := data[:min(len(data), 1000)]
	for i := range len(sample) {
		if sample[i] == 0 {
			zeros[i%2]++
		}
	}
	switch n := len(sample) / 2; {
	case zeros[1] > n*3/4 && zeros[0] < n/8:
		return binary.LittleEndian, data
	case zeros[0] > n*3/4 && zeros[1] < n/8:
		return binary.BigEndian, data
	}
	return nil, data
}

package gate

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// Files that git takes for binary are searched for secrets up to this size, and as far as all of them together have
// this size: reading them takes as long as taking them.
const (
	maxBinary   = 1 << 20
	maxBinaries = 8 << 20
	largeFile   = 1 << 20 // is worth a word
)

// sizes asks for the sizes of files.
func (x *examination) sizes(oids []string) map[string]int64 {
	all := map[string]int64{}
	x.fail(x.host.Kinds(x.ctx, oids, func(o git.Object) error {
		all[o.OID] = o.Size
		return nil
	}))
	return all
}

// scanBinaries looks for secrets in files whose lines git does not show: UTF-16, or text with a NUL in it. Small ones
// come first, as they are most likely text.
func (x *examination) scanBinaries() {
	var ask []string
	for _, c := range x.unlined {
		ask = append(ask, c.wasOID, c.isOID)
	}
	sizes := x.sizes(ask)
	slices.SortStableFunc(x.unlined, func(a, b *change) int { return cmp.Compare(sizes[a.isOID], sizes[b.isOID]) })
	var all int64
	for _, c := range x.unlined {
		had := map[string]bool{}
		if size := sizes[c.wasOID]; size <= maxBinary {
			for _, text := range words(x.blob(c.wasOID)) {
				had[text] = true
			}
			all += size
		}
		if all += sizes[c.isOID]; sizes[c.isOID] > maxBinary || all > maxBinaries {
			x.note("secrets in binary files that are large or many")
			return
		}
		for no, text := range words(x.blob(c.isOID)) {
			if !had[text] {
				x.secrets.line(c.path, c.commit, no, []byte(text))
			}
		}
		x.secrets.close(c.commit)
	}
}

// minWords is how many characters in a row can hold a secret. Random bytes seldom have as many that are text.
const minWords = 12

// words gives the text in a file, as strings(1) does, with the number of its line. Where nearly every other byte is a
// NUL, as in UTF-16, these are left out.
func words(data string) iter.Seq2[int, string] {
	if strings.Count(data, "\x00")*5 > len(data)*2 {
		data = strings.ReplaceAll(data, "\x00", "")
	}
	return func(yield func(int, string) bool) {
		no := 1
		for line := range strings.SplitSeq(data, "\n") {
			for text := range strings.FieldsFuncSeq(line, func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' }) {
				if len(text) >= minWords && !yield(no, text) {
					return
				}
			}
			no++
		}
	}
}

// blobs tells of files that nobody can read, and of large ones.
func (x *examination) blobs() {
	var binary []*change
	var ask []string
	for _, c := range x.changes {
		switch {
		case c.gone() || c.wasOID == c.isOID || x.moved[c.is+c.isOID]:
		case c.binary:
			binary, ask = append(binary, c), append(ask, c.isOID)
		case c.size > largeFile && listingOf(c.path) == nil:
			x.tell(c, "large", Low, line{}, bytesText(c.size))
		}
	}
	sizes := x.sizes(ask)
	for _, c := range binary {
		size := sizes[c.isOID]
		if size > largeFile {
			x.tell(c, "large", Low, line{}, bytesText(size))
		} else if x.isPicture(c) {
			continue
		}
		x.tell(c, "binary", Low, line{}, fmt.Sprintf("a file of %s that nobody can read", bytesText(size)))
	}
}

func bytesText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

var seenOrHeard = expr(`^(?:image|font|audio|video)/|^application/ogg$`)

// isPicture says whether a file is a picture, a font or a sound, as its name says, and nothing that can be started.
func (x *examination) isPicture(c *change) bool {
	if c.is == git.ModeExec || !within(fold(c.path), listed("pictures")) {
		return false
	}
	return seenOrHeard.match(http.DetectContentType([]byte(x.blob(c.isOID))))
}

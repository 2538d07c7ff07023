package gate

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// largeFile is from when on a file is worth a word.
const largeFile = 1 << 20

// picture is a file that nobody can read, and that nobody runs.
type picture struct {
	ends  string
	magic string
	at    int
}

var pictures = [...]picture{
	{"*.png *.apng", "\x89PNG\r\n\x1a\n", 0}, {"*.gif", "GIF8", 0}, {"*.jpg *.jpeg", "\xff\xd8\xff", 0}, {"*.webp",
		"WEBP", 8},
	{"*.ico", "\x00\x00\x01\x00", 0}, {"*.bmp", "BM", 0}, {"*.woff2", "wOF2", 0}, {"*.woff", "wOFF", 0}, {"*.ttf",
		"\x00\x01\x00\x00", 0},
	{"*.ttf", "true", 0}, {"*.otf", "OTTO", 0}, {"*.avif *.heic *.mp4 *.mov *.m4a", "ftyp", 4}, {"*.icns", "icns", 0},
	{"*.mp3", "ID3", 0},
	{"*.tif *.tiff", "II*\x00", 0}, {"*.tif *.tiff", "MM\x00*", 0}, {"*.wav", "WAVE", 8}, {"*.ogg", "OggS", 0},
	{"*.webm", "\x1aE\xdf\xa3", 0},
}

// blobs tells of files that nobody can read, and of large ones.
func (x *examination) blobs() error {
	old := map[string]bool{}
	var ask []string
	by := map[string][]*change{}
	for _, c := range x.changes {
		if c.gone() {
			old[c.wasOID] = true
		}
	}
	for _, c := range x.changes {
		if c.gone() || c.wasOID == c.isOID || old[c.isOID] || c.is == git.ModeGitlink || c.is == git.ModeLink {
			continue
		}
		if c.binary {
			ask = append(ask, c.isOID)
			by[c.isOID] = append(by[c.isOID], c)
		} else if c.size > largeFile && namesOf(c.path) == nil {
			x.large(c, c.size)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	sizes := map[string]int64{}
	if err := x.host.Kinds(x.ctx, ask, func(o git.Object) error {
		sizes[o.OID] = o.Size
		return nil
	}); err != nil {
		return err
	}
	for _, oid := range ask {
		for _, c := range by[oid] {
			size := sizes[oid]
			if size > largeFile {
				x.large(c, size)
			}
			if ok, err := x.isPicture(c, size); err != nil {
				return err
			} else if !ok {
				x.add(Finding{Kind: "binary", Path: c.path,
					Says: fmt.Sprintf("a file of %s that nobody can read", bytesText(size))})
			}
		}
		delete(by, oid)
	}
	return nil
}

func (x *examination) large(c *change, size int64) {
	x.add(Finding{Kind: "large", Path: c.path, Says: bytesText(size)})
}

func bytesText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// isPicture looks at whether a file is the picture, font or sound that its name says.
func (x *examination) isPicture(c *change, size int64) (bool, error) {
	p := strings.ToLower(c.path)
	for _, k := range pictures {
		if !within(p, k.ends) || size > largeFile || c.is == git.ModeExec {
			continue
		}
		text, err := x.blob(c.isOID)
		if err != nil {
			return false, err
		}
		if len(text) >= k.at && bytes.HasPrefix([]byte(text)[k.at:], []byte(k.magic)) {
			return true, nil
		}
	}
	return false, nil
}

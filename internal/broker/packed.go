package broker

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// codings are the ways in which an answer says that it is packed.
func codings(h http.Header) (packed []string) {
	for _, line := range h["Content-Encoding"] {
		for c := range strings.SplitSeq(line, ",") {
			if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" {
				packed = append(packed, c)
			}
		}
	}
	return packed
}

// plain makes an answer one that can be read, counted and masked. The door asks for identity; some gateways pack all
// the same. gzip is undone, as what nearly all of them use. Everything else is refused.
func plain(res *http.Response) error {
	switch packed := codings(res.Header); {
	case len(packed) == 0:
	case len(packed) == 1 && (packed[0] == "gzip" || packed[0] == "x-gzip"):
		res.Header.Del("Content-Length")
		res.ContentLength = -1
		res.Body = &unzipped{from: res.Body}
	default:
		return errPacked
	}
	res.Header.Del("Content-Encoding")
	res.Body = &text{ReadCloser: res.Body}
	return nil
}

var (
	errPacked = errors.New("the model's host packs its answer in a way that was not asked for and that the door can't " +
		"undo")
	errNoText = errors.New("the model's answer is no text: it may be packed, and a key in it could not be masked")
)

// unzipped undoes gzip. It reads nothing before it is asked to, so that an answer's header does not wait for its body.
type unzipped struct {
	from io.ReadCloser
	zip  *gzip.Reader
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.zip == nil {
		var err error
		if u.zip, err = gzip.NewReader(u.from); err != nil {
			return 0, err // io.EOF if there is nothing at all, as for HEAD
		}
	}
	return u.zip.Read(p)
}

func (u *unzipped) Close() error { return u.from.Close() }

// text lets nothing through but UTF-8 without NUL, as which JSON and events are defined: what a host packs without
// saying so, by any means, is soon none, and neither is a wider alphabet in which a key would be spelt with other
// bytes.
type text struct {
	io.ReadCloser
	cut [utf8.UTFMax]byte // the beginning of a character whose rest is still to come
	n   int
}

func (t *text) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	b := p[:n]
	for t.n > 0 && len(b) > 0 && !utf8.FullRune(t.cut[:t.n]) {
		t.cut[t.n], b = b[0], b[1:]
		t.n++
	}
	if t.n > 0 && utf8.FullRune(t.cut[:t.n]) {
		if r, size := utf8.DecodeRune(t.cut[:t.n]); r == utf8.RuneError && size <= 1 {
			return 0, errNoText
		}
		t.n = 0
	}
	if t.n == 0 {
		for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
			if utf8.RuneStart(b[i]) {
				if !utf8.FullRune(b[i:]) {
					t.n = copy(t.cut[:], b[i:])
					b = b[:i]
				}
				break
			}
		}
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 || errors.Is(err, io.EOF) && t.n > 0 {
		return 0, errNoText
	}
	return n, err
}

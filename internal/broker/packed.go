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

// codings are the content codings that an answer names.
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

// plain makes an answer readable, so that it can be counted and masked. The door asks for identity; some gateways pack
// all the same. Nearly all of them use gzip, which is unpacked. Everything else is refused.
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
	errNoText = errors.New("the model's answer is not text: it may be packed, and a key in it could not be masked")
)

// unzipped undoes gzip. It reads nothing before its first Read, so that an answer's header does not wait for its body.
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

// text lets only UTF-8 without NUL through, which JSON and events have to be. Data that a host packs without saying so
// soon breaks that rule, and so does a wider encoding, in which a key would have other bytes.
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

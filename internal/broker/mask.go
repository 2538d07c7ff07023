package broker

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// masker writes asterisks over a secret in what is read through it, even if a read ends within the secret. It holds
// back only what may be the beginning of the secret, so that a stream is not delayed.
type masker struct {
	from   io.ReadCloser
	secret []byte
	held   []byte // read and not yet given
	ready  int    // bytes of held that are safe to give
	err    error
}

func newMasker(from io.ReadCloser, secret string) io.ReadCloser {
	if secret == "" {
		return from
	}
	return &masker{from: from, secret: []byte(secret)}
}

func (m *masker) Close() error { return m.from.Close() }

func (m *masker) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if m.ready == 0 && len(m.held) == 0 && m.err == nil {
		// The common case: nothing is held back.
		n, err := m.from.Read(p)
		m.err = err
		keep := m.cover(p[:n])
		m.held = append(m.held, p[n-keep:n]...)
		if n -= keep; n > 0 {
			return n, nil
		}
	}
	for m.ready == 0 && m.err == nil {
		buf := make([]byte, 4096)
		n, err := m.from.Read(buf)
		m.held, m.err = append(m.held, buf[:n]...), err
		m.ready = len(m.held) - m.cover(m.held)
	}
	if m.err != nil {
		m.ready = len(m.held)
	}
	n := copy(p, m.held[:m.ready])
	m.held, m.ready = m.held[n:], m.ready-n
	if n == 0 {
		return 0, m.err
	}
	return n, nil
}

// cover masks whole secrets in b and says how many bytes at its end may be the beginning of one.
func (m *masker) cover(b []byte) int {
	hide(b, m.secret)
	for n := min(len(m.secret)-1, len(b)); n > 0; n-- {
		if b[len(b)-n] == m.secret[0] && bytes.HasPrefix(m.secret, b[len(b)-n:]) {
			return n
		}
	}
	return 0
}

// hide writes over every secret in b. It looks for the secret's rarest byte first: that is several times as fast as
// bytes.Index, and every byte of every answer passes here.
func hide(b, secret []byte) {
	at := rarest(secret)
	for from := at; from < len(b); {
		i := bytes.IndexByte(b[from:], secret[at])
		if i < 0 {
			return
		}
		start := from + i - at
		from += i + 1
		if bytes.HasPrefix(b[start:], secret) {
			for j := range secret {
				b[start+j] = '*'
			}
			from = start + len(secret) + at
		}
	}
}

// rarest is the index of the secret's byte that is rarest in text.
func rarest(secret []byte) (at int) {
	const rare = "ZQXJKVBYWGPFMUCDLHRSNIOATE9876543210_-zqxjkvbywgpfmucdlhrsnioate"
	best := len(rare)
	for i, c := range secret {
		if n := strings.IndexByte(rare, c); n >= 0 && n < best {
			at, best = i, n
		}
	}
	return at
}

// maskText is for words: errors and headers.
func maskText(s, secret string) string {
	if secret == "" {
		return s
	}
	return strings.ReplaceAll(s, secret, masked)
}

func maskHeader(h http.Header, secret string) {
	if secret == "" {
		return
	}
	for name, values := range h {
		if strings.Contains(name, secret) {
			h.Del(name)
			continue
		}
		for i, v := range values {
			values[i] = maskText(v, secret)
		}
	}
}

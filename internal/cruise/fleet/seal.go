package fleet

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cco-dev/cco/internal/forge"
)

// Sealed is something of a phase that the service keeps and passes on, and that only those with the key read and make.
// What is in clear is bound to what is sealed: a box that is moved to another phase, life, number, kind or name does
// not open.
type Sealed struct {
	Kind   string `json:"kind"`
	Phase  string `json:"phase"`
	Life   int    `json:"life,omitempty"`
	Number int    `json:"number,omitempty"`
	Name   string `json:"name,omitempty"`
	Box    []byte `json:"box"`
}

// The kinds of what is sealed.
const (
	kindState   = "state"
	kindHead    = "head"
	kindSummary = "summary"
	kindEvent   = "event"
	kindDoing   = "doing"
	kindOver    = "over"
)

// mostOpened bounds what comes out of a box: whoever has the key may err.
const mostOpened = 16 << 20

// Key seals. It is made of the key that the user's machines share.
type Key struct {
	shared forge.Key
	aead   cipher.AEAD
}

// NewKey makes the key that seals of the one that machines share.
func NewKey(shared forge.Key) (Key, error) {
	secret, err := hex.DecodeString(shared.Sum("what machines tell each other"))
	if err != nil {
		return Key{}, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return Key{}, err
	}
	aead, err := cipher.NewGCM(block)
	return Key{shared: shared, aead: aead}, err
}

// name makes a name that says nothing to those without the key.
func (k Key) name(use string, parts ...string) string {
	const enough = 32
	return k.shared.Sum("name of "+use, parts...)[:enough]
}

func (s Sealed) bound() []byte {
	return fmt.Appendf(nil, "cco 1 %q %q %d %d %q", s.Kind, s.Phase, s.Life, s.Number, s.Name)
}

// seal puts a value into a box.
func (k Key) seal(s Sealed, v any) (Sealed, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return s, err
	}
	small, err := deflate(data)
	if err != nil {
		return s, err
	}
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // documented never to fail
	s.Box = k.aead.Seal(nonce, nonce, small, s.bound())
	return s, nil
}

// deflate makes data small.
func deflate(data []byte) ([]byte, error) {
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return small.Bytes(), nil
}

// ForgedError says that something was not sealed by one of us, or for something else. It holds no words of theirs.
type ForgedError struct{ Kind string }

func (e *ForgedError) Error() string {
	return "the service has given a " + e.Kind + " that none of your machines has made: is their key the same " +
		"(`cco cruise key`)?"
}

// open reads what is in a box, if it was made by one of us for that phase as that kind of thing.
func (k Key) open(s Sealed, kind, phase string, v any) error {
	n := k.aead.NonceSize()
	if s.Kind != kind || s.Phase != phase || len(s.Box) < n {
		return &ForgedError{Kind: kind}
	}
	small, err := k.aead.Open(nil, s.Box[:n], s.Box[n:], s.bound())
	if err != nil {
		return &ForgedError{Kind: kind}
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(small)), mostOpened+1))
	if err != nil {
		return fmt.Errorf("read a %s: %w", kind, err)
	}
	if len(data) > mostOpened {
		return errors.New("a " + kind + " is too large")
	}
	return json.Unmarshal(data, v)
}

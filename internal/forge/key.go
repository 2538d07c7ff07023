package forge

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Key makes seals that nobody without it can make. It is random and the user's own: programs of cco that share it know
// each other's words. It has nothing to do with any token.
type Key struct{ secret []byte }

const keyLen = 32

// String keeps it out of messages.
func (Key) String() string { return "***" }

// GoString keeps %#v from showing it.
func (Key) GoString() string { return "***" }

// Reveal gives the key as text, for the user to carry to another machine.
func (k Key) Reveal() string { return hex.EncodeToString(k.secret) }

// NewKey makes a key.
func NewKey() Key {
	secret := make([]byte, keyLen)
	_, _ = rand.Read(secret) // documented never to fail
	return Key{secret}
}

// ParseKey reads a key's text. Its errors don't show it.
func ParseKey(text string) (Key, error) {
	secret, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(secret) != keyLen {
		return Key{}, fmt.Errorf("not a key: %d hexadecimal digits are needed", 2*keyLen)
	}
	return Key{secret}, nil
}

// Sum authenticates parts, none of which can be moved into another.
func (k Key) Sum(use string, parts ...string) string {
	h := hmac.New(sha256.New, k.secret)
	for _, p := range append([]string{use}, parts...) {
		_, _ = fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Check says whether a sum is that of these parts.
func (k Key) Check(sum, use string, parts ...string) bool {
	return len(k.secret) == keyLen && hmac.Equal([]byte(sum), []byte(k.Sum(use, parts...)))
}

// Seal is the seal of a record's marker: it holds for that place alone.
func (k Key) Seal(r Record) string {
	return k.Sum("marker", strings.ToLower(r.Repo), strconv.Itoa(r.Number), string(r.Kind), r.Marker)
}

// KeyFile is where a data directory has its key.
func KeyFile(data string) string { return filepath.Join(data, "forge.key") }

// OpenKey reads the key of a data directory, and makes it the first time.
func OpenKey(data string) (Key, error) {
	text, err := os.ReadFile(KeyFile(data))
	if errors.Is(err, os.ErrNotExist) {
		// If another process makes it at this moment, that one counts.
		if err := writeKey(data, NewKey(), os.Link); err != nil && !errors.Is(err, os.ErrExist) {
			return Key{}, err
		}
		text, err = os.ReadFile(KeyFile(data))
	}
	if err != nil {
		return Key{}, fmt.Errorf("read the key of what cco says on forges: %w", err)
	}
	k, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%s is damaged: move it away, or put the key of another machine there with `cco cruise "+
			"key set`: %w", KeyFile(data), err)
	}
	return k, nil
}

// SetKey replaces the key of a data directory.
func SetKey(data string, k Key) error { return writeKey(data, k, os.Rename) }

func writeKey(data string, k Key, place func(from, to string) error) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(data, ".forge.key-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(k.Reveal() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return place(f.Name(), KeyFile(data))
}

package entry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"slices"
	"strings"
	"sync"
	"time"
)

// CodeLife is how long a code lets somebody in.
const CodeLife = time.Minute

// A wrong code is answered late, and few of them are heard at a time. A right one is never kept waiting by them.
const (
	wrongDelay = time.Second
	wrongMost  = 4
	codesMost  = 16
)

// codes are those that nobody has used yet. Each is for somebody: "" is whoever has it.
type codes struct {
	now   func() time.Time
	delay time.Duration

	mu    sync.Mutex
	open  []code
	wrong int // answers that are being delayed
}

type code struct {
	sum   [sha256.Size]byte
	until time.Time
}

func newCodes(now func() time.Time) *codes { return &codes{now: now, delay: wrongDelay} }

func (c *codes) make(whose string) string {
	b := make([]byte, 10)
	_, _ = rand.Read(b) // never fails
	text := strings.ToLower(base32.StdEncoding.EncodeToString(b))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
	if len(c.open) == codesMost {
		c.open = c.open[1:]
	}
	c.open = append(c.open, code{sha256.Sum256([]byte(whose + " " + text)), c.now().Add(CodeLife)})
	return text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
}

func (c *codes) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = nil
}

// drop forgets codes that are too old.
func (c *codes) drop() {
	c.open = slices.DeleteFunc(c.open, func(o code) bool { return !c.now().Before(o.until) })
}

// use says whether a code is right, and makes it useless. busy says that too many wrong ones are being answered.
func (c *codes) use(ctx context.Context, whose, text string) (right, busy bool) {
	text = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), "-", ""))
	given := sha256.Sum256([]byte(whose + " " + text))
	c.mu.Lock()
	c.drop()
	before := len(c.open)
	c.open = slices.DeleteFunc(c.open, func(o code) bool { // all are looked at, so that the time says nothing
		return subtle.ConstantTimeCompare(o.sum[:], given[:]) == 1
	})
	right = len(c.open) < before
	if right || c.wrong >= wrongMost {
		c.mu.Unlock()
		return right, !right
	}
	c.wrong++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrong--
	}()
	select {
	case <-time.After(c.delay):
	case <-ctx.Done():
	}
	return false, false
}

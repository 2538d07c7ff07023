package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
)

// maxHook is more than GitHub sends. A body is read before its sender is known, so only a few are read at once.
const (
	maxHook  = 25 << 20
	maxHooks = 8
)

// Event says that something happened, and where. It holds no text: that is always read from the forge, no matter who
// sent the event and how often.
type Event struct {
	Repo   string // owner/name
	Number int    // 0 if it is about no single pull request
}

// Receiver takes webhooks of every kind of forge. Got must return soon: it is a hint to poll now.
type Receiver struct {
	Secret Secret
	Got    func(Event)

	reading atomic.Int32
}

func (h *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "webhooks are posted", http.StatusMethodNotAllowed)
		return
	}
	defer h.reading.Add(-1)
	if h.reading.Add(1) > maxHooks {
		http.Error(w, "too many at once: polls find what this is about", http.StatusServiceUnavailable)
		return
	}
	e, err := readHook(http.MaxBytesReader(w, r.Body, maxHook), r.Header, h.Secret)
	if _, unsigned := errors.AsType[*signatureError](err); unsigned {
		http.Error(w, "not signed with our secret", http.StatusUnauthorized)
		return
	}
	if err != nil {
		http.Error(w, "not understood", http.StatusBadRequest)
		return
	}
	h.Got(e)
	w.WriteHeader(http.StatusAccepted)
}

// readHook checks the signature of a webhook and reads it. It parses nothing before it has checked the signature.
func readHook(body io.Reader, header http.Header, secret Secret) (Event, error) {
	if secret == "" {
		return Event{}, &signatureError{Why: "no secret is set"}
	}
	kinds := Rows()
	i := slices.IndexFunc(kinds, func(k Row) bool { return header.Get(k.Signature) != "" })
	if i < 0 {
		return Event{}, &signatureError{Why: "it has no signature (set the same secret on the forge)"}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return Event{}, fmt.Errorf("read webhook: %w", err)
	}
	if !kinds[i].Signed(header.Get(kinds[i].Signature), data, secret) {
		return Event{}, &signatureError{Why: "its signature does not match"}
	}
	return kinds[i].Event(data)
}

// readEvent reads a webhook in the form that GitHub and Gitea share.
func readEvent(body []byte) (Event, error) {
	var p struct {
		Repository struct {
			FullName string `json:"full_name"`
		} `json:"repository"`
		Issue struct {
			Number int              `json:"number"`
			Pull   *json.RawMessage `json:"pull_request"`
		} `json:"issue"`
		Pull struct {
			Number int `json:"number"`
		} `json:"pull_request"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return Event{}, fmt.Errorf("read webhook: %w", err)
	}
	e := Event{Repo: Name(p.Repository.FullName, MaxName), Number: p.Pull.Number}
	if e.Number == 0 && p.Issue.Pull != nil {
		e.Number = p.Issue.Number
	}
	return e, nil
}

// inHex checks an HMAC with SHA-256 that is sent in hex behind a prefix.
func inHex(prefix string) func(sent string, body []byte, secret Secret) bool {
	return func(sent string, body []byte, secret Secret) bool {
		mac := hmac.New(sha256.New, []byte(secret.Reveal()))
		_, _ = mac.Write(body)
		return hmac.Equal([]byte(sent), []byte(prefix+hex.EncodeToString(mac.Sum(nil))))
	}
}

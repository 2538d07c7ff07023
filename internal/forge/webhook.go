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
	"strings"
)

// maxHook is more than GitHub sends.
const maxHook = 25 << 20

// Event says that something happened, and where. It holds no words: those are read from the forge, so that there is one
// way for them, whoever sent the event and however often.
type Event struct {
	Repo     string // owner/name
	Number   int    // 0 where it is about no one pull request
	Name     string
	Action   string
	Delivery string
}

// Receiver takes webhooks of GitHub and Gitea. Got must return soon: it is a hint to poll now.
type Receiver struct {
	Secret Secret
	Got    func(Event)
}

func (h *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "webhooks are posted", http.StatusMethodNotAllowed)
		return
	}
	e, err := ReadHook(http.MaxBytesReader(w, r.Body, maxHook), r.Header, h.Secret)
	if _, unsigned := errors.AsType[*SignatureError](err); unsigned {
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

// ReadHook checks the signature of a webhook and reads it. Nothing is parsed before it is known to be signed.
func ReadHook(body io.Reader, header http.Header, secret Secret) (Event, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return Event{}, fmt.Errorf("read webhook: %w", err)
	}
	if err := checkSignature(data, header, secret); err != nil {
		return Event{}, err
	}
	var p struct {
		Action     string `json:"action"`
		Number     int    `json:"number"`
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
	if err := json.Unmarshal(data, &p); err != nil {
		return Event{}, fmt.Errorf("read webhook: %w", err)
	}
	first := func(names ...string) string {
		for _, n := range names {
			if v := header.Get(n); v != "" {
				return Name(v, MaxName)
			}
		}
		return ""
	}
	e := Event{
		Repo: Name(p.Repository.FullName, MaxName), Action: Name(p.Action, MaxName), Number: p.Pull.Number,
		Name: first("X-GitHub-Event", "X-Gitea-Event"), Delivery: first("X-GitHub-Delivery", "X-Gitea-Delivery"),
	}
	if e.Number == 0 && p.Issue.Pull != nil {
		e.Number = p.Issue.Number
	}
	return e, nil
}

// checkSignature wants the HMAC that both forges send, or the older header of Gitea's.
func checkSignature(data []byte, header http.Header, secret Secret) error {
	if secret == "" {
		return &SignatureError{Why: "no secret is set"}
	}
	sent, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok {
		sent = header.Get("X-Gitea-Signature")
	}
	if sent == "" {
		return &SignatureError{Why: "it has no signature (set the same secret on the forge)"}
	}
	got, err := hex.DecodeString(sent)
	if err != nil {
		return &SignatureError{Why: "its signature is not hex"}
	}
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	_, _ = mac.Write(data)
	if !hmac.Equal(mac.Sum(nil), got) {
		return &SignatureError{Why: "its signature does not match"}
	}
	return nil
}

package githubfake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

type hook struct{ url, secret string }

// AddHook posts events of a repository to url, signed with secret.
func (s *Server) AddHook(owner, name, url, secret string) {
	s.change(owner, name, func(r *repo) { r.hooks = append(r.hooks, hook{url, secret}) })
}

// hook posts an event, after the answer to what caused it.
func (s *Server) hook(r *repo, event, action string, p *pull, more object) {
	payload := object{"action": action, "repository": object{"full_name": r.full()}}
	if event == "issue_comment" {
		payload["issue"] = object{"number": p.number, "pull_request": object{}}
	} else {
		payload["pull_request"], payload["number"] = object{"number": p.number}, p.number
	}
	for k, v := range more {
		payload[k] = v
	}
	body := encode(payload)
	for _, h := range r.hooks {
		id := s.id()
		s.posting.Go(func() { post(h, event, id, body) })
	}
}

func post(h hook, event string, id int64, body []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return
	}
	mac := hmac.New(sha256.New, []byte(h.secret))
	_, _ = mac.Write(body)
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", strconv.FormatInt(id, 10))
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

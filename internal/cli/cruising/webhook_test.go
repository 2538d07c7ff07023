package cruising_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

const hookSecret = "a secret of the forge's"

// serveHooks runs the engine in the foreground and gives the address at which it takes webhooks.
func serveHooks(t *testing.T, r *cruisetest.Rig) string {
	t.Helper()
	words, stderr := io.Pipe()
	// The test's own context ends before what is below cleans up.
	p := must.Get(proc.Start(context.WithoutCancel(t.Context()), proc.Cmd{
		Argv: []string{filepath.Join(r.Bin, "cco"), "cruise", "serve", "--webhook", "127.0.0.1:0"}, Dir: r.Repo,
		Env: append(r.Env, "CCO_WEBHOOK_SECRET="+hookSecret), Stdout: io.Discard, Stderr: stderr,
	}))(t)
	t.Cleanup(func() {
		if err := p.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = p.Wait()
		_ = stderr.Close()
	})
	lines := bufio.NewScanner(words)
	address := ""
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "webhooks are taken at "); ok {
			address = at
		}
		if strings.Contains(lines.Text(), "phases are being run") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, words) }()
	if address == "" {
		t.Fatal("the engine says nowhere that it takes webhooks")
	}
	return address
}

// giteaHook is a delivery of Gitea 1.26 for a comment on a pull request, without what nobody reads.
const giteaHook = `{"action":"created","issue":{"id":9,"number":%d,"title":"Add a flag","state":"open",
"is_locked":false,"comments":1,
"pull_request":{"draft":false,"merged":false,"merged_at":null},
"repository":{"id":1,"name":"demo","owner":"ada","full_name":"ada/demo"}},
"comment":{"id":31,"body":"[REVIEW COMPLETE]"},
"repository":{"id":1,"name":"demo","full_name":"ada/demo"},"is_pull":true}`

func postHook(t *testing.T, address, body, secret string) int {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(body))
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Gitea-Event", "issue_comment")
	req.Header.Set("X-Gitea-Event-Type", "pull_request_comment")
	req.Header.Set("X-Gitea-Delivery", "5b1d5c1e-5a7e-4a4e-8c66-3a0c3f5f6c0e")
	req.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestAWebhookWakesItsPhaseThroughTheRealListener(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	address := serveHooks(t, r)
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	slow := func(s cruisetest.Status) bool { return watching(s) && s.Backoff >= 20 }
	woken := func(s cruisetest.Status) bool { return watching(s) && s.Backoff < 20 }
	s := r.Await(id, "slow to look", slow)
	body := fmt.Sprintf(giteaHook, s.PR)
	if code := postHook(t, address, body, "another secret"); code != http.StatusUnauthorized {
		t.Errorf("a forged one is answered with %d", code)
	}
	if other := fmt.Sprintf(giteaHook, s.PR+1); postHook(t, address, other, hookSecret) != http.StatusAccepted {
		t.Error("one about another request is refused")
	}
	if now := r.Status(id); !slow(now) {
		t.Fatalf("they woke it: %+v", now)
	}
	if code := postHook(t, address, body, hookSecret); code != http.StatusAccepted {
		t.Errorf("Gitea's is answered with %d", code)
	}
	r.Await(id, "woken by Gitea's", woken)
	r.Await(id, "slow again", slow)
	r.Fake.AddHook("ada", "demo", address, hookSecret)
	r.Say(cruisetest.Stranger, s.PR, "[REVIEW COMPLETE]\n\nor so a stranger says")
	r.Await(id, "woken by GitHub's", func(s cruisetest.Status) bool { return woken(s) && len(s.Held) == 1 })
	r.Say(cruisetest.Token, s.PR, "[REVIEW COMPLETE]")
	if s = r.Await(id, "over", over); s.End != "review complete" {
		t.Errorf("%+v", s)
	}
}

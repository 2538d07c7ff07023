package phases

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

func TestAWebhookWakesThePhasesOfItsPullRequestAlone(t *testing.T) {
	st := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = st.Close() }()
	for _, p := range []store.Phase{
		{ID: "00000001", PRNumber: 7, PRURL: "https://forge.example/ada/demo/pull/7"},
		{ID: "00000002", PRNumber: 8, PRURL: "https://forge.example/ada/demo/pull/8"},
		{ID: "00000003", PRNumber: 7, PRURL: "https://forge.example/ada/other/pull/7"},
		{ID: "00000004", PRNumber: 7, PRURL: "https://forge.example/ada/demo/pull/7", Ended: true},
	} {
		p.Repo = "/r"
		p.Kind = "planning"
		p.Stage = "watching"
		p.Created = time.Now()
		p.Updated = p.Created
		p.State = json.RawMessage(`{}`)
		must.Do(t, st.SavePhase(t.Context(), p))
	}
	var woken []string
	h := receiver("the secret", st, func(id string) { woken = append(woken, id) })
	const body = `{"action":"created","repository":{"full_name":"ada/demo"},"issue":{"number":7,"pull_request":{}},` +
		`"comment":{"id":1}}`
	for _, signedWith := range []string{"", "another secret"} {
		if code := deliver(h, body, signedWith); code < 400 || len(woken) > 0 {
			t.Errorf("signed with %q: %d, woken %v", signedWith, code, woken)
		}
	}
	if code := deliver(h, body, "the secret"); code >= 300 || !slices.Equal(woken, []string{"00000001"}) {
		t.Errorf("%d, woken %v", code, woken)
	}
}

func deliver(h http.Handler, body, secret string) int {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-GitHub-Event", "issue_comment")
	r.Header.Set("Content-Type", "application/json")
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = mac.Write([]byte(body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

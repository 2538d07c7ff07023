package forge_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/forge"
)

func sign(body, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestWebhooksAreTakenOnlyWhenSigned(t *testing.T) {
	const body = `{"action":"created","issue":{"number":7,"pull_request":{}},"repository":{"full_name":"acme/demo"}}`
	for name, c := range map[string]struct {
		method string
		header map[string]string
		body   string
		secret forge.Secret
		code   int
		number int
	}{
		"signed": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" + sign(body, "s"),
			"X-GitHub-Event": "issue_comment"}, body, "s", 202, 7},
		"signed as Gitea": {"POST", map[string]string{"X-Gitea-Signature": sign(body, "s"),
			"X-Gitea-Event": "issue_comment"}, body, "s", 202, 7},
		"another secret": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" + sign(body, "t")}, body,
			"s", 401, 0},
		"another body": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" + sign("{}", "s")}, body,
			"s", 401, 0},
		"no signature":     {"POST", nil, body, "s", 401, 0},
		"an old kind":      {"POST", map[string]string{"X-Hub-Signature": "sha1=00"}, body, "s", 401, 0},
		"not hex":          {"POST", map[string]string{"X-Hub-Signature-256": "sha256=zz"}, body, "s", 401, 0},
		"no secret is set": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" + sign(body, "")}, body, "", 401, 0},
		"not JSON":         {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" + sign("x", "s")}, "x", "s", 400, 0},
		"not posted":       {"GET", nil, "", "s", 405, 0},
		"an issue": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" +
			sign(`{"issue":{"number":3}}`, "s")}, `{"issue":{"number":3}}`, "s", 202, 0},
		"a pull request": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" +
			sign(`{"pull_request":{"number":4}}`, "s")}, `{"pull_request":{"number":4}}`, "s", 202, 4},
		"a very large body": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" + sign("", "s")},
			strings.Repeat("x", 26<<20), "s", 400, 0},
		"half a signature": {"POST", map[string]string{"X-Hub-Signature-256": "sha256=" + sign(body, "s")[:32]}, body,
			"s", 401, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var got []forge.Event
			h := &forge.Receiver{Secret: c.secret, Got: func(e forge.Event) { got = append(got, e) }}
			r := httptest.NewRequest(c.method, "/", bytes.NewReader([]byte(c.body)))
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.code || (len(got) == 1) != (c.code == http.StatusAccepted) {
				t.Fatalf("%d %+v", w.Code, got)
			}
			if len(got) == 1 && got[0].Number != c.number {
				t.Errorf("%+v", got[0])
			}
		})
	}
}

// Guards against strangers who fill the memory with bodies that are never signed.
func TestOnlyAFewWebhooksAreReadAtOnce(t *testing.T) {
	h := &forge.Receiver{Secret: "s", Got: func(e forge.Event) { t.Errorf("taken: %+v", e) }}
	post := func(body io.Reader) int {
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.Header.Set("X-Hub-Signature-256", "sha256="+sign("another", "s"))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var slow []*io.PipeWriter
	codes := make(chan int)
	for range 8 {
		r, w := io.Pipe()
		slow = append(slow, w)
		go func() { codes <- post(r) }()
	}
	for _, w := range slow {
		if _, err := w.Write([]byte("x")); err != nil { // it is being read
			t.Fatal(err)
		}
	}
	if code := post(strings.NewReader("x")); code != http.StatusServiceUnavailable {
		t.Errorf("one more gives %d", code)
	}
	for _, w := range slow {
		_ = w.Close()
		if code := <-codes; code != http.StatusUnauthorized {
			t.Errorf("%d", code)
		}
	}
	if code := post(strings.NewReader("x")); code != http.StatusUnauthorized {
		t.Errorf("afterwards: %d", code)
	}
}

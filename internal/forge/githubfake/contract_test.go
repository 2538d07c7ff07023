package githubfake

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a check that lets everything pass.
func TestTheContractNotices(t *testing.T) {
	const path = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
	params := map[string]string{"owner": "a", "repo": "b", "issue_number": "1"}
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	r := httptest.NewRequest(http.MethodPost, "/repos/a/b/issues/1/comments", strings.NewReader(`{"body":"x"}`))
	r.Header.Set("Content-Type", "application/json")
	fresh := func() *contract { return &contract{schemas: must.Get(load())(t)} }
	good := fresh()
	whole := encode(good.complete(r, path, 201, object{"body": "x", "user": nil, "created_at": "2026-01-01T00:00:00Z"}))
	good.checkResponse(r, path, params, 201, header, whole)
	good.checkRequest(r, []byte(`{"body":"x"}`), path, params)
	if len(good.broken) != 0 {
		t.Errorf("a right answer is refused: %v", good.broken)
	}
	for name, do := range map[string]func(*contract){
		"a field is missing": func(c *contract) { c.checkResponse(r, path, params, 201, header, []byte(`{"id":1}`)) },
		"a field has another type": func(c *contract) {
			c.checkResponse(r, path, params, 201, header, []byte(strings.Replace(string(whole), `"id":0`, `"id":"0"`, 1)))
		},
		"a status of its own":    func(c *contract) { c.checkResponse(r, path, params, 207, header, whole) },
		"a request without body": func(c *contract) { c.checkRequest(r, []byte(`{}`), path, params) },
		"a number that is none": func(c *contract) {
			c.checkRequest(r, []byte(`{"body":"x"}`), path, map[string]string{"owner": "a", "repo": "b", "issue_number": "x"})
		},
	} {
		c := fresh()
		if do(c); len(c.broken) == 0 {
			t.Errorf("nobody notices: %s", name)
		}
	}
}

func TestTheSchemaNoticesWrongQueries(t *testing.T) {
	for _, query := range []string{"query{viewer{nonsense}}", "query{nodes{id}}",
		"mutation{resolveReviewThread(input:{}){thread{id}}}", "query{"} {
		s := must.Get(New(t.Context(), t.TempDir(), nil))(t)
		s.AddUser("ada", "x")
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/api/graphql",
			strings.NewReader(string(encode(object{"query": query})))))(t)
		req.Header.Set("Authorization", "Bearer x")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		s.Close()
		if len(s.Broken()) == 0 {
			t.Errorf("nobody notices %s", query)
		}
	}
}

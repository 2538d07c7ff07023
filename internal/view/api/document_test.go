package api

import (
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a document that says something else than the answers. CCO_UPDATE=1 writes it anew.
func TestTheDocumentIsWhatIsAnswered(t *testing.T) {
	const file = "../../../docs/api.md"
	want := Document()
	if os.Getenv("CCO_UPDATE") != "" {
		must.Do(t, os.WriteFile(file, []byte(want), 0o644))
	}
	if got := string(must.Get(os.ReadFile(file))(t)); got != want {
		t.Error("docs/api.md is not what the code says: CCO_UPDATE=1 go test ./internal/view/api")
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var types []reflect.Type
	for _, r := range Routes() {
		if r.Says == "" || r.Method == "POST" && r.In == nil || (r.Out == nil) != (len(r.Events) > 0) {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
		all := []any{r.In, r.Out}
		for _, e := range r.Events {
			all = append(all, e.Has)
		}
		for _, v := range all {
			if v != nil {
				collect(reflect.TypeOf(v), seen, &types)
			}
		}
	}
	if len(types) < 30 {
		t.Fatalf("only %d types are found", len(types))
	}
	for _, typ := range types {
		for _, f := range reflect.VisibleFields(typ) {
			if !f.Anonymous && (f.Tag.Get("doc") == "" || f.Tag.Get("json") == "") {
				t.Errorf("%s.%s has no words", typ, f.Name)
			}
		}
	}
}

// Guards against a stream that sends what the document does not name: it sends nothing then, and says why.
func TestStreamsSendWhatIsDocumented(t *testing.T) {
	var search *http.Request
	for _, r := range Routes() {
		if len(r.Events) > 1 {
			search = httptest.NewRequest(r.Method, "/", nil)
			search.Pattern = r.pattern()
		}
	}
	for _, c := range []struct {
		name string
		has  any
		ok   bool
	}{{"hit", Hit{}, true}, {"done", Hit{}, true}, {"hit", Item{}, false}, {"item", Item{}, false}, {"", Hit{}, false}} {
		w := httptest.NewRecorder()
		s := must.Get(openStream(w, search))(t)
		if err := s.send(c.name, "", c.has); (err == nil) != c.ok || strings.Contains(w.Body.String(), "event:") != c.ok {
			t.Errorf("%q with %T: %v, %q", c.name, c.has, err, w.Body)
		}
	}
	if _, err := openStream(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/me", nil)); err == nil {
		t.Error("what is no stream by the document is one")
	}
}

// Guards against one answer that is forgotten: texts in every depth are made safe in one place.
func TestEveryTextIsSafe(t *testing.T) {
	const bad = "a\u202e\x1b[31m\x00\u200bb"
	in := State{Needs: []Need{{Title: bad}}, Live: []Session{{Last: bad}}}
	out := clean(in).(State)
	for _, got := range []string{out.Needs[0].Title, out.Live[0].Last} {
		if got != "a<U+202E><U+001B>[31m<U+0000><U+200B>b" {
			t.Errorf("%q", got)
		}
	}
	detail := clean(SessionDetail{Session: Session{Title: bad}}).(SessionDetail)
	if strings.ContainsRune(detail.Title, '\u202e') {
		t.Errorf("%q", detail.Title)
	}
	one := clean(Safety{Verify: &Verify{Broken: []string{bad}}}).(Safety)
	if strings.ContainsRune(one.Verify.Broken[0], 0) {
		t.Errorf("%q", one.Verify.Broken[0])
	}
}

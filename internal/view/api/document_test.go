package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a document that is none, or that is not about what is answered.
func TestTheDocumentIsOfTheRoutes(t *testing.T) {
	w := httptest.NewRecorder()
	d := &Desk{Now: time.Now, Class: func(error) int { return 2 }}
	d.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, Prefix+"/openapi.json", nil))
	doc := must.Get(openapi3.NewLoader().LoadFromData(w.Body.Bytes()))(t)
	must.Do(t, doc.Validate(t.Context()))
	n := 0
	for _, item := range doc.Paths.Map() {
		n += len(item.Operations())
	}
	if n != len(Routes()) {
		t.Errorf("%d operations are described, and there are %d routes", n, len(Routes()))
	}
	for _, r := range Routes() {
		op := doc.Paths.Value(Prefix + r.Path).GetOperation(r.Method)
		if op == nil || op.Summary == "" || r.Method == http.MethodPost && op.RequestBody == nil {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
	}
	seen := map[reflect.Type]bool{}
	var words func(reflect.Type)
	words = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] || !strings.Contains(of.PkgPath(), "/view/") {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			if f := of.Field(i); f.IsExported() && !f.Anonymous && f.Tag.Get("doc") == "" {
				t.Errorf("%s.%s has no words", of, f.Name)
			}
			words(of.Field(i).Type)
		}
	}
	for _, r := range Routes() {
		for _, v := range []any{r.In, r.Out} {
			if v != nil {
				words(reflect.TypeOf(v))
			}
		}
		for _, e := range r.Events {
			words(reflect.TypeOf(e.Has))
		}
	}
	if len(doc.Components.Schemas) < 30 {
		t.Errorf("only %d types are found", len(doc.Components.Schemas))
	}
}

// Guards against a list that is null: a page that counts what is in it would show nothing at all.
func TestNoListIsNull(t *testing.T) {
	for _, r := range Routes() {
		if r.Out == nil {
			continue
		}
		data := must.Get(json.Marshal(clean(r.Out)))(t)
		if strings.Contains(string(data), "null") {
			t.Errorf("%s %s gives %s", r.Method, r.Path, data)
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
	in := State{Needs: []Need{{Need: attention.Need{Title: bad}}}, Live: []Session{{Last: bad}}}
	out := clean(in).(State)
	for _, got := range []string{out.Needs[0].Title, out.Live[0].Last} {
		if got != "a<U+202E><U+001B>[31m<U+0000><U+200B>b" {
			t.Errorf("%q", got)
		}
	}
	detail := clean(SessionDetail{Session: Session{Session: store.Session{Title: bad}}}).(SessionDetail)
	if strings.ContainsRune(detail.Title, '\u202e') {
		t.Errorf("%q", detail.Title)
	}
	one := clean(Safety{Verify: &app.Verified{Results: []verify.Result{{Detail: bad}}}}).(Safety)
	if strings.ContainsRune(one.Verify.Results[0].Detail, 0) {
		t.Errorf("%q", one.Verify.Results[0].Detail)
	}
}

package githubfake

import (
	"bytes"
	_ "embed" // the schemas
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// The parts of GitHub's own schemas that the fake must follow. testdata/cut.mjs cuts them.
var (
	//go:embed testdata/openapi.json
	openapiJSON []byte
	//go:embed testdata/schema.graphql
	graphqlText string
)

// contract is GitHub's description of its requests and answers.
type contract struct {
	*schemas

	mu     sync.Mutex
	broken []string
}

type schemas struct {
	doc   *openapi3.T
	graph *ast.Schema
}

// load reads the schemas once for all servers of a process, which only read them.
var load = sync.OnceValues(func() (*schemas, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openapiJSON)
	if err != nil {
		return nil, fmt.Errorf("load GitHub's OpenAPI: %w", err)
	}
	graph, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: graphqlText})
	if err != nil {
		return nil, fmt.Errorf("load GitHub's GraphQL schema: %w", err)
	}
	return &schemas{doc, graph}, nil
})

func (c *contract) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.broken) < 50 {
		c.broken = append(c.broken, fmt.Sprintf(format, args...))
	}
}

// checkRequest checks a client's request against the schema.
func (c *contract) checkRequest(r *http.Request, body []byte, path string, params map[string]string) {
	in := c.input(r, path, params)
	in.Request = r.Clone(r.Context())
	in.Request.Body = io.NopCloser(bytes.NewReader(body))
	if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
		c.complain("request %s %s: %v", r.Method, r.URL, brief(err))
	}
}

func (c *contract) input(r *http.Request, path string,
	params map[string]string) *openapi3filter.RequestValidationInput {
	item := c.doc.Paths.Value(path)
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, QueryParams: r.URL.Query(),
		Route: &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: r.Method,
			Operation: item.GetOperation(r.Method)},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true, MultiError: false},
	}
}

// checkResponse checks an answer of the fake against the schema.
func (c *contract) checkResponse(r *http.Request, path string, params map[string]string, status int, header http.Header,
	body []byte) {
	op := c.doc.Paths.Value(path).GetOperation(r.Method)
	if status >= 400 && op.Responses.Value(fmt.Sprint(status)) == nil {
		return // GitHub doesn't document every refusal
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: c.input(r, path, params), Status: status, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)),
	}
	out.Options = out.RequestValidationInput.Options
	if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
		c.complain("response %d to %s %s: %v", status, r.Method, r.URL, brief(err))
	}
}

func brief(err error) string {
	s := err.Error()
	return s[:min(len(s), 1500)]
}

// complete adds to an answer the required fields that the fake does not set. They are checked like the rest.
func (c *contract) complete(r *http.Request, path string, status int, v any) any {
	op := c.doc.Paths.Value(path).GetOperation(r.Method)
	resp := op.Responses.Value(fmt.Sprint(status))
	if resp == nil || resp.Value.Content["application/json"] == nil {
		return v
	}
	return fill(resp.Value.Content["application/json"].Schema.Value, v, 0)
}

// fill completes v by a schema.
func fill(s *openapi3.Schema, v any, depth int) any {
	switch {
	case len(s.AllOf) > 0:
		for _, part := range s.AllOf {
			v = fill(part.Value, v, depth+1)
		}
		return v
	case len(s.OneOf) > 0:
		return fill(s.OneOf[0].Value, v, depth+1)
	case len(s.AnyOf) > 0:
		return fill(s.AnyOf[0].Value, v, depth+1)
	}
	switch given := v.(type) {
	case nil:
		if s.Nullable {
			return nil
		}
	case object:
		return fillObject(s, given, depth)
	case []any:
		if s.Items != nil {
			for i := range given {
				given[i] = fill(s.Items.Value, given[i], depth+1)
			}
		}
		return given
	default:
		return v
	}
	return blank(s, depth)
}

// object is a JSON object in the making.
type object = map[string]any

func fillObject(s *openapi3.Schema, v object, depth int) object {
	for name, p := range s.Properties {
		given, has := v[name]
		if !has && !slices.Contains(s.Required, name) {
			continue
		}
		if has && given == nil {
			continue // null: the check says whether that is allowed
		}
		v[name] = fill(p.Value, given, depth+1)
	}
	return v
}

// blank is the plainest value that a schema allows.
func blank(s *openapi3.Schema, depth int) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type.Is("object"):
		if depth > 12 {
			return object{}
		}
		return fillObject(s, object{}, depth)
	case s.Type.Is("array"):
		return []any{}
	case s.Type.Is("integer"), s.Type.Is("number"):
		return 0
	case s.Type.Is("boolean"):
		return false
	case s.Type.Is("string"):
		switch s.Format {
		case "uri":
			return "https://github.example/"
		case "date-time":
			return "2026-01-01T00:00:00Z"
		}
		return strings.Repeat("x", int(s.MinLength)) // a few characters
	}
	return object{}
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"message":"` + err.Error() + `"}`)
	}
	return data
}

// Package jsontext reads JSON without reflection. The hook reads three texts for every tool call; encoding/json takes
// longer for them than the guard for its decision. It accepts what encoding/json accepts, and gives the same values.
package jsontext

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a value of JSON. The zero value is of no kind.
type Value struct {
	Raw   string  // as it stands in the text
	Items []Field // of an object or array, in their order; a name may come twice
	text  string
}

// Field is what stands in an object, or without a name in an array.
type Field struct {
	Name string
	Value
}

// Parse reads a text that is one value. A name may come twice, and what is no UTF-8 becomes U+FFFD.
func Parse(text string) (Value, error) {
	r := reader{text, jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))}
	if v, err := r.value(); err == nil {
		if _, err = r.in.ReadToken(); errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	return Value{}, errors.New("it is not JSON")
}

// Object says whether it is an object.
func (v Value) Object() bool { return strings.HasPrefix(v.Raw, "{") }

// Null says whether it is null.
func (v Value) Null() bool { return v.Raw == "null" }

// Field is the field of an object with this name. The last one counts, as for encoding/json and for the agents.
func (v Value) Field(name string) (found Value, ok bool) {
	if !v.Object() {
		return Value{}, false
	}
	for _, f := range v.Items {
		if f.Name == name {
			found, ok = f.Value, true
		}
	}
	return found, ok
}

// Text is what a string holds. Null is the empty one, as for encoding/json.
func (v Value) Text() (s string, ok bool) { return v.text, v.Null() || strings.HasPrefix(v.Raw, `"`) }

// Texts are the strings of an array. Null is none.
func (v Value) Texts() (list []string, ok bool) {
	if !strings.HasPrefix(v.Raw, "[") {
		return nil, v.Null()
	}
	list = make([]string, len(v.Items))
	for i, e := range v.Items {
		if list[i], ok = e.Text(); !ok {
			return nil, false
		}
	}
	return list, true
}

// reader reads a text from a place on.
type reader struct {
	text string
	in   *jsontext.Decoder
}

func (r reader) value() (v Value, err error) {
	if kind := r.in.PeekKind(); kind != '{' && kind != '[' {
		raw, err := r.in.ReadValue()
		if err == nil && kind == '"' {
			text, _ := jsontext.AppendUnquote(nil, raw) // an error says only that it was no UTF-8
			v.text = string(text)
		}
		v.Raw = string(raw)
		return v, err
	}
	if _, err := r.in.ReadToken(); err != nil {
		return v, err
	}
	from := r.in.InputOffset() - 1
	for err == nil {
		var f Field
		switch r.in.PeekKind() {
		case '}', ']':
			_, err = r.in.ReadToken()
			v.Raw = r.text[from:r.in.InputOffset()]
			return v, err
		case '"':
			if r.text[from] == '{' {
				var name jsontext.Token
				name, err = r.in.ReadToken()
				f.Name = name.String()
			}
		}
		if err == nil {
			f.Value, err = r.value()
		}
		v.Items = append(v.Items, f)
	}
	return v, err
}

// Quote is s as a JSON string. What is no UTF-8 becomes U+FFFD.
func Quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // which writes it all the same
	return string(b)
}

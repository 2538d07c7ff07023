package jsontext_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard/jsontext"
)

func seeds() []string {
	return []string{
		``, ` `, `null`, ` null `, `true`, `false`, `nul`, `nulll`, `True`, `{}`, ` { } `, `[]`, `[ ]`, `[,]`, `[1,]`,
		`{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`,
		`0`, `-0`, `01`, `-`, `1.`, `.1`, `1.5`, `1e`, `1e+`, `1E-7`, `+1`, `1 2`, `NaN`, `1x`,
		`"a"`, `"a`, `a"`, `"\n"`, `"\x"`, `"\u12"`, `"\u00e4\/\b\f\r\t\"\\"`, "\"\n\"", "\"\x00\"", "\"\x7f\"",
		"\"\xff\xc3\"", "\"\xed\xa0\x80\"",
		`"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx"`, `"\uD83D\u0041"`, `"\ufffd"`,
		`"\ud83d\ufffd"`,
		`{"a":"b","c":[1,"x",{"d":null}],"e":{"f":true}}`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `["a","b"]`, `["a",null]`,
		`["a",1]`, `[["a"]]`,
		"\ufeff{}", "{}\x00", "\v{}", "{\u00a0}", "[\"a\"\r\n,\t\"b\"]",
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
		strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), strings.Repeat(`{"a":`, 10_001) + "1" +
			strings.Repeat("}", 10_001),
	}
}

// same compares every reader with encoding/json on one text.
func same(t *testing.T, text string) {
	t.Helper()
	if got, want := jsontext.Valid(text), json.Valid([]byte(text)); got != want {
		t.Fatalf("valid %v, want %v: %.200q", got, want, text)
	}
	agree(t, text, jsontext.String)
	agree(t, text, jsontext.Bool)
	agree(t, text, jsontext.Strings)
	agree(t, text, func(text string) (map[string]json.RawMessage, error) {
		if jsontext.Null(text) {
			return nil, nil
		}
		fields := map[string]json.RawMessage{}
		return fields, jsontext.Object(text, func(name, value string) error {
			fields[name] = json.RawMessage(value)
			return nil
		})
	})
	agree(t, text, func(text string) ([]json.RawMessage, error) {
		if jsontext.Null(text) {
			return nil, nil
		}
		list := []json.RawMessage{}
		return list, jsontext.Array(text, func(value string) error {
			list = append(list, json.RawMessage(value))
			return nil
		})
	})
}

func agree[T any](t *testing.T, text string, read func(string) (T, error)) {
	t.Helper()
	var want T
	wrong := json.Unmarshal([]byte(text), &want)
	got, err := read(text)
	if (err == nil) != (wrong == nil) {
		t.Fatalf("%T: %v, want %v: %.200q", got, err, wrong, text)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%#v, want %#v: %.200q", got, want, text)
	}
}

func TestReadsAsEncodingJSONDoes(t *testing.T) {
	for _, text := range seeds() {
		same(t, text)
	}
}

func TestFieldsComeInTheirOrder(t *testing.T) {
	var names []string
	err := jsontext.Object(`{"b":1,"a":2,"b":3}`, func(name, _ string) error {
		names = append(names, name)
		return nil
	})
	if err != nil || !slices.Equal(names, []string{"b", "a", "b"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// Guards against acting on the beginning of a text whose end is missing.
func TestNothingIsGivenOfATextThatIsCutOff(t *testing.T) {
	for _, text := range []string{`{"a":1,"b":`, `{"a":1}x`, `{"a":1,"b":[}`} {
		if err := jsontext.Object(text, func(string, string) error {
			t.Errorf("%s: a field was given",
				text)
			return nil
		}); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestQuoteIsReadBack(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "äöü €😀\u2028", "<&>", "\xff"} {
		var got string
		if err := json.Unmarshal([]byte(jsontext.Quote(s)), &got); err != nil || got != string([]rune(s)) {
			t.Errorf("%q became %q: %v", s, got, err)
		}
	}
}

func FuzzSameAsEncodingJSON(f *testing.F) {
	for _, text := range seeds() {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		same(t, text)
		var got string
		if err := json.Unmarshal([]byte(jsontext.Quote(text)), &got); err != nil || got != string([]rune(text)) {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
	})
}

package jsontext_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/guard/jsontext"
	"github.com/cco-dev/cco/internal/must"
)

func seeds() []string {
	return []string{
		``, ` `, `null`, ` null `, `true`, `false`, `nul`, `nulll`, `True`, `{}`, ` { } `, `[]`, `[ ]`, `[,]`, `[1,]`,
		`[1`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`,
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

// same compares what is read with what encoding/json reads of one text.
func same(t *testing.T, text string) {
	t.Helper()
	v, err := jsontext.Parse(text)
	if valid := json.Valid([]byte(text)); valid != (err == nil) {
		t.Fatalf("%v, want %v: %.200q", err, valid, text)
	}
	agree(t, text, v.Text)
	agree(t, text, v.Texts)
	agree(t, text, func() (fields map[string]json.RawMessage, ok bool) {
		if v.Object() {
			fields = map[string]json.RawMessage{}
		}
		for _, f := range v.Items {
			if v.Object() {
				last, _ := v.Field(f.Name)
				fields[f.Name] = json.RawMessage(last.Raw)
			}
		}
		return fields, v.Object() || v.Null()
	})
	agree(t, text, func() (list []json.RawMessage, ok bool) {
		if !strings.HasPrefix(v.Raw, "[") {
			return nil, v.Null()
		}
		list = []json.RawMessage{}
		for _, e := range v.Items {
			list = append(list, json.RawMessage(e.Raw))
		}
		return list, true
	})
}

func agree[T any](t *testing.T, text string, read func() (T, bool)) {
	t.Helper()
	var want T
	wrong := json.Unmarshal([]byte(text), &want)
	got, ok := read()
	if ok != (wrong == nil) {
		t.Fatalf("%T: %v, want %v: %.200q", got, ok, wrong, text)
	}
	if ok && !reflect.DeepEqual(got, want) {
		t.Fatalf("%#v, want %#v: %.200q", got, want, text)
	}
}

func TestReadsAsEncodingJSONDoes(t *testing.T) {
	for _, text := range seeds() {
		same(t, text)
	}
}

func TestFieldsComeInTheirOrder(t *testing.T) {
	v := must.Get(jsontext.Parse(`{"b":1,"a":2,"b":3}`))(t)
	var names []string
	for _, f := range v.Items {
		names = append(names, f.Name+f.Raw)
	}
	if !slices.Equal(names, []string{"b1", "a2", "b3"}) {
		t.Error(names)
	}
}

// Guards against acting on the beginning of a text whose end is missing.
func TestNothingIsGivenOfATextThatIsCutOff(t *testing.T) {
	for _, text := range []string{`{"a":1,"b":`, `{"a":1}x`, `{"a":1,"b":[}`} {
		if v, err := jsontext.Parse(text); err == nil || v.Items != nil || v.Raw != "" {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
}

// Guards against a call that takes longer to read than the hook has time.
func TestLongTextsAreReadInTime(t *testing.T) {
	for _, part := range []string{`\n`, `\ud83d`, "\xff", `a`} {
		text := `"` + strings.Repeat(part, 1<<20/len(part)) + `"`
		takes := func(read func() error) time.Duration {
			start := time.Now()
			must.Do(t, read())
			return time.Since(start)
		}
		for try := 1; ; try++ { // the machine may have been busy with something else
			ours := takes(func() error { _, err := jsontext.Parse(text); return err })
			others := takes(func() error { return json.Unmarshal([]byte(text), new(string)) })
			if ours < 50*others {
				break
			}
			if try == 10 {
				t.Errorf("%q: it takes %v, and encoding/json %v", part, ours, others)
				break
			}
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

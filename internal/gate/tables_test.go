package gate

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a row that is only found to be wrong when a pull needs it: a field that there is not, a reader or a
// kind that nobody knows, an expression that does not compile.
func TestTables(t *testing.T) {
	tables := map[string]any{"places": asking(), "told": told(), "languages": languages(), "limits": limits(),
		"lists": listings(), "marks": marks(), "secrets": ownRows(), "lines": lineClasses(), "hidden": unseenRows(),
		"names": nameRows()}
	for name, rows := range tables {
		for i := range reflect.ValueOf(rows).Len() {
			row := reflect.ValueOf(rows).Index(i)
			for j := range row.NumField() {
				check(t, name, row.Type().Field(j).Name, row.Field(j).Interface())
			}
		}
	}
	for _, f := range must.Get(filepath.Glob("data/*.txt"))(t) {
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		if tables[name] == nil && !slices.Contains([]string{"words", "popular", "expressions"}, name) {
			t.Errorf("%s is no table", f)
		}
		for line := range strings.Lines(file(name)) {
			if strings.HasSuffix(line, " \n") || len(line) > 121 && name != "popular" {
				t.Errorf("%s: a blank at the end, or too long: %s", f, line)
			}
		}
		if regexp.MustCompile(`(?m)^#.*\n  `).MatchString(file(name)) {
			t.Errorf("%s: what follows a comment goes on with nothing", f)
		}
	}
}

func check(t *testing.T, table, field string, value any) {
	t.Helper()
	kind := func(k Kind) {
		if k != "" && !k.Known() {
			t.Errorf("%s: no kind %q", table, k)
		}
	}
	answer := func(r Response) {
		if r != "" && r.order() < 0 {
			t.Errorf("%s: no answer %q", table, r)
		}
	}
	switch v := value.(type) {
	case expression:
		if v != nil {
			v()
		}
	case Kind:
		kind(v)
	case Response:
		answer(v)
	case []key:
		for _, k := range v {
			kind(k.kind)
			answer(k.answer)
			if len(k.paths) == 0 {
				t.Errorf("%s: a key without paths: %+v", table, k)
			}
		}
	case string:
		if table == "secrets" && slices.Contains([]string{"Regex", "Path", "Except", "Around"}, field) {
			regexp.MustCompile(v)
		}
	}
}

// Guards against a list or an expression that is asked for and is not there, and against one that nobody asks for.
func TestNamesInTables(t *testing.T) {
	asked := map[string]bool{}
	for _, f := range must.Get(filepath.Glob("*.go"))(t) {
		for _, m := range regexp.MustCompile(`\b(?:listed|inList|named)\("([\w-]+)"`).FindAllStringSubmatch(
			string(must.Get(os.ReadFile(f))(t)), -1) {
			asked[m[1]] = true
		}
	}
	for _, rows := range []string{"lists", "places", "told"} {
		for _, m := range regexp.MustCompile(`(?m)^registry: (\w+)$`).FindAllStringSubmatch(file(rows), -1) {
			asked[m[1]] = true
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(lists()))); d != "" {
		t.Error(d)
	}
	for _, value := range fields(file("expressions")) {
		regexp.MustCompile(value)
	}
	for _, r := range newScanner().rules {
		for _, w := range r.Keywords {
			if len(w) < 2 || strings.ToLower(w) != w {
				t.Errorf("%s: %q is too short for a keyword, or has capitals", r.ID, w)
			}
		}
	}
}

// The tables that every pull needs; they may take 2 ms.
func BenchmarkTables(b *testing.B) {
	for b.Loop() {
		rows[place]("places")
		rows[place]("told")
		rows[language]("languages")
		rows[limit]("limits")
		rows[listing]("lists")
		rows[mark]("marks")
		rows[ownRule]("secrets")
		rows[lineClass]("lines")
	}
}

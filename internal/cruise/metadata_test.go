package cruise

import (
	"strings"
	"testing"
)

func TestMetadataIsReadStrictly(t *testing.T) {
	good := []string{
		`{"pr_title":"Add a flag","branch_name":"add-a-flag"}`,
		"```json\n{\"pr_title\":\"Add a flag\",\"branch_name\":\"add-a-flag\"}\n```",
		" \n{\"branch_name\":\"x\",\"pr_title\":\"" + strings.Repeat("ä", 72) + "\"}\n",
	}
	for _, s := range good {
		if _, err := ParseMetadata(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	bad := []string{
		"", "sure! here you go: {}", `{}`, `[]`, `{"pr_title":"a","branch_name":"b"} and more`,
		`{"pr_title":"a","branch_name":"b","x":1}`,
		`{"pr_title":"","branch_name":"b"}`, `{"pr_title":"` + strings.Repeat("a", 73) + `","branch_name":"b"}`,
		`{"pr_title":"a","branch_name":"` + strings.Repeat("b", 51) + `"}`, `{"pr_title":"a\u001bb","branch_name":"b"}`,
		"{\"pr_title\":\"a\u202eb\",\"branch_name\":\"b\"}", `{"pr_title":"a","branch_name":"-b"}`,
		`{"pr_title":"a","branch_name":"b;rm -rf"}`,
		`{"pr_title":"a","branch_name":"B"}`, `{"pr_title":"a","branch_name":"` + strings.Repeat("0", 40) + `"}`,
		`{"pr_title":"a","branch_name":"a/b"}`, `{"pr_title":"a","branch_name":"a--b"}`,
		`{"pr_title":"a","branch_name":"$(id)"}`, `{"pr_title":1,"branch_name":"b"}`, "```json\n{}",
		`{"pr_title":"a","branch_name":"b"}{}`,
	}
	for _, s := range bad {
		if m, err := ParseMetadata(s); err == nil {
			t.Errorf("%q passes as %+v", s, m)
		}
	}
}

func TestEveryTaskHasANameWithoutAModel(t *testing.T) {
	for _, task := range []string{"", "\n\n", "# Add a flag --force to `rm`\n\nmore", strings.Repeat("word ", 100),
		strings.Repeat("x", 500),
		"Größe ändern", "日本語だけ", "\x1b[31mred", "- [ ] do it", "$(rm -rf /)", strings.Repeat("ab", 20)} {
		m := FallbackMetadata(task)
		if err := m.Check(); err != nil {
			t.Errorf("%q: %+v: %v", task, m, err)
		}
		if again := FallbackMetadata(task); again != m {
			t.Errorf("%q has two names: %v and %v", task, m, again)
		}
		for _, n := range []int{2, 10, 999} {
			if err := m.Another(n).Check(); err != nil {
				t.Errorf("%q: %v", task, err)
			}
		}
	}
	if got := FallbackMetadata("# Add a flag"); got != (Metadata{"Add a flag", "add-a-flag"}) {
		t.Errorf("%+v", got)
	}
	long := Metadata{Title: "x", Branch: strings.Repeat("a", 50)}
	if err := long.Another(12).Check(); err != nil {
		t.Error(err)
	}
}

package reading

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/safetext"
)

func TestEachNameOfAModelIsTakenOrReplacedByItself(t *testing.T) {
	const own, slug = "Add a flag", "add-a-flag"
	words := strings.Repeat("word ", 20)
	for answer, want := range map[string]Metadata{
		`{"pr_title":"Flag it","branch_name":"flag-it"}`:                             {"Flag it", "flag-it"},
		"```json\n{\"pr_title\":\"Flag it\",\"branch_name\":\"flag-it\"}\n```":       {"Flag it", "flag-it"},
		"Sure {here}: {\"pr_title\":\"Flag it\",\"branch_name\":\"flag-it\"}. Done.": {"Flag it", "flag-it"},
		`{"pr_title":"Flag it","branch_name":"flag-it","why":{"x":1}}`:               {"Flag it", "flag-it"},
		`{"PR_Title":"Flag it","Branch_Name":"Feat/Flag-It"}`:                        {"Flag it", "feat/flag-it"},
		`{"pr_title":"` + strings.Repeat("ä", 72) + `","branch_name":"x"}`:           {strings.Repeat("ä", 72), "x"},
		`{"pr_title":"` + words + `","branch_name":"x"}`:                             {words[:69] + "…", "x"},
		`{"pr_title":"a\u001bb","branch_name":"x"}`:                                  {own, "x"},
		"{\"pr_title\":\"a\u202eb\",\"branch_name\":\"x\"}":                          {own, "x"},
		`{"pr_title":1,"branch_name":"x"}`:                                           {own, "x"},
		`{"branch_name":"x"}`:                                                        {own, "x"},
		`{"pr_title":"Flag it"}`:                                                     {"Flag it", "flag-it"},
		`{"pr_title":"Flag it","branch_name":"` + strings.Repeat("b", 51) + `"}`:     {"Flag it", "flag-it"},
		`{"pr_title":"Flag it","branch_name":"` + strings.Repeat("0", 40) + `"}`:     {"Flag it", "flag-it"},
		`{"pr_title":"日本語"}`:                                                         {"日本語", slug},
		"":                                                                           {own, slug}, "[]": {own, slug},
		"sure! here you go: {}": {own, slug}, "```json\n{": {own, slug},
	} {
		got, notes := NameTask("# Add a flag\n", answer)
		if got != want || got.Check() != nil {
			t.Errorf("%q: %+v, want %+v: %v", answer, got, want, got.Check())
		}
		replaced := got.Title == own || strings.HasSuffix(got.Title, "…") ||
			!strings.Contains(strings.ToLower(answer), `_name":"`+got.Branch+`"`)
		if replaced != (len(notes) > 0) {
			t.Errorf("%q: notes %q", answer, notes)
		}
	}
	for _, bad := range []string{"-b", "b;rm -rf", "a--b", "$(id)", "a/", "/a", "a//b", "../a", "a.lock", "a/-b"} {
		if CheckBranch(bad) == nil {
			t.Errorf("%q passes as a branch", bad)
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
	for task, want := range map[string]Metadata{
		"---\ntitle: x\nkind: plan\n---\n\n# Add a flag\n": {"Add a flag", "add-a-flag"},
		"---\r\ntitle: x\r\n---\r\n# Add a flag\r\n":       {"Add a flag", "add-a-flag"},
		"---\nno end of it\n":                              {"no end of it", "no-end-of-it"},
		"---\n---\nAdd a flag":                             {"Add a flag", "add-a-flag"},
		"# Add a flag\n---\nmore\n---\n":                   {"Add a flag", "add-a-flag"},
	} {
		if got := FallbackMetadata(task); got != want {
			t.Errorf("%q: %+v, want %+v", task, got, want)
		}
	}
	if got := FallbackMetadata(strings.Repeat("word ", 100)).Title; !strings.HasSuffix(got, " word…") {
		t.Errorf("%q is cut within a word", got)
	}
	long := Metadata{Title: "x", Branch: strings.Repeat("a", 50)}
	if err := long.Another(12).Check(); err != nil {
		t.Error(err)
	}
}

// Check refuses names that a forge, git or a shell could take for something else.
func (m Metadata) Check() error {
	if m.Title == "" || strings.TrimSpace(m.Title) != m.Title || safetext.Line(m.Title) != m.Title ||
		len([]rune(m.Title)) > maxTitle {
		return fmt.Errorf("%q is no title of at most %d characters", m.Title, maxTitle)
	}
	return CheckBranch(m.Branch)
}

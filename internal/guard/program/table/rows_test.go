package table

import (
	"os"
	"strings"
	"testing"
)

// list is the list of programs that the guard knows, as the documentation has it.
func list() string {
	var b strings.Builder
	b.WriteString("| programs | what they do |\n|---|---|\n")
	for i := range rows {
		b.WriteString("| `" + strings.Join(strings.Fields(rows[i].names), "`, `") + "` | " + rows[i].inWords() + " |\n")
	}
	return b.String()
}

// The documentation's list of programs is the table's, word for word.
func TestProgramsAreListedInTheDocs(t *testing.T) {
	const name = "../../../../docs/guard-programs.md"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, written, _ := strings.Cut(string(data), "\n\n| programs")
	if want := list(); "| programs"+written != want {
		t.Errorf("%s differs from the table. It should end with:\n%s", name, want)
	}
}

// Guards against a second row of the same kind, which would never be asked.
func TestProgramsHaveOneRowOfAKind(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(list()), "\n")[2:] {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, name := range strings.Split(names, ", ") {
			name = strings.Trim(name, "`")
			told := strings.Split(strings.TrimSpace(Explain(name)), "\n")
			for i, a := range told {
				for _, b := range told[:i] {
					if a == b {
						t.Errorf("%s has two rows that say: %s", name, a)
					}
				}
			}
		}
	}
	if !strings.Contains(Explain("frobnicate"), "no row") {
		t.Error("a program that nobody knows is explained")
	}
}

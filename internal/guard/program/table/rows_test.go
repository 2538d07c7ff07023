package table_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard/program/table"
)

// The documentation's list of programs is the table's, word for word.
func TestProgramsAreListedInTheDocs(t *testing.T) {
	const name = "../../../../docs/guard-programs.md"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(data), "\n\n| programs")
	if want := table.List(); "| programs"+list != want {
		t.Errorf("%s differs from the table. It should end with:\n%s", name, want)
	}
}

// Guards against a second row of the same kind, which would never be asked.
func TestProgramsHaveOneRowOfAKind(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(table.List()), "\n")[2:] {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, name := range strings.Split(names, ", ") {
			name = strings.Trim(name, "`")
			told := strings.Split(strings.TrimSpace(table.Explain(name)), "\n")
			for i, a := range told {
				for _, b := range told[:i] {
					if a == b {
						t.Errorf("%s has two rows that say: %s", name, a)
					}
				}
			}
		}
	}
	if !strings.Contains(table.Explain("frobnicate"), "no row") {
		t.Error("a program that nobody knows is explained")
	}
}

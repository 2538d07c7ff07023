package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// sketch writes tasks in one line each, for comparison.
func sketch(tasks []Task) string {
	var b strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&b, "%d@%d %q", t.Number, t.Line, t.Title)
		for _, f := range t.Fences {
			fmt.Fprintf(&b, " [%d %q]", f.Line, f.Script)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	tests := []struct{ name, plan, want string }{
		{"headings of any level and their separators",
			"# Task 1\n### Task 2: two\n###### Task 3 — three ##\n## Task 4. four\n#\tTask 5\n",
			"1@1 \"Task 1\"\n2@2 \"Task 2: two\"\n3@3 \"Task 3 — three\"\n4@4 \"Task 4. four\"\n5@5 \"Task 5\"\n"},
		{"not headings", "# Task 1\n#Task 2\n####### Task 3\n    ## Task 4\nTask 5\n", "1@1 \"Task 1\"\n"},
		{"headings that only look alike", "# Tasks 1\n# Task list\n# My Task 2\n# TASK 3\n", "3@4 \"TASK 3\"\n"},
		{"underlined headings", "Task 1: a\n===\n\nTask 2\n---\n\n- Task 3\n---\n\n> Task 4\n===\n",
			"1@1 \"Task 1: a\"\n2@4 \"Task 2\"\n"},
		{"a paragraph above an underline is one heading", "some words\nTask 2\n---\nTask 1\nand more\n===\n",
			"1@4 \"Task 1 and more\"\n"},
		{"fences", "# Task 1\n```sh\na\n```\n~~~ bash title=x\nb\n\nc\n~~~\n```SH\n```\n",
			"1@1 \"Task 1\" [3 \"a\\n\"] [6 \"b\\n\\nc\\n\"] [11 \"\"]\n"},
		{"fences in other languages are text",
			"# Task 1\n```go\n# Task 2\n```\n```\n```sh\n```\n```shell\nx\n```\n```console\n```\n", "1@1 \"Task 1\"\n"},
		{"longer fences hold shorter ones", "# Task 1\n````sh\n```\n~~~\n```` \n~~~~sh\n```sh\n~~~\n~~~~~\n",
			"1@1 \"Task 1\" [3 \"```\\n~~~\\n\"] [7 \"```sh\\n~~~\\n\"]\n"},
		{"a closing fence has no info", "# Task 1\n```sh\n``` sh\n```\n", "1@1 \"Task 1\" [3 \"``` sh\\n\"]\n"},
		{"inline code is no fence", "# Task 1\n```sh``` is how\n```sh\na\n```\n", "1@1 \"Task 1\" [4 \"a\\n\"]\n"},
		{"indented fences lose their indent", "# Task 1\n1. so\n\n   ```sh\n   a\n     b\n c\n  ```\n",
			"1@1 \"Task 1\" [5 \"a\\n  b\\nc\\n\"]\n"},
		{"no shell outside of tasks", "```sh\na\n```\n## Task 1\n```sh\nb\n```\n### Steps\n```sh\nc\n```\n## " +
			"Notes\n```sh\nd\n```\n",
			"1@4 \"Task 1\" [6 \"b\\n\"] [10 \"c\\n\"]\n"},
		{"a heading above the task ends it", "## Phase\n### Task 1\n## Phase\n```sh\na\n```\n", "1@2 \"Task 1\"\n"},
		{"what is commented out does not run",
			"# Task 1\n<!-- old:\n# Task 2\n```sh\na\n```\n-->\n<!-- b -->\n```sh\nc\n```\n",
			"1@1 \"Task 1\" [10 \"c\\n\"]\n"},
		{"a comment in shell is shell", "# Task 1\n```sh\n<!-- x\n```\n", "1@1 \"Task 1\" [3 \"<!-- x\\n\"]\n"},
		{"windows lines and a byte order mark", "\ufeff# Task 1\r\n```sh\r\na\r\n```\r\n", "1@1 \"Task 1\" [3 \"a\\n\"]\n"},
		{"deep fences of other languages are text", "# Task 1\n- a\n    ```go\n    ## Task 2\n    ```\n", "1@1 \"Task 1\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tasks := must.Get(Parse([]byte(tt.plan)))(t)
			if got := sketch(tasks); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, plan, want string }{
		{"no tasks", "# Plan\n```sh\na\n```\n", "no task"},
		{"nothing", "", "no task"},
		{"two of a number", "# Task 1\n# Task 2\n# Task 1: again\n", "plan line 3: a second task 1, the first is at line 1"},
		{"no whole number", "# Task 1\n## Task 1.1: x\n", "plan line 2: heading \"Task 1.1: x\""},
		{"a letter", "# Task 2a\n", "plan line 1"},
		{"a number too large", "# Task 99999999999999999999\n", "plan line 1"},
		{"a fence without end", "# Task 1\n```sh\na\n# Task 2\n", "plan line 2: the fence"},
		{"any fence without end", "# Task 1\n~~~go\n```\n", "plan line 2: the fence"},
		{"a comment without end", "# Task 1\n<!-- a\n# Task 2\n", "plan line 2: the comment"},
		{"shell too deep to be sure of", "# Task 1\n- a\n    ```sh\n    b\n    ```\n",
			"plan line 3: a fence that is indented"},
		{"shell behind a tab", "# Task 1\n\t```sh\n\tb\n\t```\n", "plan line 2: a fence that is indented"},
		{"not text", "# Task 1\n\x00\n", "NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tasks, err := Parse([]byte(tt.plan))
			if err == nil {
				t.Fatalf("got %s", sketch(tasks))
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := Parse(nil); !errors.Is(err, ErrNoTasks) {
		t.Errorf("err = %v", err)
	}
}

func TestMarkIsWhatATaskDoes(t *testing.T) {
	base := Task{Number: 1, Title: "Task 1", Line: 3, Fences: []Fence{{4, "a\n"}, {9, "b\n"}}}
	same := Task{Number: 1, Title: "Task 1: now with a title", Line: 5, Fences: []Fence{{6, "a\n"}, {11, "b\n"}}}
	if base.mark() != same.mark() {
		t.Error("moved and renamed, a task is another one")
	}
	for _, other := range []Task{
		{Number: 2, Fences: base.Fences},
		{Number: 1, Fences: []Fence{{4, "a\nb\n"}}},
		{Number: 1, Fences: []Fence{{4, "b\n"}, {9, "a\n"}}},
	} {
		if base.mark() == other.mark() {
			t.Errorf("%v has the mark of %v", other, base)
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/plans/*.md")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		data := must.Get(os.ReadFile(name))(f)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, plan []byte) {
		tasks, err := Parse(plan)
		if err != nil {
			if tasks != nil {
				t.Fatal("tasks beside an error")
			}
			return
		}
		lines := strings.Split(strings.ReplaceAll(string(plan), "\r\n", "\n"), "\n")
		seen := map[int]bool{}
		at := 0
		for _, task := range tasks {
			if seen[task.Number] || task.Line <= at || task.Title == "" {
				t.Fatalf("task %+v after line %d", task, at)
			}
			seen[task.Number], at = true, task.Line
			for _, fence := range task.Fences {
				if fence.Line <= at || fence.Line > len(lines) {
					t.Fatalf("fence %+v after line %d of %d", fence, at, len(lines))
				}
				at = fence.Line
				for i, line := range strings.Split(strings.TrimSuffix(fence.Script, "\n"), "\n") {
					if fence.Script != "" && !strings.HasSuffix(lines[fence.Line-1+i], line) {
						t.Fatalf("line %d of the plan is %q, the script has %q", fence.Line+i, lines[fence.Line-1+i], line)
					}
				}
			}
		}
	})
}

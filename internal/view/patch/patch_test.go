package patch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
)

const sample = `diff --git a/main.go b/main.go
index 1111111..2222222 100644
--- a/main.go
+++ b/main.go
@@ -1,4 +1,5 @@
 package main
 
-func main() {}
+// says "<b>hello</b>"
+func main() { println("hello", 42) }
 
diff --git a/evil.sh b/evil.sh
new file mode 100755
index 0000000..3333333
--- /dev/null
+++ b/evil.sh
@@ -0,0 +1 @@
+echo ` + "a\u202eb\x1b[31m" + `
diff --git a/pic.png b/pic.png
new file mode 100644
index 0000000..4444444
Binary files /dev/null and b/pic.png differ
`

func TestAPatchBecomesColouredLines(t *testing.T) {
	report := gate.Report{Groups: []gate.Group{{Findings: []gate.Finding{
		{Kind: "secrets", Danger: gate.High, Path: "main.go", Line: 4, Text: "+x", Says: "a key"},
		{Kind: "executables", Danger: gate.Medium, Path: "evil.sh", Says: "can be started"},
		{Kind: "tests", Danger: gate.Medium, Path: "main.go", Line: 3, Text: "-x", Says: "weaker"},
	}}}}
	files, _ := Read(t.Context(), sample, Options{Report: report})
	if len(files) != 3 || files[0].Kind != "changed" || files[1].Kind != "added" || !files[2].Binary {
		t.Fatalf("%+v", files)
	}
	got := files[0].Hunks[0].Lines
	if len(got) != 6 || got[2].Op != "-" || got[2].Old != 3 || got[4].New != 4 || got[5].Old != 4 || got[5].New != 5 {
		t.Errorf("%+v", got)
	}
	if len(got[2].Found) != 1 || got[2].Found[0].Says != "weaker" || len(got[4].Found) != 1 ||
		got[4].Found[0].Danger != "high" {
		t.Errorf("findings are not on their lines: %+v", got)
	}
	if f := files[1].Found; len(f) != 1 || f[0].Kind != "executables" {
		t.Errorf("the file's own finding: %+v", f)
	}
	if s := got[1].Text; s != "" {
		t.Errorf("an empty line is %q", s)
	}
	// Guards against text that reads otherwise than it is.
	if s := files[1].Hunks[0].Lines[0].Text; s != "echo a<U+202E>b<U+001B>[31m" {
		t.Errorf("a hostile line is %q", s)
	}
}

// Guards against lines of which a part is not shown and nothing says so, and against a line break that hides.
func TestWhatIsCutSaysSo(t *testing.T) {
	head := "diff --git a/l b/l\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,5000 @@\n"
	long := head + strings.Repeat("+x\n", 5000)
	name := map[bool]string{true: "l"}
	for _, alone := range []bool{false, true} {
		files, _ := Read(t.Context(), long, Options{Alone: name[alone]})
		f := files[0]
		if n := len(f.Hunks[0].Lines); f.Cut == alone || f.Added != 5000 || alone != (n == 5000) ||
			f.Cut != (len(f.Found) == 1 &&
				f.Found[0].Kind == Unseen && strings.Contains(f.Found[0].Says, "3000 more lines")) {
			t.Errorf("alone %v: %d lines, %+v", alone, n, f.Found)
		}
	}
	wide := head + "+" + strings.Repeat("x", 5000) + "evil\n+a\r\n"
	for _, alone := range []bool{false, true} {
		files, _ := Read(t.Context(), wide, Options{Alone: name[alone]})
		got := files[0].Hunks[0].Lines
		if said := len(got[0].Found) == 1 && got[0].Found[0].Kind == Unseen; said == alone ||
			strings.HasSuffix(got[0].Text, "evil") != alone {
			t.Errorf("alone %v: %+v", alone, got[0].Found)
		}
		if got[1].Text != "a<U+000D>" {
			t.Errorf("a carriage return is %q", got[1].Text)
		}
	}
	if files, more := Read(t.Context(), long, Options{Ends: true}); !more || !files[0].Cut {
		t.Error("a patch that ends too soon is called whole")
	}
}

// Guards against files that nobody learns of because others came before them, also where two names look alike.
func TestFilesThatAreNotShownAreNamed(t *testing.T) {
	named := []git.FileStat{{Path: "main.go", Added: 2}, {Path: "evil.sh"}, {Path: "pic.png", Binary: true},
		{Path: "z\ufffdz", Added: 7}, {Path: "z\ufffdz", Added: 8}, {Path: ".husky/x", Added: 9}}
	odd := "diff --git \"a/z\\342\\200\\256z\" \"b/z\\342\\200\\256z\"\nindex 1..2 100644\n@@ -1 +1 @@\n-a\n+b\n"
	report := gate.Report{Groups: []gate.Group{{Findings: []gate.Finding{{Kind: "hooks", Danger: gate.High,
		Path: ".husky/x", Line: 3, Says: "runs"}}}}}
	// A file that became a link is in a patch twice.
	files, more := Read(t.Context(), sample+odd+odd, Options{Report: report, Ends: true, Named: named})
	var got []string
	for _, f := range files[5:] {
		got = append(got, fmt.Sprintf("%s +%d %v %d", f.Path, f.Added, f.Cut, len(f.Found)))
	}
	if want := "z\ufffdz +8 true 1|.husky/x +9 true 2"; !more || strings.Join(got, "|") != want {
		t.Errorf("beyond what is shown are %q", got)
	}
	if files, _ := Read(t.Context(), sample, Options{Named: named}); len(files) != 3 {
		t.Errorf("a patch that is whole has %d files", len(files))
	}
}

// Guards against a patch that takes much more than its size, in time or in room: many files, many pieces, long lines.
func TestHostilePatchesAreBounded(t *testing.T) {
	file := func(i int, lines string) string {
		return fmt.Sprintf("diff --git a/%d.go b/%[1]d.go\n--- a/%[1]d.go\n+++ b/%[1]d.go\n@@ -1 +1,9 @@\n%s", i, lines)
	}
	var many strings.Builder
	for i := range 60_000 {
		many.WriteString(file(i, "+x\n"))
	}
	for _, in := range []string{many.String(), file(1, strings.Repeat("+\n", 4<<20)),
		file(1, "+"+strings.Repeat("a(", 4<<20)),
		file(1, strings.Repeat("+"+strings.Repeat("a(", 900)+"\n", 4000)), file(1, strings.Repeat("+`\"/*\n", 1<<20)),
		strings.Repeat("diff --git \n", 1<<19), strings.Repeat("@@ ", 1<<20)} {
		for _, alone := range []string{"", "1.go"} {
			files, _ := Read(t.Context(), in, Options{Alone: alone})
			size := 0
			for _, f := range files {
				for _, h := range f.Hunks {
					for _, l := range h.Lines {
						size += len(l.Text)
					}
				}
			}
			if len(files) > maxFiles || size > maxBytes+maxLine {
				t.Errorf("%.60q: %d files, %d bytes", in, len(files), size)
			}
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if files, _ := Read(gone, many.String(), Options{}); len(files) != 0 {
		t.Error("it is read for one who is gone")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample)
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) < 1<<12 {
			_, _ = Read(t.Context(), in, Options{})
		}
	})
}

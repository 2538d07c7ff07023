package patch

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/must"
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
	files := must.Get(Read(strings.NewReader(sample), report, ""))(t)
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
	if s := got[0].Spans[0]; s.Class != "k" || s.Text != "package" {
		t.Errorf("a keyword is %+v", s)
	}
	if s := got[3].Spans; len(s) != 1 || s[0].Class != "c" || s[0].Text != `// says "<b>hello</b>"` {
		t.Errorf("a comment is %+v", s)
	}
	// Guards against text that reads otherwise than it is.
	if s := text(files[1].Hunks[0].Lines[0]); s != "echo a<U+202E>b<U+001B>[31m" {
		t.Errorf("a hostile line is %q", s)
	}
}

func text(l Line) string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Guards against a colour that costs a character: each language gets text that is not its own too.
func TestColoursChangeNoText(t *testing.T) {
	in := []string{"", "a: [1, \"x\"] # c", "<a href='x'>&amp;</a> {{.X}} `q`", "def f(x): return \"\"\" y", "/* open",
		"-- z \\", "", ""}
	files := must.Get(lexers.ReadDir("lexers"))(t)
	seen := map[string]bool{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".xml")
		l := languages().Get(name)
		if l == nil {
			continue
		}
		seen[name] = true
		for _, glob := range l.Config().Filenames {
			out := newPainter(strings.ReplaceAll(glob, "*", "x")).paint(in)
			for i := range in {
				if got := text(Line{Spans: out[i]}); got != in[i] {
					t.Errorf("%s: %q became %q", name, in[i], got)
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d languages are known by their files' names", len(seen))
	}
}

func TestLongFilesAreCutUntilTheyAreAskedFor(t *testing.T) {
	var b strings.Builder
	b.WriteString("diff --git a/l b/l\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,5000 @@\n")
	b.WriteString(strings.Repeat("+x\n", 5000))
	for only, want := range map[string]int{"": maxFile, "l": 5000} {
		f := must.Get(Read(strings.NewReader(b.String()), gate.Report{}, only))(t)[0]
		if n := len(f.Hunks[0].Lines); n != want || f.Cut != (want < 5000) || f.Added != 5000 {
			t.Errorf("%q: %d lines, cut %v, %d added", only, n, f.Cut, f.Added)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample)
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) < 1<<12 {
			_, _ = Read(strings.NewReader(in), gate.Report{}, "")
		}
	})
}

package forge_test

import (
	"testing"

	"github.com/cco-dev/cco/internal/forge"
)

const aDiff = `diff --git a/one.txt b/one.txt
index 1..2 100644
--- a/one.txt
+++ b/one.txt
@@ -2,4 +2,5 @@ func
 two
-three
+THREE
+three and a half
 four
 
@@ -20 +21,0 @@
--- looks like a header
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
\ No newline at end of file
diff --git "a/sp\303\244ce.txt" "b/sp\303\244ce.txt"
new file mode 100644
--- /dev/null
+++ "b/sp\303\244ce.txt"
@@ -0,0 +1 @@
+++ hello
`

func TestDiffKnowsItsLines(t *testing.T) {
	d := forge.ParseDiff(aDiff)
	for _, c := range []struct {
		path string
		line int
		old  bool
		want string
		ok   bool
	}{
		{"one.txt", 2, false, "two", true}, {"one.txt", 2, true, "two", true}, {"one.txt", 3, true, "three", true},
		{"one.txt", 3, false, "THREE", true}, {"one.txt", 4, false, "three and a half", true},
		{"one.txt", 5, false, "four", true},
		{"one.txt", 6, false, "", true}, {"one.txt", 7, false, "", false}, {"one.txt", 1, false, "", false},
		{"one.txt", 20, true, "-- looks like a header", true}, {"one.txt", 20, false, "", false},
		{"gone.txt", 1, true, "bye", true}, {"gone.txt", 1, false, "", false}, {"späce.txt", 1, false, "++ hello", true},
		{"absent", 1, false, "", false},
	} {
		if got, ok := d.Line(c.path, c.line, c.old); got != c.want || ok != c.ok {
			t.Errorf("%s:%d (old %v) is %q %v", c.path, c.line, c.old, got, ok)
		}
	}
}

func TestFitMovesWhatDoesNotFit(t *testing.T) {
	r := forge.Review{Body: "words", Lines: []forge.LineComment{{Path: "one.txt", Line: 3, Body: "a"},
		{Path: "one.txt", Line: 99, Body: "b"}, {Path: "no`pe", Line: 0, Body: "c"}}}
	fit, moved := forge.ParseDiff(aDiff).Fit(r)
	if moved != 2 || len(fit.Lines) != 1 || fit.Body != "words\n\n`one.txt:99`: b\n\n`no'pe`: c" {
		t.Errorf("%d %+v", moved, fit)
	}
}

func FuzzParseDiff(f *testing.F) {
	f.Add(aDiff)
	f.Add("@@ -1,99999999999 +x @@\n+")
	f.Fuzz(func(_ *testing.T, s string) {
		forge.ParseDiff(s)
		forge.Diff{}.Add("x", s)
	})
}

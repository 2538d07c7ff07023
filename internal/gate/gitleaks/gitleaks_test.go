package gitleaks

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/cco-dev/cco/internal/must"
)

var update = flag.Bool("update", false, "write table.go")

type fileAllow struct {
	Paths, Regexes, Stopwords []string
	RegexTarget, Condition    string
}

type ruleFile struct {
	Allowlist fileAllow
	Rules     []struct {
		ID, Description, Regex, Path string
		Entropy                      float64
		Keywords                     []string
		SecretGroup                  int
		Allowlists                   []fileAllow
	}
}

// Guards against a table that isn't what the pinned file says.
func TestTableIsGenerated(t *testing.T) {
	want := generate(t)
	if *update {
		must.Do(t, os.WriteFile("table.go", want, 0o644))
	}
	if got := must.Get(os.ReadFile("table.go"))(t); !bytes.Equal(got, want) {
		t.Error("table.go is not what gitleaks.toml says: run go generate")
	}
}

// Guards against an expression that Go's regexp does not know: it would be found at the first secret.
func TestExpressionsCompile(t *testing.T) {
	try := func(list ...string) {
		for _, e := range list {
			if _, err := regexp.Compile(e); err != nil {
				t.Error(err)
			}
		}
	}
	for _, r := range Rules() {
		try(r.Regex, r.Path)
		for _, a := range r.Allow {
			try(append(a.Paths, a.Regexes...)...)
		}
	}
	try(append(Global().Paths, Global().Regexes...)...)
}

func generate(t *testing.T) []byte {
	var f ruleFile
	must.Get(toml.DecodeFile("gitleaks.toml", &f))(t)
	var b bytes.Buffer
	b.WriteString("// Code generated from gitleaks.toml by go generate. DO NOT EDIT.\n\npackage gitleaks\n\n")
	b.WriteString("//nolint:lll // expressions are as long as they are\n")
	fmt.Fprintf(&b, "var global = %s\n\n//nolint:lll // the same\nvar rules = [...]Rule{\n", allow(f.Allowlist))
	for _, r := range f.Rules {
		fmt.Fprintf(&b, "{ID: %q, Says: %q,\nRegex: %s,\n", r.ID, r.Description, quote(r.Regex))
		if r.Path != "" {
			fmt.Fprintf(&b, "Path: %s,\n", quote(r.Path))
		}
		if r.Entropy != 0 {
			fmt.Fprintf(&b, "Entropy: %v,\n", r.Entropy)
		}
		if r.SecretGroup != 0 {
			fmt.Fprintf(&b, "Group: %d,\n", r.SecretGroup)
		}
		if strings.Contains(r.Regex, `\s\S`) || strings.Contains(r.Regex, `(?s`) || strings.Contains(r.Regex, `(?:.|`) {
			b.WriteString("Lines: true,\n")
		}
		for i := range r.Keywords {
			r.Keywords[i] = strings.ToLower(r.Keywords[i])
		}
		b.WriteString(list("Keywords", r.Keywords))
		if len(r.Allowlists) > 0 {
			b.WriteString("Allow: []Allow{\n")
			for _, a := range r.Allowlists {
				b.WriteString(strings.TrimPrefix(allow(a), "Allow") + ",\n")
			}
			b.WriteString("},\n")
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return must.Get(format.Source(b.Bytes()))(t)
}

func allow(a fileAllow) string {
	for i := range a.Stopwords {
		a.Stopwords[i] = strings.ToLower(a.Stopwords[i])
	}
	s := "Allow{\n" + list("Paths", a.Paths) + list("Regexes", a.Regexes) + list("Words", a.Stopwords)
	if a.RegexTarget != "" {
		s += fmt.Sprintf("Target: %q,\n", a.RegexTarget)
	}
	if a.Condition == "AND" {
		s += "All: true,\n"
	}
	return s + "}"
}

func list(name string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: []string{", name)
	for i, w := range words {
		if b.WriteString(quote(w)); i < len(words)-1 {
			b.WriteString(", ")
		}
		if i%12 == 11 {
			b.WriteString("\n")
		}
	}
	b.WriteString("},\n")
	return b.String()
}

func quote(s string) string {
	if strings.Contains(s, "`") {
		return fmt.Sprintf("%q", s)
	}
	return "`" + s + "`"
}

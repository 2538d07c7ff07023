package gate

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// caseFile is a file as git has it: Mode is "100644", "100755" or, for a link whose target is Content, "120000".
type caseFile struct{ Content, Mode string }

// labelledCase is one commit on top of another, and what the gate should say about it. README.md beside the cases says
// how they are written.
type labelledCase struct {
	Set, ID        string
	Kinds, Answers []string // each is right; "harmless" with "tell" may be told, but must not ask
	Says           string   // what the telling line should contain; may be empty
	Message        string   // of the second commit; empty means that any will do
	Headers        []string // lines of the second commit's object, in place of its own or beside them
	Before, After  map[string]caseFile
}

var (
	fill     = regexp.MustCompile(`⟦(\d{1,4}) (.+?)⟧`)
	removed  = regexp.MustCompile(`(?m)^-.*\n`)
	added    = regexp.MustCompile(`(?m)^\+.*\n`)
	markOf   = regexp.MustCompile(`(?m)^[ +-]`)
	unmarked = regexp.MustCompile(`(?m)^[^ +\n-]`)
)

// loadCases returns every case, in the order of the files.
func loadCases(t testing.TB) (all []labelledCase) {
	t.Helper()
	for _, f := range must.Get(filepath.Glob("testdata/labelled/*.txt"))(t) {
		text := must.Get(os.ReadFile(f))(t)
		for _, section := range strings.Split("\n"+string(text), "\n@@ ")[1:] {
			head, body, _ := strings.Cut(section, "\n")
			word, rest, _ := strings.Cut(head, " ")
			if word != "case" {
				all[len(all)-1].add(t, word, rest, strings.TrimSuffix(body, "\n"))
				continue
			}
			label := append(strings.SplitN(rest, " ", 4), "", "", "")
			all = append(all, labelledCase{
				Set: strings.TrimSuffix(filepath.Base(f), ".txt"), ID: label[0], Says: label[3],
				Kinds: strings.Split(label[1], "/"), Answers: strings.Split(label[2], "/"),
				Before: map[string]caseFile{}, After: map[string]caseFile{},
			})
		}
	}
	return all
}

func (c *labelledCase) add(t testing.TB, word, rest, body string) {
	t.Helper()
	if word == "header" {
		c.Headers = append(c.Headers, rest)
		return
	}
	body = fill.ReplaceAllStringFunc(body, func(s string) string {
		m := fill.FindStringSubmatch(s)
		return strings.Repeat(m[2], must.Get(strconv.Atoi(m[1]))(t))
	})
	file := caseFile{body + "\n", "100644"}
	paths := []string{}
	for _, arg := range strings.Fields(rest) {
		switch arg {
		case "exec":
			file.Mode = "100755"
		case "link":
			file = caseFile{body, "120000"}
		case "quoted":
			file.Content = must.Get(strconv.Unquote(`"` + body + `"`))(t)
		case "base64":
			file.Content = string(must.Get(base64.StdEncoding.DecodeString(body))(t))
		default:
			paths = append(paths, arg)
		}
	}
	was := file
	switch word {
	case "message":
		c.Message = file.Content
		return
	case "edit":
		if unmarked.MatchString(body) {
			t.Fatalf("%s: %s: a line has no mark", c.ID, rest)
		}
		was.Content = markOf.ReplaceAllString(added.ReplaceAllString(file.Content, ""), "")
		file.Content = markOf.ReplaceAllString(removed.ReplaceAllString(file.Content, ""), "")
	case "chmod":
		file.Mode = "100755"
	case "add", "del", "same", "move":
	default:
		t.Fatalf("%s: unknown word %q", c.ID, word)
	}
	if word != "add" {
		c.Before[paths[0]] = was
	}
	if word != "del" {
		c.After[paths[len(paths)-1]] = file
	}
}

const (
	caseKinds   = " install hook open agent build test-run ci deps review prose tests secret unknown harmless "
	caseAnswers = " ask tell refuse none "
)

func TestEveryCaseIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range loadCases(t) {
		if seen[c.ID] {
			t.Errorf("%s: the id is there twice", c.ID)
		}
		seen[c.ID] = true
		for _, k := range c.Kinds {
			if !strings.Contains(caseKinds, " "+k+" ") {
				t.Errorf("%s: unknown kind %q", c.ID, k)
			}
		}
		for _, a := range c.Answers {
			if !strings.Contains(caseAnswers, " "+a+" ") {
				t.Errorf("%s: unknown answer %q", c.ID, a)
			}
		}
		if kind := c.Kinds[0]; slices.Contains(c.Answers, "none") && kind != "harmless" && kind != "secret" {
			t.Errorf("%s: a risky change that nothing should be said about", c.ID)
		}
		if c.Message == "" && len(c.Headers) == 0 && maps.Equal(c.Before, c.After) {
			t.Errorf("%s: nothing changes", c.ID)
		}
	}
}

// TestAmounts guards the bars that are measured on the sets: a case that gets lost makes them easier to reach.
func TestAmounts(t *testing.T) {
	got := map[string]int{}
	for _, c := range loadCases(t) {
		half := strings.TrimRight(c.Set, "0123456789")
		risk := "risky"
		if c.Kinds[0] == "harmless" || c.Answers[0] == "none" {
			risk = "harmless"
		}
		got[half+" "+risk]++
		if half == "a" || half == "b" {
			got["both "+risk]++
			if risk == "risky" {
				got["both "+c.Kinds[0]]++
			}
		}
	}
	for what, least := range map[string]int{
		"a risky": 210, "b risky": 210, "both risky": 420, "a harmless": 110, "b harmless": 110, "both harmless": 220,
		"both secret": 120, "both tests": 60, "both deps": 60, "moves risky": 80,
		"held-back risky": 60, "held-back harmless": 30,
	} {
		if got[what] < least {
			t.Errorf("%s: %d cases, want at least %d", what, got[what], least)
		}
	}
	t.Log(got)
}

// Package gateset gives the gate's tests labelled changes to examine. README.md describes them and their format.
package gateset

import (
	"embed"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// File is a file as git has it: Mode is "100644", "100755" or, for a link whose target is Content, "120000".
type File struct{ Content, Mode string }

// Case is one commit on top of another, and what the gate should say about it.
type Case struct {
	Set, ID        string
	Kinds, Answers []string // each is right; "harmless" with "tell" may be told, but must not ask
	Says           string   // what the telling line should contain; may be empty
	Message        string   // of the second commit; empty means that any will do
	Headers        []string // lines of the second commit's object, in place of its own or beside them
	Before, After  map[string]File
}

//go:embed testdata
var data embed.FS

var (
	fill     = regexp.MustCompile(`⟦(\d{1,4}) (.+?)⟧`)
	removed  = regexp.MustCompile(`(?m)^-.*\n`)
	added    = regexp.MustCompile(`(?m)^\+.*\n`)
	mark     = regexp.MustCompile(`(?m)^[ +-]`)
	unmarked = regexp.MustCompile(`(?m)^[^ +\n-]`)
)

// Load returns every case, in the order of the files.
func Load(t testing.TB) (all []Case) {
	t.Helper()
	for _, f := range must.Get(data.ReadDir("testdata"))(t) {
		text := must.Get(data.ReadFile("testdata/" + f.Name()))(t)
		for _, section := range strings.Split("\n"+string(text), "\n@@ ")[1:] {
			head, body, _ := strings.Cut(section, "\n")
			word, rest, _ := strings.Cut(head, " ")
			if word != "case" {
				all[len(all)-1].add(t, word, rest, strings.TrimSuffix(body, "\n"))
				continue
			}
			label := append(strings.SplitN(rest, " ", 4), "", "", "")
			all = append(all, Case{
				Set: strings.TrimSuffix(f.Name(), ".txt"), ID: label[0], Says: label[3],
				Kinds: strings.Split(label[1], "/"), Answers: strings.Split(label[2], "/"),
				Before: map[string]File{}, After: map[string]File{},
			})
		}
	}
	return all
}

func (c *Case) add(t testing.TB, word, rest, body string) {
	t.Helper()
	if word == "header" {
		c.Headers = append(c.Headers, rest)
		return
	}
	body = fill.ReplaceAllStringFunc(body, func(s string) string {
		m := fill.FindStringSubmatch(s)
		return strings.Repeat(m[2], must.Get(strconv.Atoi(m[1]))(t))
	})
	file := File{body + "\n", "100644"}
	paths := []string{}
	for _, arg := range strings.Fields(rest) {
		switch arg {
		case "exec":
			file.Mode = "100755"
		case "link":
			file = File{body, "120000"}
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
		was.Content = mark.ReplaceAllString(added.ReplaceAllString(file.Content, ""), "")
		file.Content = mark.ReplaceAllString(removed.ReplaceAllString(file.Content, ""), "")
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

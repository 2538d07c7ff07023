package cruisetest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

var shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// Lines are all lines of shell in a document.
func Lines(t testing.TB, file string) string {
	t.Helper()
	var all strings.Builder
	for _, m := range shell.FindAllStringSubmatch(string(must.Get(os.ReadFile(file))(t)), -1) {
		all.WriteString(m[1])
	}
	if strings.Count(all.String(), "\n") < 20 {
		t.Fatalf("only these lines are in %s: is the pattern still right?\n%s", file, &all)
	}
	return all.String()
}

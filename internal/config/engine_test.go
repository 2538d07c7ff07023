package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func userFile(t *testing.T, text string) Sources {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return Sources{UserFile: file, Home: "/home/u"}
}

// Guards against a password in a file that people show, and in the error that says so.
func TestAnAddressHasNoPassword(t *testing.T) {
	for text, want := range map[string]string{
		`database = "postgres://cco:hunter2@db.example/cco"`:           "engine.password",
		`database = "postgres://cco@db.example/cco?password=hunter2"`:  "engine.password",
		`database = "postgres://cco@db.example/cco?sslPassword=hunte"`: "engine.password",
		`database = "postgres://cco:hunter2%zz@db.example/cco"`:        "is not an address",
		`database = "mysql://cco@db.example/hunter2"`:                  "is not an address",
		`database = "postgres:///cco"`:                                 "names no host",
		`database = "postgres://a.example,b.example/cco"`:              "or several",
		`database = "postgres://db.example"`:                           "names no database",
		`password = "hunter2"`:                                         "want a table",
		`password = {file = "/f", bearer = true}`:                      "bearer",
		`accept = ["everything"]`:                                      "there are plaintext and unverified",
	} {
		_, _, err := Load(userFile(t, "[engine]\n"+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunte") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, fine := range []string{"postgres:///cco?host=/run/postgresql", "postgresql://cco@localhost/cco"} {
		if c, _, err := Load(userFile(t, "[engine]\ndatabase = \""+fine+"\"\n")); err != nil || c.Engine.Database != fine {
			t.Errorf("%s: %+v, %v", fine, c.Engine, err)
		}
	}
}

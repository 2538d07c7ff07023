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

// Guards against a label that looks like a box or an agent, and so lets phases go where those are not.
func TestLabelsOfWorkers(t *testing.T) {
	for text, want := range map[string]string{
		`labels = ["box:work"]`: `"box:work" is not a label`, `labels = ["GPU"]`: "small letters", `labels = [""]`: `""`,
		`labels = ["a b"]`: `"a b"`, `labels = "gpu"`: "labels", `slots = 0`: "from 1", `slots = "many"`: "whole number",
		`labels = ["` + strings.Repeat("x", 64) + `"]`: "at most 63",
	} {
		if _, _, err := Load(userFile(t, "[worker]\n"+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

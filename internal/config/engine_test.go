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

// Guards against a setting of a database that is silently no more, and an address that is none.
func TestWhereMachinesShare(t *testing.T) {
	for text, want := range map[string]string{
		`database = "postgres://cco@db.example/cco"`: "engine.database: is gone",
		`bundles = "/srv"`:                           "with the cco before this one",
		`temporal = "temporal.example"`:              "is not an address",
		`api_key = "hunter2"`:                        "want a table",
		`api_key = {file = "/f", bearer = true}`:     "bearer",
		`accept = ["everything"]`:                    "there are plaintext",
		`heartbeat = "1s"`:                           "is not from 3s",
	} {
		_, _, err := Load(userFile(t, "[engine]\n"+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunte") {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, _, err := Load(userFile(t, "[engine]\ntemporal = \"temporal.example:7233\"\nheartbeat = \"1m\"\n"))
	if err != nil || c.Engine.Temporal != "temporal.example:7233" || c.Engine.Namespace != "default" {
		t.Errorf("%+v, %v", c.Engine, err)
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

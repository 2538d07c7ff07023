package install

import (
	"os"

	"github.com/cco-dev/cco/internal/agent"
)

// Login is how an agent authenticates with its model.
type Login struct {
	Known bool   `json:"known"`
	How   string `json:"how,omitempty"` // the variable or the file, never what is in it
}

// FindLogin looks for a key in the variables that are given, then for what the agent's own login has stored. Only a
// request would show whether the provider still accepts it.
func FindLogin(a agent.Adapter, keys []string, env func(string) string, home string) Login {
	for _, name := range keys {
		if env(name) != "" {
			return Login{true, name}
		}
	}
	if len(a.Row.Logins) == 0 {
		return Login{}
	}
	if path := a.Row.At(a.Row.Logins[0], env, home); regular(path) {
		return Login{true, path}
	}
	return Login{}
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

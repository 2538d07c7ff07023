package install

import (
	"os"
	"path/filepath"

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
	l, ok := a.(agent.LoginKeeper)
	if !ok {
		return Login{}
	}
	variable, file := l.Login()
	dir := home
	if own := env(variable); variable != "" && filepath.IsAbs(own) {
		dir = own
		file = filepath.Base(file)
	}
	if path := filepath.Join(dir, file); regular(path) {
		return Login{true, path}
	}
	return Login{}
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

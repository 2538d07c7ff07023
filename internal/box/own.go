package box

import (
	"maps"
	"slices"
	"strings"
)

// ownPath are the directories in which cco's own steps find git and the like: the system's, where no agent writes.
func ownPath() string {
	return strings.Join([]string{
		"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
		"/run/current-system/sw/bin", "/run/current-system/profile/bin", // NixOS, Guix
	}, ":")
}

// OwnEnv is the environment of one of cco's own steps, the same in every box: it takes nothing from the user, an image
// or an agent, and has no home to read settings from. The directories in first go before the system's in PATH.
func (e Exec) OwnEnv(first ...string) []string {
	env := []string{
		"PATH=" + strings.Join(append(first, ownPath()), ":"), "HOME=/var/empty", "SHELL=/bin/sh", "LANG=C.UTF-8",
		"TMPDIR=/tmp",
		"TERM=dumb", "IS_SANDBOX=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	}
	if e.Session != "" {
		env = append(env, "CCO_SESSION="+e.Session)
	}
	return append(env, e.Env...)
}

// Environment joins variables. Of two that have one name the last counts: programs take the first, or the last.
func Environment(lists ...[]string) (env []string) {
	last := map[string]string{}
	for _, kv := range slices.Concat(lists...) {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			last[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		env = append(env, name+"="+last[name])
	}
	return env
}

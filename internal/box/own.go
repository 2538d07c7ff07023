package box

import "strings"

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

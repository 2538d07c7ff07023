package box

import "strings"

// ownPath are the directories in which cco's own steps find git and the like: the system's, where no agent writes.
func ownPath() string {
	return strings.Join([]string{
		"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
		"/run/current-system/sw/bin", "/run/current-system/profile/bin", // NixOS, Guix
	}, ":")
}

// OwnEnv is the environment of a step of cco's, the same in every box: nothing of the user's, of an image or of an
// agent is in it, and no home to read settings from. first are directories of cco's own that go before the system's.
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

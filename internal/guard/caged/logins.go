package caged

import (
	"path/filepath"
	"slices"
	"strconv"
)

// socket is an agent of keys that the user can show by its name: the variable that leads to it, and the file below the
// home without which it is of no use.
type socket struct{ name, variable, with string }

func sockets() []socket { return []socket{{"ssh-agent", "SSH_AUTH_SOCK", ".ssh/known_hosts"}} }

// Sockets are the names of agents of keys.
func Sockets() (names []string) {
	for _, s := range sockets() {
		names = append(names, s.name)
	}
	return names
}

// shownSockets are the mounts and variables of the agents of keys that the user shows. Without mounts they are where
// they are, and only a kernel whose Landlock knows sockets lets programs have them.
func (c *Cage) shownSockets() (mounts []Mount, env []string) {
	for _, s := range sockets() {
		at, set := lookup(c.User.Env, s.variable)
		if !set || !slices.Contains(c.User.Sockets, s.name) {
			continue
		}
		target, with := filepath.Join(ours, s.name), filepath.Join(c.User.Home, s.with)
		if c.bare() {
			target = at
		}
		for from, to := range map[string]string{at: target, with: with} {
			if real, err := filepath.EvalSymlinks(from); err == nil {
				mounts = append(mounts, Mount{Source: real, Target: to, File: true})
			}
		}
		env = append(env, s.variable+"="+target)
	}
	return mounts, env
}

// NoLogin says that no login is in sight, and what shows one.
const NoLogin = "no login of yours is in sight in the cage: push, private remotes, gh, npm publish and signing fail; " +
	"guard.show and guard.sockets in your settings show one"

// noLogin is what git runs in the place of programs that would find a login, or sign.
const noLogin = "#!/bin/sh\n[ \"$1\" = get ] && echo quit=1\necho 'cco: " + NoLogin + "' >&2\nexit 255\n"

// Shows says whether the user shows anything, and so knows of these settings.
func (u *User) Shows() bool { return len(u.Shown)+len(u.Pass)+len(u.Sockets) > 0 }

// withoutLogin has git name the setting where it would fail for want of a login. A commit is not signed: what the
// user's own settings ask for would fail each time.
func (c *Cage) withoutLogin(program string) (env []string) {
	var set [][2]string
	if !c.User.Shows() {
		set = append(set, [2]string{"credential.helper", program}, [2]string{"core.askPass", program},
			[2]string{"core.sshCommand", program}, [2]string{"ssh.variant", "ssh"})
	}
	if len(c.User.Shown)+len(c.User.Sockets) == 0 {
		set = append(set, [2]string{"gpg.program", program}, [2]string{"gpg.ssh.program", program},
			[2]string{"gpg.x509.program", program}, [2]string{"commit.gpgSign", "false"}, [2]string{"tag.gpgSign", "false"})
	}
	for i, kv := range set {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(set)))
}

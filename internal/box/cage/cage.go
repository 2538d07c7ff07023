// Package cage starts programs behind the kernel and keeps account of those that live. A driver decides what the cage
// shows and hands it over as a plan; the init that carries it out is in jail. What needs no kernel of Linux, streams
// and the registry of runs, serves drivers everywhere.
package cage

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// The weaker modes that a user can accept by name.
const (
	AcceptNoLandlock = "no-landlock"
	AcceptNoSeccomp  = "no-seccomp"
)

// User is who a program is on the host.
type User struct{ UID, GID int }

// Me is whoever runs cco.
func Me() User { return User{os.Getuid(), os.Getgid()} }

// Own gives one file to the user. Only root needs to, and only for another.
func (u User) Own(path string) error {
	if !u.foreign() {
		return nil
	}
	return os.Lchown(path, u.UID, u.GID)
}

// Nobody is a user that nobody on this machine is.
func Nobody() User {
	for uid := FirstUID; ; uid++ {
		_, taken := user.LookupId(strconv.Itoa(uid))
		_, takenGroup := user.LookupGroupId(strconv.Itoa(uid))
		if taken != nil && takenGroup != nil {
			return User{UID: uid, GID: uid}
		}
	}
}

// FirstUID is above every range that systems and container tools hand out.
const FirstUID = 1_999_963_631

// foreign says whether root acts for somebody else.
func (u User) foreign() bool { return os.Getuid() == 0 && u.UID != 0 }

// CheckKey refuses what can't be one name in a directory.
func CheckKey(what, key string) error {
	if key == "" || len(key) > 128 || key[0] == '.' || key[0] == '-' {
		return fmt.Errorf("%s %q: not a name", what, key)
	}
	for _, c := range key {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return fmt.Errorf("%s %q: not a name", what, key)
		}
	}
	return nil
}

// Package cage starts programs isolated by the kernel and keeps account of those that live. A driver decides what the
// cage shows and passes it as a plan; package jail has the init that carries it out. Streams and the registry of runs
// don't need Linux, and serve drivers on every system.
package cage

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// These are the weaker modes that a user can accept by name.
const (
	AcceptNoLandlock = "no-landlock"
	AcceptNoSeccomp  = "no-seccomp"
)

// User is who a program is on the host.
type User struct{ UID, GID int }

// Me is the user who runs cco.
func Me() User { return User{os.Getuid(), os.Getgid()} }

// Own gives one file to the user. This is needed only for root, and only if the user is another one.
func (u User) Own(path string) error {
	if !u.foreign() {
		return nil
	}
	return os.Lchown(path, u.UID, u.GID)
}

// Nobody is a user id that no user of this machine has.
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

// foreign says whether root acts for another user.
func (u User) foreign() bool { return os.Getuid() == 0 && u.UID != 0 }

// CheckKey refuses a key that can't be a single name in a directory.
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

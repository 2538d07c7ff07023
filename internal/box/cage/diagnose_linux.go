package cage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// refusedError is a failure in an init, with the kernel's error number.
type refusedError struct{ res jail.Result }

func (e *refusedError) Error() string { return e.res.Err }
func (e *refusedError) Unwrap() error { return syscall.Errno(e.res.Errno) }

// Diagnose turns the kernel's error for new namespaces into advice for the user.
func Diagnose(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("find cco-box: %w", err)
	}
	if why, mend := blocked(os.Getuid(), readSwitch); why != "" {
		return &box.Unavailable{What: "support for user namespaces", Why: why, Mend: mend}
	}
	switch {
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EINVAL):
		return &box.Unavailable{What: "support for namespaces", Why: err.Error(), Mend: "use Linux 5.12 or newer"}
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return &box.Unavailable{What: "support for user namespaces", Why: err.Error() +
			": something around cco forbids them, perhaps a container's seccomp filter",
			Mend: "run cco outside of the container, or the container with --security-opt seccomp=unconfined"}
	}
	return err
}

// Refused says whether an error is the system's, which refused to build a cage.
func Refused(err error) bool {
	_, missing := errors.AsType[*box.Unavailable](err)
	_, refused := errors.AsType[*refusedError](err)
	return missing || refused
}

// Allowed says whether none of the switches with which systems forbid user namespaces is set.
func Allowed() bool {
	why, _ := blocked(os.Getuid(), readSwitch)
	return why == ""
}

// blocked checks the switches with which systems forbid user namespaces.
func blocked(uid int, read func(name string) string) (why, mend string) {
	switch {
	case read("user/max_user_namespaces") == "0":
		return "user.max_user_namespaces is 0", "sudo sysctl user.max_user_namespaces=15000"
	case uid == 0:
		return "", "" // the other two don't concern root
	case read("kernel/unprivileged_userns_clone") == "0":
		return "kernel.unprivileged_userns_clone is 0", "sudo sysctl kernel.unprivileged_userns_clone=1"
	case read("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "AppArmor lets only named programs make them (kernel.apparmor_restrict_unprivileged_userns is 1)",
			"install the AppArmor profile that `cco doctor` prints"
	}
	return "", ""
}

func readSwitch(name string) string {
	text, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

package cage

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/must"
)

func TestBlockedUserNamespaces(t *testing.T) {
	for _, c := range []struct {
		switches map[string]string
		mend     string
		user     bool // concerns ordinary users only
	}{
		{map[string]string{}, "", false},
		{map[string]string{"user/max_user_namespaces": "15000", "kernel/unprivileged_userns_clone": "1",
			"kernel/apparmor_restrict_unprivileged_userns": "0"}, "", false},
		{map[string]string{"user/max_user_namespaces": "0"}, "max_user_namespaces=", false},
		{map[string]string{"kernel/unprivileged_userns_clone": "0"}, "unprivileged_userns_clone=1", true},
		{map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1"}, "cco doctor", true},
	} {
		for _, uid := range []int{0, 1000} {
			why, mend := blocked(uid, func(name string) string { return c.switches[name] })
			want := c.mend
			if c.user && uid == 0 {
				want = ""
			}
			if (why != "") != (want != "") || !strings.Contains(mend, want) {
				t.Errorf("%v as %d: %q, %q", c.switches, uid, why, mend)
			}
		}
	}
}

func TestDiagnoseNamesTheLayer(t *testing.T) {
	inside := func(errno syscall.Errno) error {
		return Diagnose(&refusedError{jail.Result{Err: "mount root: " + errno.Error(), Errno: int(errno)}})
	}
	for _, err := range []error{Diagnose(syscall.EPERM), Diagnose(syscall.ENOSYS), inside(syscall.EACCES),
		inside(syscall.ENOSYS), unavailable(jail.Result{Layer: jail.LayerProc, Err: "mount /proc: not permitted"})} {
		u, ok := errors.AsType[*box.Unavailable](err)
		if !ok || u.What == "" || u.Why == "" || u.Mend == "" {
			t.Errorf("%v: %+v", err, u)
		}
	}
}

func TestOwnCgroups(t *testing.T) {
	got := ownCgroups("12:cpu,cpuacct:/a\n4:memory:/b:c\n1:name=systemd:/\n0::/user.slice/x.scope\n")
	for k, v := range map[string]string{"cpu": "/a", "cpuacct": "/a", "memory": "/b:c", "": "/user.slice/x.scope"} {
		if got[k] != v {
			t.Errorf("%q is %q, want %q", k, got[k], v)
		}
	}
	want := []string{"/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"}
	if dirs := parents2("/user.slice/x.scope"); !slices.Equal(dirs, want) {
		t.Errorf("parents %q", dirs)
	}
}

func TestLimitsFallBackFromRunToBoxToDefault(t *testing.T) {
	b := &box.Box{Spec: box.Spec{Limits: box.Limits{Procs: 7, Time: time.Hour}}}
	got := LimitsFor(b, box.Exec{Limits: box.Limits{Memory: 5}})
	if got.Memory != 5 || got.Procs != 7 || got.Time != time.Hour {
		t.Errorf("%+v", got)
	}
	got = LimitsFor(&box.Box{}, box.Exec{})
	if got.Memory <= 0 || got.Memory >= machineMemory() || got.Procs != defaultProcs || got.Time != 0 {
		t.Errorf("%+v", got)
	}
}

func TestKillInitChecksTheStart(t *testing.T) {
	must.Do(t, killInit(t.Context(), os.Getpid(), "1"))
	start, err := startTime(os.Getpid())
	if err != nil || start == "" || start == "1" {
		t.Errorf("start time %q, %v", start, err)
	}
}

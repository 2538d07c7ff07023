//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

const withoutVariable = "CCO_TEST_WITHOUT"

// verdicts record what a process finds on a kernel that lacks something.
type verdicts struct {
	Check, Create, Accepted string // the errors
	What                    string // of Check
	Layers                  []box.Layer
	Breached                []string // probes that got through in the accepted box
	Broken                  []string // those of them that were promised
}

// without plays a kernel that lacks a system call, for us and our children, and reports what the driver does.
func without(what string) error {
	runtime.LockOSThread()
	if err := forbid(what); err != nil {
		return err
	}
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cco-without-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d := testDriver()
	b := &box.Box{Name: "weak", Dir: dir + "/boxes/weak", Exchange: dir + "/exchange"}
	var v verdicts
	err = d.Check(ctx)
	v.Check = fmt.Sprint(err)
	if u, ok := errors.AsType[*box.Unavailable](err); ok {
		v.What = u.What
	}
	v.Create = fmt.Sprint(d.Create(ctx, b, nil))
	b.Spec.Accept = []string{"no-" + what}
	if what == "userns" || what == "overlay" {
		b.Spec.Accept = []string{cage.AcceptNoLandlock, cage.AcceptNoSeccomp}
	}
	v.Accepted = fmt.Sprint(d.Create(ctx, b, nil))
	if v.Accepted == "<nil>" {
		if v.Layers, err = d.Layers(ctx, b); err != nil {
			return err
		}
		n := 0
		results, err := verify.Run(ctx, d, b, verify.Options{Tool: boxtest.Tool(),
			ID: func() string { n++; return fmt.Sprintf("0000000%d", n) }})
		if err != nil {
			return err
		}
		for _, r := range results {
			if !r.Held {
				v.Breached = append(v.Breached, r.Probe)
			}
			if !r.Held && r.Promised {
				v.Broken = append(v.Broken, r.Probe)
			}
		}
		if err := d.Destroy(ctx, b); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(v)
}

// forbid refuses one system call by a filter of our own.
func forbid(what string) error {
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	refuse := func(errno unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	is := func(nr uint32, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: no}
	}
	code := map[string][]unix.SockFilter{
		"landlock": {load(0), is(unix.SYS_LANDLOCK_CREATE_RULESET, 1), refuse(unix.EOPNOTSUPP), allow},
		"seccomp":  {load(0), is(unix.SYS_SECCOMP, 1), refuse(unix.ENOSYS), allow},
		"overlay":  {load(0), is(unix.SYS_FSOPEN, 1), refuse(unix.ENOSYS), allow},
		"userns": {
			load(0), is(unix.SYS_CLONE, 3), load(16),
			{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1}, refuse(unix.EPERM), allow,
		},
	}[what]
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

func onKernelWithout(t *testing.T, what string) verdicts {
	t.Helper()
	self := must.Get(os.Executable())(t)
	out := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{self},
		Env: append(os.Environ(), withoutVariable+"="+what)}))(t)
	var v verdicts
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// Guards against a layer that is dropped silently: it is named, refused, and left out only if the user accepts that.
// The probes that still hold then show that each wall has another behind it.
func TestMissingLayers(t *testing.T) {
	for what, surface := range map[string]string{
		"landlock": "",
		"seccomp":  "odd-sockets keyring kernel-surface foreign-calls terminal",
	} {
		t.Run(what, func(t *testing.T) {
			v := onKernelWithout(t, what)
			if v.What != what || !strings.Contains(v.Create, what) || !strings.Contains(v.Create, "no-"+what) {
				t.Errorf("refused with %q, %q", v.Check, v.Create)
			}
			if v.Accepted != "<nil>" {
				t.Fatalf("accepted, and still: %s", v.Accepted)
			}
			for _, l := range v.Layers {
				if l.Active == (l.Name == what) {
					t.Errorf("layer %+v", l)
				}
			}
			for _, name := range v.Breached {
				if !strings.Contains(surface, name) {
					t.Errorf("%s holds only by %s", name, what)
				}
			}
		})
	}
}

func TestBlockedNamespacesAreNotAccepted(t *testing.T) {
	v := onKernelWithout(t, "userns")
	if v.What != "support for user namespaces" || v.Accepted == "<nil>" {
		t.Errorf("%+v", v)
	}
}

// Guards against reaching sockets of the host where no overlay is available: existing ones are covered, and for later
// ones the box says that it promises nothing.
func TestWithoutOverlays(t *testing.T) {
	v := onKernelWithout(t, "overlay")
	if v.Check != "<nil>" || v.Create != "<nil>" || v.Accepted != "<nil>" {
		t.Fatalf("%+v", v)
	}
	if !slices.Equal(v.Breached, []string{probe.LaterSocket}) || len(v.Broken) > 0 {
		t.Errorf("got through: %q, although promised: %q", v.Breached, v.Broken)
	}
	at := slices.IndexFunc(v.Layers, func(l box.Layer) bool { return l.Name == "sockets" })
	if at < 0 || v.Layers[at].Active || !strings.Contains(v.Layers[at].Detail, "/usr") {
		t.Errorf("layers %+v", v.Layers)
	}
}

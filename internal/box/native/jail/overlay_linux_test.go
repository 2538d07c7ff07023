package jail

import (
	"fmt"
	"strings"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Guards against an overlay for every directory that is shown: their number is the cost of starting a program.
func TestTops(t *testing.T) {
	for _, c := range []struct{ sources, want string }{
		{"/usr", ""},
		{"/usr /opt", ""},
		{"/usr /etc/a /etc/b/c /opt /etc/b/d", "/etc=1,2,4 /etc/b=2,4"},
		{"/etc/a/b /etc/a/b/c", "/etc/a/b=0,1"},
		{"/home/u/.x/bin /home/u/.x/lib /home/u/.y", "/home/u=0,1,2 /home/u/.x=0,1"},
		{"/home/ua /home/u", "/home=0,1"},
	} {
		var mounts []Mount
		for source := range strings.FieldsSeq(c.sources) {
			mounts = append(mounts, Mount{Source: source, Host: true})
		}
		mounts = append(mounts, Mount{Source: "/etc/own"}, Mount{Source: "/etc/file", Host: true, File: true},
			Mount{Source: "/etc/rw", Host: true, Write: true})
		var got []string
		for _, top := range tops(mounts) {
			got = append(got, top.dir+"="+strings.ReplaceAll(strings.Trim(fmt.Sprint(top.parts), "[]"), " ", ","))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q", c.sources, got)
		}
	}
}

// Guards against using a right that a kernel's Landlock does not know, which refuses the whole ruleset, and against not
// using one that it knows.
func TestHandledRights(t *testing.T) {
	for abi, want := range map[int]uint64{
		2: ll.AccessFSTruncate - 1, 3: ll.AccessFSIoctlDev - 1, 4: ll.AccessFSIoctlDev - 1, 5: ll.AccessFSResolveUnix - 1,
		8: ll.AccessFSResolveUnix - 1, 9: ll.AccessFSResolveUnix<<1 - 1, 11: ll.AccessFSResolveUnix<<1 - 1,
	} {
		if got := handled(abi).HandledAccessFS; got != want {
			t.Errorf("version %d: %#x, want %#x", abi, got, want)
		}
	}
}

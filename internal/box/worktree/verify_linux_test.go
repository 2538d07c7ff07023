package worktree

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a broken promise: each is tried from inside, as `cco box verify` does.
func TestPromisesHold(t *testing.T) {
	gittest.Home(t)
	for name, accept := range map[string][]string{"behind the kernel": nil, "without it": {AcceptNoKernel}} {
		t.Run(name, func(t *testing.T) {
			d, b := created(t, accept...)
			n, before := 0x7e570000, segments(t)
			results := must.Get(verify.Run(t.Context(), d, b,
				verify.Options{Tool: boxtest.Tool(), ID: func() string { n++; return fmt.Sprintf("%08x", n) }}))(t)
			promised := 0
			for _, r := range results {
				t.Logf("%-22s held %-5v promised %-5v %s", r.Probe, r.Held, r.Promised, r.Detail)
				if r.Promised {
					promised++
				}
				if r.Promised && !r.Held {
					t.Errorf("%s (%s): %s", r.Probe, r.What, r.Detail)
				}
			}
			if (promised > 0) != (accept == nil) {
				t.Errorf("%d promises", promised)
			}
			if left := segments(t) - before; left > 100 { // others on this machine make few
				t.Errorf("%d segments of System V memory are left on the host", left)
			}
		})
	}
}

// segments is how many segments of System V memory the host has.
func segments(t *testing.T) int {
	t.Helper()
	table := must.Get(os.ReadFile("/proc/sysvipc/shm"))(t)
	return strings.Count(string(table), "\n")
}

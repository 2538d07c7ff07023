package cage

import (
	"errors"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a keeper that panics because an init was killed before it had read everything sent to it: the kernel
// then resets the connection.
func TestAReportThatIsBrokenOffIsNoPanic(t *testing.T) {
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	must.Get(ours.Write([]byte("a plan that nobody reads")))(t)
	must.Do(t, theirs.Close())
	r := readReport(ours, nil)
	select {
	case <-r.over:
	case <-time.After(time.Minute):
		t.Fatal("it never ends")
	}
	killed := errors.New("killed")
	if _, err := r.result(func() error { return killed }, false); !errors.Is(err, killed) {
		t.Error(err)
	}
}

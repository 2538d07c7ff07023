package cage

import (
	"testing"
	"time"
)

// Guards against a keeper that panics because an init was killed before it had read all that it was sent: the kernel
// resets the connection then.
func TestAReportThatIsBrokenOffIsNoPanic(t *testing.T) {
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	if _, err := ours.Write([]byte("a plan that nobody reads")); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	r := hear(ours)
	select {
	case <-r.over:
	case <-time.After(time.Minute):
		t.Fatal("it never ends")
	}
	if data, err := r.result(); len(data) > 0 || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

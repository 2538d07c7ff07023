//go:build linux

package verify

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/probe"
)

// Guards against a box with containers that makes promises it can't keep, or gives up more than containers need.
func TestBoxWithContainersHoldsWhatItPromises(t *testing.T) {
	b := testBox(t)
	b.Spec.VM.Containers = true
	results := tryAll(t, native.New(native.Options{Tool: boxtest.Tool(), Nested: true}), b)
	for _, r := range results {
		want := !slices.Contains(probe.InNamespaces(), r.Probe)
		if r.Held != want || r.Promised != want {
			t.Errorf("%s held %v, promised %v: %s", r.Probe, r.Held, r.Promised, r.Detail)
		}
	}
}

//go:build linux

package verify

import (
	"context"
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/probe"
)

// Guards against a box with containers that promises what it can't keep, or gives up more than they need.
func TestBoxWithContainersHoldsWhatItPromises(t *testing.T) {
	d, b := native.New(native.Options{Tool: boxtest.Tool(), Nested: true}), testBox(t)
	b.Spec.VM.Containers = true
	if err := d.Create(t.Context(), b, nil); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	}()
	results, err := Run(t.Context(), d, b, Options{Tool: boxtest.Tool(), ID: ids()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		want := !slices.Contains(probe.InNamespaces(), r.Probe)
		if r.Held != want || r.Promised != want {
			t.Errorf("%s held %v, promised %v: %s", r.Probe, r.Held, r.Promised, r.Detail)
		}
	}
}

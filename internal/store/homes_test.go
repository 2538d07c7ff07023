//go:build heavy

package store_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against commits of another home, or too many of them, in the place of those that a phase needs.
func TestWhatAnotherMachineNeedsIsKept(t *testing.T) {
	s := must.Get(store.OpenShared(t.Context(), pgtest.Start(t).Open(t)))(t)
	ctx := t.Context()
	b := store.Bundle{Phase: "p", Name: store.BundleWork, Base: "b", Head: "h1", Epoch: 1, Data: []byte("one")}
	must.Do(t, s.KeepBundle(ctx, b))
	b.Head, b.Epoch, b.Data = "h2", 2, []byte("two")
	must.Do(t, s.KeepBundle(ctx, b))
	got, ok, err := s.Bundle(ctx, "p", store.BundleWork, 3)
	if err != nil || !ok || got.Head != "h2" || got.Base != "b" || string(got.Data) != "two" {
		t.Errorf("got %+v %v %v", got, ok, err)
	}
	if _, ok, err := s.Bundle(ctx, "p", store.BundleWork, 2); ok || err == nil {
		t.Errorf("one that is too large was given: %v", err)
	}
	if _, ok, err := s.Bundle(ctx, "p", store.BundleStart, 3); ok || err != nil {
		t.Errorf("another name: %v %v", ok, err)
	}
	must.Do(t, s.KeepHead(ctx, "p", "h2", 2))
	must.Do(t, s.KeepHead(ctx, "p", "h2", 3))
	for head, want := range map[string]bool{"h1": false, "h2": true} {
		if ok := must.Get(s.PushedHead(ctx, "p", head))(t); ok != want {
			t.Errorf("%s was pushed: %v", head, ok)
		}
	}
	no := errors.New("elsewhere")
	fenced := *s
	fenced.Fence = func(context.Context, *sql.Tx, string) error { return no }
	b.Head = "h3"
	for _, err := range []error{fenced.KeepBundle(ctx, b), fenced.KeepHead(ctx, "p", "h3", 1)} {
		if !errors.Is(err, no) {
			t.Errorf("kept for an earlier home: %v", err)
		}
	}
	must.Do(t, s.DropBundles(ctx, "p"))
	if _, ok, err := s.Bundle(ctx, "p", store.BundleWork, 9); ok || err != nil {
		t.Errorf("it is still there: %v", err)
	}
	if must.Get(s.PushedHead(ctx, "p", "h3"))(t) {
		t.Error("a refused head was recorded")
	}
}

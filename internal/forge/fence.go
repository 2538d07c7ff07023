package forge

import "context"

type fenceKey struct{}

// WithFence has every effect below this context ask first: a check that fails keeps the request from being sent. It is
// how a machine that no longer has a phase is kept from speaking for it.
func WithFence(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, fenceKey{}, check)
}

// Fence is asked right before a request that changes something. Without a fence everything may be sent.
func Fence(ctx context.Context) error {
	if check, ok := ctx.Value(fenceKey{}).(func(context.Context) error); ok {
		return check(ctx)
	}
	return nil
}

type anewKey struct{}

// Anew has everything below this context asked of the forge, whatever is remembered: a merge rests on it.
func Anew(ctx context.Context) context.Context { return context.WithValue(ctx, anewKey{}, true) }

// IsAnew says whether nothing that is remembered counts.
func IsAnew(ctx context.Context) bool { return ctx.Value(anewKey{}) != nil }

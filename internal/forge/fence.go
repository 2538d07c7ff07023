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

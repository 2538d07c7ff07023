//go:build !linux

package cage

import "context"

// killInit does nothing: without a cage there is no init.
func killInit(context.Context, int, string) error { return nil }

func removeCgroup(string) {}

//go:build !linux

package view

import "net"

// Only Linux tells an ordinary program which user is at the other end of a connection: elsewhere other users of the
// machine reach the page that asks for a code.
func checkPeers(net.Addr) error { return nil }

func ownPeer(_, _ net.Addr) bool { return true }

package view

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestAConnectionHasAnOwner(t *testing.T) {
	// In the order of bytes of most machines.
	rows := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1DCA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 x 100 0 0 10 0
   1: 0100007F:1DCA 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 x 20 4 30 10 -1
   2: 0100007F:9C40 0100007F:1DCA 01 00000000:00000000 00:00000000 00000000  1001        0 13 1 x 20 4 30 10 -1
   3: 0100007F:9C41 0100007F:1DCA 06 00000000:00000000 03:00000F6E 00000000     0        0 0 3 x
`
	to := netip.MustParseAddrPort("127.0.0.1:7626")
	if uid, err := owner(strings.NewReader(rows), netip.MustParseAddrPort("127.0.0.1:40000"), to); err != nil ||
		uid != 1001 {
		t.Errorf("it is of %d: %v", uid, err)
	}
	// Guards against a socket that is closed already, and that the kernel calls root's.
	for _, gone := range []string{"127.0.0.1:40001", "127.0.0.1:40002"} {
		if uid, err := owner(strings.NewReader(rows), netip.MustParseAddrPort(gone), to); err == nil {
			t.Errorf("%s is of %d", gone, uid)
		}
	}
}

func TestTheKernelKnowsOurOwnConnections(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // a machine without IPv6
			continue
		}
		c := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		s := must.Get(l.Accept())(t)
		if !ownPeer(s.RemoteAddr(), s.LocalAddr()) {
			t.Errorf("%s: our own connection is somebody else's", address)
		}
		must.Do(t, c.Close())
		if ownPeer(s.RemoteAddr(), s.LocalAddr()) {
			t.Errorf("%s: a connection that is gone is ours", address)
		}
		must.Do(t, s.Close())
		must.Do(t, l.Close())
	}
}

package view

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kernel's tables of connections say which user a socket is of.
func table(a netip.Addr) string {
	if a.Is4() {
		return "/proc/net/tcp"
	}
	return "/proc/net/tcp6"
}

// checkPeers makes sure that users can be told apart.
func checkPeers(l net.Addr) error {
	at, ok := addrPort(l)
	if !ok {
		return fmt.Errorf("%s is no address of TCP", l)
	}
	f, err := os.Open(table(at.Addr()))
	if err != nil {
		return fmt.Errorf("which user of this machine asks can't be known, so nobody is answered: %w", err)
	}
	return f.Close()
}

// ownPeer says whether the program at the other end is this user's, or root's. One that the kernel does not know is
// nobody's.
func ownPeer(remote, local net.Addr) bool {
	from, ok := addrPort(remote)
	to, known := addrPort(local)
	if !ok || !known {
		return false
	}
	uid, err := search(from, to)
	return err == nil && slices.Contains([]int{os.Geteuid(), 0}, uid)
}

// search finds the owner of a connection in the table of all, which takes milliseconds.
func search(from, to netip.AddrPort) (uid int, err error) {
	const tries = 5 // a row can be missed while others come and go
	for i := range tries {
		time.Sleep(time.Duration(i) * time.Millisecond)
		f, err := os.Open(table(from.Addr()))
		if err != nil {
			return 0, err
		}
		uid, err = owner(f, from, to)
		_ = f.Close()
		if err == nil {
			return uid, nil
		}
	}
	return 0, errNoOwner
}

var errNoOwner = errors.New("no such connection")

// owner finds the user whose socket is connected from an address to another. A socket that nobody holds any more has
// no inode, and the kernel calls it root's.
func owner(rows io.Reader, from, to netip.AddrPort) (uid int, err error) {
	want := [2]string{spelled(from), spelled(to)}
	lines := bufio.NewScanner(rows)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		const local, remote, user, inode = 1, 2, 7, 9
		if len(f) <= inode || f[local] != want[0] || f[remote] != want[1] || f[inode] == "0" {
			continue
		}
		return strconv.Atoi(f[user])
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, errNoOwner
}

// spelled is an address as the kernel writes it: words of four bytes in the machine's own order.
func spelled(a netip.AddrPort) string {
	var b strings.Builder
	for word := range slices.Chunk(a.Addr().AsSlice(), 4) {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(word))
	}
	fmt.Fprintf(&b, ":%04X", a.Port())
	return b.String()
}

func addrPort(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	p := tcp.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port()), true
}

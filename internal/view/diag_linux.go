package view

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Requests and answers about one socket, as linux/netlink.h and linux/inet_diag.h have them.
type (
	diagRequest struct {
		Header   unix.NlMsghdr
		Family   uint8
		Protocol uint8
		_        [2]uint8
		States   uint32
		ID       diagID
	}
	diagID struct {
		From, To         [2]byte // ports
		Source, Target   [16]byte
		Interface        uint32
		CookieLo, Cookie uint32
	}
	diagAnswer struct {
		Header        unix.NlMsghdr
		Family, State uint8
		_             [2]uint8
		ID            diagID
		_             [3]uint32
		UID, Inode    uint32
	}
)

// ask asks the kernel for the owner of one connection. An error that is errors.ErrUnsupported says that this kernel
// can't be asked.
func ask(from, to netip.AddrPort) (uid int, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", unix.ENOSYS, err)
	}
	defer func() { _ = unix.Close(fd) }()
	const all = ^uint32(0)
	r := diagRequest{Family: unix.AF_INET6, Protocol: unix.IPPROTO_TCP, States: all,
		ID: diagID{CookieLo: all, Cookie: all}}
	if from.Addr().Is4() {
		r.Family = unix.AF_INET
	}
	binary.BigEndian.PutUint16(r.ID.From[:], from.Port())
	binary.BigEndian.PutUint16(r.ID.To[:], to.Port())
	copy(r.ID.Source[:], from.Addr().AsSlice())
	copy(r.ID.Target[:], to.Addr().AsSlice())
	r.Header = unix.NlMsghdr{Len: uint32(binary.Size(r)), Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST}
	sent, err := binary.Append(nil, binary.NativeEndian, r)
	if err != nil {
		return 0, err
	}
	if err := unix.Sendto(fd, sent, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("%w: %w", unix.ENOSYS, err)
	}
	got := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, got, 0)
	if err != nil {
		return 0, err
	}
	return readAnswer(got[:n])
}

// readAnswer takes the owner out of the kernel's answer. A socket that nobody holds any more has no inode.
func readAnswer(got []byte) (uid int, err error) {
	var a diagAnswer
	if h := (unix.NlMsghdr{}); len(got) >= unix.SizeofNlMsghdr+4 {
		if _, err := binary.Decode(got, binary.NativeEndian, &h); err != nil {
			return 0, err
		}
		if h.Type == unix.NLMSG_ERROR {
			why := unix.Errno(-int32(binary.NativeEndian.Uint32(got[unix.SizeofNlMsghdr:])))
			if why == unix.ENOENT {
				// The kernel says this of a connection that it does not have, and of a protocol that it can't be asked about.
				return 0, fmt.Errorf("%w: %w", errNoOwner, unix.ENOSYS)
			}
			return 0, why
		}
	}
	if _, err := binary.Decode(got, binary.NativeEndian, &a); err != nil {
		return 0, err
	}
	if a.Inode == 0 {
		return 0, errNoOwner
	}
	return int(a.UID), nil
}

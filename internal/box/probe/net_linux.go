package probe

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func connect(family, kind int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	return unix.Connect(fd, to)
}

func pathSocket(b *Bait) string { return reach(unix.SOCK_STREAM, b.Socket) }

func shownSocket(b *Bait) string {
	if b.Shown == "" {
		return ""
	}
	return cmp.Or(
		reach(unix.SOCK_STREAM, filepath.Join(b.Shown, ThereStream)),
		reach(unix.SOCK_DGRAM, filepath.Join(b.Shown, ThereDatagram)))
}

// laterSocket has the host make a socket now, and waits until it is visible.
func laterSocket(b *Bait) string {
	if b.Shown == "" {
		return ""
	}
	if _, err := os.Stat(b.Shown); err != nil {
		return "" // the directory isn't shown here
	}
	if err := os.WriteFile(filepath.Join(b.Mine, AskFile), []byte("\n"),
		0o644); err != nil { // for the host
		return err.Error()
	}
	socket := filepath.Join(b.Shown, Later)
	for range patience / (10 * time.Millisecond) {
		// Look in the directory, not for the name: the kernel would remember that the name did not exist.
		if names, err := filepath.Glob(b.Shown + "/*"); err == nil && slices.Contains(names, socket) {
			return reach(unix.SOCK_STREAM, socket)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "the host made none, so this shows nothing"
}

func reach(kind int, socket string) string {
	if err := connect(unix.AF_UNIX, kind, &unix.SockaddrUnix{Name: socket}); err == nil {
		return "connected to " + socket
	}
	return ""
}

func abstractSocket(b *Bait) string { return reach(unix.SOCK_STREAM, "@"+b.Abstract) }

func hostLoopback(b *Bait) string {
	c, err := dialer().DialContext(context.Background(), "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.Port)))
	if err != nil {
		return ""
	}
	_, _ = c.Write([]byte(b.Secret)) // so that the host recognises the probe
	_ = c.Close()
	return "connected"
}

// nowhere are addresses reserved for documentation: nobody has them.
func nowhere(port int) map[int]unix.Sockaddr {
	return map[int]unix.Sockaddr{
		unix.AF_INET:  &unix.SockaddrInet4{Addr: [4]byte{198, 51, 100, 1}, Port: port},
		unix.AF_INET6: &unix.SockaddrInet6{Addr: [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}, Port: port},
	}
}

// directTCP begins to connect and doesn't wait: it is enough that a route exists.
func directTCP(*Bait) string {
	for _, port := range []int{9, 443} {
		for family, to := range nowhere(port) {
			if err := connect(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, to); err == nil || errors.Is(err, unix.EINPROGRESS) {
				return "a connection is on its way"
			}
		}
	}
	return ""
}

// directUDP sends a datagram to an address that nobody has, and one to a name server on the host.
func directUDP(b *Bait) string {
	for family, to := range nowhere(53) {
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			continue
		}
		err = unix.Sendto(fd, question(), 0, to)
		_ = unix.Close(fd)
		if err == nil {
			return "a datagram is on its way"
		}
	}
	c, err := dialer().DialContext(context.Background(), "udp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.UDP)))
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(question()); err != nil {
		return ""
	}
	if n, err := c.Read(make([]byte, 512)); err == nil && n > 0 {
		return "the host's name server answered"
	}
	return ""
}

// question is a query for the address of a.test.
func question() []byte {
	return []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x04test\x00\x00\x01\x00\x01")
}

// netlink asks the kernel for impossible changes. It matters whether the kernel calls them invalid or refuses them.
func netlink(*Bait) string {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return ""
	}
	defer closeFD(fd)
	for name, kind := range map[string]uint16{"interface": unix.RTM_NEWLINK, "address": unix.RTM_NEWADDR,
		"route": unix.RTM_NEWROUTE} {
		// These are an interface with number -1, and an address and a route of length 255.
		msg := append(make([]byte, unix.SizeofNlMsghdr), unix.AF_INET, 255, 0, 0, 255, 255, 255, 255)
		msg = append(msg, make([]byte, 24)...)
		binary.NativeEndian.PutUint32(msg, uint32(len(msg)))
		binary.NativeEndian.PutUint16(msg[4:], kind)
		binary.NativeEndian.PutUint16(msg[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
		if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			continue
		}
		answer := make([]byte, 4096)
		n, _, err := unix.Recvfrom(fd, answer, 0)
		if err != nil || n < unix.SizeofNlMsghdr+4 {
			continue
		}
		code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])) // a negative errno
		if errno := syscall.Errno(-code); errno != unix.EPERM && errno != unix.EACCES {
			return "may change the " + name + ": " + errno.Error()
		}
	}
	return ""
}

// network looks for a route, without sending anything, and for interfaces other than the box's own loopback.
func network(*Bait) string {
	// This address is reserved for documentation: nobody has it.
	if err := connect(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1},
		Port: 9}); err == nil {
		return "there is a route"
	}
	text, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && name != "lo" {
			return "there is an interface " + name
		}
	}
	return ""
}

func oddSockets(*Bait) string {
	for _, s := range []struct {
		name         string
		family, kind int
	}{
		{"raw", unix.AF_INET, unix.SOCK_RAW}, {"packet", unix.AF_PACKET, unix.SOCK_RAW},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM}, {"alg", unix.AF_ALG, unix.SOCK_SEQPACKET},
		{"uevent", unix.AF_NETLINK, unix.SOCK_RAW},
	} {
		protocol := map[string]int{"raw": unix.IPPROTO_ICMP, "uevent": unix.NETLINK_KOBJECT_UEVENT}[s.name]
		if fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, protocol); err == nil {
			_ = unix.Close(fd)
			return "opened a " + s.name + " socket"
		}
	}
	return ""
}

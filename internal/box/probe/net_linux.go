package probe

import (
	"os"
	"strings"

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

func pathSocket(b *Bait) string {
	if err := connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: b.Socket}); err == nil {
		return "connected to " + b.Socket
	}
	return ""
}

func abstractSocket(b *Bait) string {
	if err := connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: "@" + b.Abstract}); err == nil {
		return "connected to @" + b.Abstract
	}
	return ""
}

func hostLoopback(b *Bait) string {
	if err := connect(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: b.Port}); err == nil {
		return "connected"
	}
	return ""
}

// network looks for a route, without sending anything, and for any interface but the box's own loopback.
func network(*Bait) string {
	// An address for documentation: nobody has it.
	if err := connect(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: 9}); err == nil {
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
		{"raw", unix.AF_INET, unix.SOCK_RAW}, {"packet", unix.AF_PACKET, unix.SOCK_RAW}, {"vsock", unix.AF_VSOCK, unix.SOCK_STREAM}, {"alg", unix.AF_ALG, unix.SOCK_SEQPACKET},
	} {
		protocol := 0
		if s.name == "raw" {
			protocol = unix.IPPROTO_ICMP
		}
		if fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, protocol); err == nil {
			_ = unix.Close(fd)
			return "opened a " + s.name + " socket"
		}
	}
	return ""
}

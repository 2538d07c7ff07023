package cage

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// These are the kernel's questions and answers, see sock_diag(7). Numbers are in the machine's byte order.
const (
	diagHead     = 16 // of every message
	diagByFamily = 20
	unixBody     = 16 // an answer's, before its attributes
	inetBody     = 72
	unixShow     = 0x4 | 0x10 | 0x20 // peer, length of the queue, memory
	unixPeer     = 2
	unixQueue    = 4
	unixMemory   = 5
	inetMemory   = 7
	listening    = 10
)

// inet are the kinds of sockets for which the kernel searches the whole machine. We ask only when the box has so many
// that they could hold an eighth of the limit.
var inet = []struct {
	family, protocol byte
	file, name       string
}{
	{unix.AF_INET, unix.IPPROTO_TCP, "sockstat", "TCP:"},
	{unix.AF_INET, unix.IPPROTO_UDP, "sockstat", "UDP:"},
	{unix.AF_INET6, unix.IPPROTO_TCP, "sockstat6", "TCP6:"},
	{unix.AF_INET6, unix.IPPROTO_UDP, "sockstat6", "UDP6:"},
}

// fullest is more than the buffers of one such socket can hold.
const fullest = 16 << 20

var native = binary.NativeEndian

// buffers is the data that waits in the box's sockets. A message in a unix socket counts for its sender; when the
// sender is gone, it counts for the receiver, and of datagrams only the first is visible.
func (w *watchdog) buffers() (total int64) {
	if w.sockets == nil {
		return 0
	}
	fd := int(w.sockets.Fd())
	there, waiting := map[uint32]bool{}, map[uint32]int64{}
	ask := make([]byte, 24)
	ask[0] = unix.AF_UNIX
	native.PutUint32(ask[4:], ^uint32(0))
	native.PutUint32(ask[12:], unixShow)
	dump(fd, ask, func(body []byte) {
		if len(body) < unixBody {
			return
		}
		there[native.Uint32(body[4:])] = true
		var peer uint32
		var queue int64
		attributes(body[unixBody:], func(kind uint16, value []byte) {
			switch {
			case kind == unixPeer && len(value) >= 4:
				peer = native.Uint32(value)
			case kind == unixQueue && len(value) >= 4 && body[2] != listening:
				queue = int64(native.Uint32(value))
			case kind == unixMemory:
				total += buffered(value)
			}
		})
		if body[1] != unix.SOCK_DGRAM {
			waiting[peer] += queue
		}
	})
	for peer, n := range waiting {
		if peer == 0 || !there[peer] {
			total += n
		}
	}
	for _, k := range inet {
		if n, ok := inUse(w.init, k.file, k.name); ok && n*fullest < w.limit/8 {
			continue
		}
		ask := make([]byte, 56)
		ask[0], ask[1], ask[2] = k.family, k.protocol, 1<<(inetMemory-1)
		native.PutUint32(ask[4:], ^uint32(0))
		dump(fd, ask, func(body []byte) {
			if len(body) < inetBody {
				return
			}
			attributes(body[inetBody:], func(kind uint16, value []byte) {
				if kind == inetMemory {
					total += buffered(value)
				}
			})
		})
	}
	return total
}

// inUse is the number of sockets of a kind in the network namespace of a process.
func inUse(pid int, file, name string) (int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/net/" + file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == name {
			n, err := strconv.ParseInt(f[2], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// buffered is the data that one socket holds: received, being sent, and not yet received.
func buffered(memory []byte) int64 {
	if len(memory) < 32 {
		return 0
	}
	n := func(i int) int64 { return int64(native.Uint32(memory[4*i:])) }
	return n(0) + max(n(2), n(5)) + n(7)
}

// dump asks for all sockets of a kind. The kernel answers during the calls themselves, so there is nothing to wait for.
func dump(fd int, ask []byte, each func(body []byte)) {
	message := make([]byte, diagHead, diagHead+len(ask))
	native.PutUint32(message, uint32(diagHead+len(ask)))
	native.PutUint16(message[4:], diagByFamily)
	native.PutUint16(message[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	if err := unix.Sendto(fd, append(message, ask...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return
	}
	answer := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		for rest := answer[:n]; len(rest) >= diagHead; {
			size := int(native.Uint32(rest))
			if size < diagHead || size > len(rest) {
				return
			}
			if native.Uint16(rest[4:]) != diagByFamily { // the end, or a refusal
				return
			}
			each(rest[diagHead:size])
			rest = rest[min(len(rest), (size+3)&^3):]
		}
	}
}

func attributes(rest []byte, each func(kind uint16, value []byte)) {
	for len(rest) >= 4 {
		size := int(native.Uint16(rest))
		if size < 4 || size > len(rest) {
			return
		}
		each(native.Uint16(rest[2:]), rest[4:size])
		rest = rest[min(len(rest), (size+3)&^3):]
	}
}

package broker

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// host is what a request names, in its one normal form: an address, or else a name in lower-case ASCII without a last
// dot.
type host struct {
	name string
	addr netip.Addr
}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// target is a host and a port.
type target struct {
	host host
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host.String(), strconv.Itoa(t.port)) }

// names reads host names as the WHATWG and browsers do, and then more strictly: it refuses a name that DNS can't have.
func names() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
		idna.VerifyDNSLength(true), idna.BidiRule())
}

// parseTarget reads HOST:PORT, [V6]:PORT, or HOST alone if there is a default port.
func parseTarget(s string, port int) (target, error) {
	name := s
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1 {
		if rest, ok := strings.CutSuffix(s, "]"); ok {
			name = rest[1:]
		} else if h, p, err := net.SplitHostPort(s); err != nil {
			return target{}, fmt.Errorf("%q is not HOST:PORT", printable(s, 80))
		} else {
			if port, err = parsePort(p); err != nil {
				return target{}, err
			}
			name = h
		}
		if strings.HasPrefix(s, "[") && !strings.Contains(name, ":") {
			return target{}, fmt.Errorf("%q is not an IPv6 address", printable(name, 80))
		}
	}
	if port == 0 {
		return target{}, fmt.Errorf("%q has no port", printable(s, 80))
	}
	h, err := parseHost(name)
	return target{h, port}, err
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '+' {
		return 0, fmt.Errorf("port %q is not a port", printable(s, 20))
	}
	return int(n), nil
}

// parseHost gives the normal form of a host name or address, however it is written. What anything reads as an address
// (C's inet_aton, a browser) is that address here, and what could be read in two ways is refused.
func parseHost(s string) (host, error) {
	if s == "" || len(s) > 1024 {
		return host{}, errors.New("the host name is empty or too long")
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`%/\?#@<>^|"'*`+"`{}", r) {
			return host{}, fmt.Errorf("host name %q has a character that no host name has", printable(s, 80))
		}
	}
	if strings.Contains(s, ":") {
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" {
			return host{}, fmt.Errorf("%q is not an IPv6 address", printable(s, 80))
		}
		return host{addr: a.Unmap()}, nil
	}
	// The last dot may be a dot outside ASCII, so it is removed after conversion, when digits are plain too.
	name, err := names().ToASCII(s)
	if err != nil || !utf8.ValidString(s) {
		return host{}, fmt.Errorf("host name %q: not a name that DNS can have", printable(s, 80))
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if a, is, err := oldAddress(name); err != nil {
		return host{}, fmt.Errorf("%q: %w", printable(s, 80), err)
	} else if is {
		return host{addr: a}, nil
	}
	return host{name: name}, checkName(name)
}

// checkName wants letters, digits, hyphens and underscores in labels of DNS length.
func checkName(name string) error {
	if len(name) > 253 {
		return errors.New("the host name is too long")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("host name %q has an empty or too long part", printable(name, 80))
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return fmt.Errorf("host name %q has a character that no host name has", printable(name, 80))
			}
		}
	}
	return nil
}

// oldAddress reads IPv4 as inet_aton does: one to four parts, each decimal, octal or hexadecimal, the last filling the
// rest. A name whose last part is a number is an address or nothing: no top-level domain is one.
func oldAddress(s string) (a netip.Addr, is bool, err error) {
	parts := strings.Split(s, ".")
	if _, ok := oldNumber(parts[len(parts)-1]); !ok && !digits(parts[len(parts)-1]) {
		return a, false, nil
	}
	if len(parts) > 4 {
		return a, true, errors.New("an address has at most four parts")
	}
	var v uint64
	for i, p := range parts {
		n, ok := oldNumber(p)
		room := uint64(1) << 8
		if i == len(parts)-1 {
			room = 1 << (8 * (4 - i))
		}
		if !ok || n >= room {
			return a, true, errors.New("it looks like an IPv4 address but is not one")
		}
		if i < len(parts)-1 {
			v |= n << (8 * (3 - i))
		} else {
			v |= n
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true, nil
}

func oldNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
		if s == "" {
			return 0, true // as in inet_aton and browsers
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" || s[0] == '+' || s[0] == '-' || strings.Contains(s, "_") {
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 32)
	return n, err == nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

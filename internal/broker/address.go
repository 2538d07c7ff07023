package broker

import (
	"net"
	"net/netip"
)

// special names the kind of an address that only a rule by address may open, else "".
func special(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid() || a.IsUnspecified():
		return "unspecified"
	case a.IsLoopback():
		return "loopback"
	case a.IsPrivate():
		return "private"
	case a.IsLinkLocalUnicast():
		return "link-local"
	case a.IsMulticast():
		return "multicast"
	}
	for _, r := range reserved() {
		if r.Contains(a) {
			return "reserved"
		}
	}
	if v4, ok := embedded(a); ok {
		return special(v4)
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) && !nat64().Contains(a) {
		return "reserved"
	}
	return ""
}

// reserved are the ranges of IANA's special-purpose registries that netip does not know, and the metadata services of
// clouds that sit in public ranges.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT, and a metadata service
		netip.MustParsePrefix("168.63.129.16/32"), // a metadata service
		netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("192.88.99.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/96"), // IPv4-compatible
		netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("100::/64"),
		netip.MustParsePrefix("2001::/23"), // Teredo, ORCHID and the like
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("3fff::/20"),
		netip.MustParsePrefix("5f00::/16"),
		netip.MustParsePrefix("fec0::/10"),
	}
}

func nat64() netip.Prefix { return netip.MustParsePrefix("64:ff9b::/96") }

// embedded gives the IPv4 address that NAT64 or 6to4 would carry a packet to.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case nat64().Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// ownAddresses are the host's: what listens on all of them is reached by a public one too.
func ownAddresses() (own []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap().WithZone(""))
		}
	}
	return own
}

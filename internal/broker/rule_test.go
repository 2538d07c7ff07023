package broker

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestRulesAllowWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		rule, target string
		allowed      bool
	}{
		{"example.org", "example.org:443", true},
		{"example.org", "example.org:80", true},
		{"example.org", "example.org:22", false},
		{"example.org", "EXAMPLE.ORG.:443", true},
		{"Example.Org.", "example.org:443", true},
		{"bücher.example", "xn--bcher-kva.example:443", true},
		{"example.org", "sub.example.org:443", false},
		{"example.org", "notexample.org:443", false},
		{"example.org", "example.org.evil.net:443", false},
		{"*.example.org", "sub.example.org:443", true},
		{"*.example.org", "a.b.example.org:443", true},
		{"*.example.org", "example.org:443", false},
		{"*.example.org", "notexample.org:443", false},
		{"example.org:22", "example.org:22", true},
		{"example.org:22", "example.org:443", false},
		{"93.184.216.34", "93.184.216.34:443", true},
		{"93.184.216.34", "93.184.216.35:443", false},
		{"93.184.216.0/24:8080", "93.184.216.35:8080", true},
		{"10.0.0.5:5432", "10.0.0.5:5432", true},
		{"10.0.0.5:5432", "167772165:5432", true},
		{"10.0.0.5:5432", "[::ffff:10.0.0.5]:5432", true},
		{"10.0.0.0/8", "10.9.8.7:443", true},
		{"[::1]:8080", "[::1]:8080", true},
		{"::1", "[0:0:0:0:0:0:0:1]:443", true},
		{"127.0.0.1:80", "2130706433:80", true},
		{"0.0.0.0/0", "[::1]:443", false},
	} {
		tg := must.Get(parseTarget(c.target, 0))(t)
		p := policy{mode: ModeAllowlist, rules: listed(t, c.rule)}
		if _, err := p.named(tg); (err == nil) != c.allowed {
			t.Errorf("rule %s, target %s: %v", c.rule, c.target, err)
		}
	}
}

func TestRulesThatSayNothingSensibleAreErrors(t *testing.T) {
	for _, s := range []string{
		"", "*", "*.org", "*.", "a b", "http://example.org", "example.org/path", "10.0.0.1/8", "10.0.0.0/33",
		"::ffff:10.0.0.0/104", "example.org:0", "example.org:99999",
		"*.10.0.0.1", "a.*.org", "**.example.org", "[::1", "[example.org]:443x", "example.org:https", "fe80::1%eth0",
		"ex%61mple.org",
	} {
		if r, err := ParseRule(s); err == nil {
			t.Errorf("%q is taken for the rule %q", s, r)
		}
	}
}

func TestRulesReadTheirOwnForm(t *testing.T) {
	for _, s := range []string{"example.org", "*.Example.org.:8443", "10.0.0.0/8", "10.0.0.0/8:22", "[::1]:80",
		"2001:db8::/32", "[2001:db8::/32]:443", "0x7f.1"} {
		r, err := ParseRule(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if again, err := ParseRule(r.String()); err != nil || again != r {
			t.Errorf("%q is %q, and that is %q (%v)", s, r, again, err)
		}
	}
}

func TestNothingIsAllowedWithoutARule(t *testing.T) {
	for _, mode := range []Mode{ModeNone, ModeAllowlist, Mode(7)} {
		for _, s := range []string{"example.org:443", "93.184.216.34:443", "127.0.0.1:80", "[::1]:80"} {
			tg, _ := parseTarget(s, 0)
			if _, err := (policy{mode: mode}).named(tg); err == nil {
				t.Errorf("%s allows %s", mode, s)
			}
		}
	}
	p := policy{mode: ModeNone, rules: listed(t, "example.org", "0.0.0.0/0")}
	tg, _ := parseTarget("example.org:443", 0)
	if _, err := p.named(tg); err == nil {
		t.Error("none allows what a rule allows")
	}
}

func TestAddressesThatOnlyARuleByAddressOpens(t *testing.T) {
	closed := []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.100.100.200",
		"168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
		"239.255.255.250", "240.0.0.1", "255.255.255.255", "192.88.99.1",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254",
		"ff02::1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1",
		"2002:7f00:1::", "2002:a00:1::1", "2001::1", "2001:db8::1", "100::1", "3fff::1", "4000::1", "::2",
	}
	for _, s := range closed {
		a := netip.MustParseAddr(s).Unmap()
		for _, mode := range []Mode{ModeAllowlist, ModeOpen} {
			if _, err := (policy{mode: mode}).address(a, 443); err == nil {
				t.Errorf("%s opens %s", mode, s)
			}
			p := policy{mode: mode, rules: listed(t, "trap.example")}
			if err := p.resolved(target{host{name: "trap.example"}, 443}, []netip.Addr{netip.MustParseAddr("93.184.216.34"),
				a}); err == nil {
				t.Errorf("%s lets a name lead to %s", mode, s)
			}
		}
	}
	for _, s := range []string{"93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1",
		"64:ff9b::5db8:d822", "2002:5db8:d822::1"} {
		a := netip.MustParseAddr(s)
		if _, err := (policy{mode: ModeOpen}).address(a, 443); err != nil {
			t.Errorf("open refuses %s: %v", s, err)
		}
		if _, err := (policy{mode: ModeOpen, own: []netip.Addr{a}}).address(a, 443); err == nil {
			t.Errorf("open allows %s, the host's own address", s)
		}
		if _, err := (policy{mode: ModeAllowlist}).address(a, 443); err == nil {
			t.Errorf("an empty list allows %s", s)
		}
	}
	p := policy{mode: ModeAllowlist, rules: listed(t, "db.example:5432", "10.0.0.5:5432")}
	if err := p.resolved(target{host{name: "db.example"}, 5432},
		[]netip.Addr{netip.MustParseAddr("10.0.0.5")}); err != nil {
		t.Errorf("a private address that is allowed by address: %v", err)
	}
	if err := p.resolved(target{host{name: "db.example"}, 5432}, nil); err == nil {
		t.Error("a name without an address is allowed")
	}
}

func TestAURLIsNoRuleAndIsToldSo(t *testing.T) {
	for _, s := range []string{"http://example.org", "https://example.org:8443/path"} {
		if _, err := ParseRule(s); err == nil || !strings.Contains(err.Error(), "it is a URL") {
			t.Errorf("%s: %v", s, err)
		}
	}
}

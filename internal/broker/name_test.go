package broker

import (
	"net/netip"
	"strings"
	"testing"
)

func TestHostsHaveOneNormalForm(t *testing.T) {
	for in, want := range map[string]string{
		"example.org":           "example.org",
		"EXAMPLE.Org":           "example.org",
		"example.org.":          "example.org",
		"bücher.example":        "xn--bcher-kva.example",
		"BÜCHER.example":        "xn--bcher-kva.example",
		"xn--bcher-kva.example": "xn--bcher-kva.example",
		"ｅｘａｍｐｌｅ.org":           "example.org",
		"example。org":           "example.org",
		"exam\u00adple.org":     "example.org",
		"_srv.example.org":      "_srv.example.org",
		"127.0.0.1":             "127.0.0.1",
		"127.0.0.1.":            "127.0.0.1",
		"2130706433":            "127.0.0.1",
		"0x7f000001":            "127.0.0.1",
		"0X7F000001":            "127.0.0.1",
		"017700000001":          "127.0.0.1",
		"127.1":                 "127.0.0.1",
		"127.0.1":               "127.0.0.1",
		"0177.0.0.1":            "127.0.0.1",
		"0x7f.1":                "127.0.0.1",
		"0":                     "0.0.0.0",
		"0x":                    "0.0.0.0",
		"１２７.０.０.１":             "127.0.0.1",
		"①②⑦.0.0.1":             "127.0.0.1",
		"169.254.43518":         "169.254.169.254",
		"0xa9fea9fe":            "169.254.169.254",
		"::1":                   "::1",
		"::ffff:127.0.0.1":      "127.0.0.1",
		"::ffff:7f00:1":         "127.0.0.1",
		"0:0:0:0:0:FFFF:7F00:1": "127.0.0.1",
		"2001:DB8:0:0:0:0:0:1":  "2001:db8::1",
		"a.1x":                  "a.1x",
		"1.2.3.4.example.org":   "1.2.3.4.example.org",
		"localhost":             "localhost",
		"deadbeef":              "deadbeef",
		"deadbeef.0xg":          "deadbeef.0xg",
		"example.org\u3002":     "example.org",
	} {
		h, err := parseHost(in)
		if err != nil || h.String() != want {
			t.Errorf("%q is %q (%v), want %q", in, h, err, want)
		}
	}
}

func TestWhatIsNoHostIsRefused(t *testing.T) {
	for _, in := range []string{
		"", " ", ".", "..", "a..b", ".example.org", "example.org..", "exa mple.org", "example.org ", "\texample.org",
		"example.org\x00", "example.org\x00.evil.org",
		"example.org\r\nX: y", "ex%61mple.org", "%00", "a/b", "a\\b", "a@b", "a?b", "a#b", "a:b", "[::1]", "fe80::1%eth0",
		"::1%lo", "1.2.3.4.5",
		"256.1.1.1", "1.16777216", "4294967296", "0400.1.1.1", "08.1.1.1", "1.2.3.09", "0x1g.1", "foo.123", "foo.0x1",
		"1.2.3.4.0", "-1", "+1.2.3.4",
		strings.Repeat("a", 64) + ".org", strings.Repeat("a.", 150) + "org", "::ffff:1.2.3.4.5", "exam\u200bple.org\u0007",
		"*", "*.example.org", "a_b*",
		"example.org\u2028", "a\u0338b/c", strings.Repeat("x", 2000), "\xff\xfe", "xn--\x00",
	} {
		if h, err := parseHost(in); err == nil {
			t.Errorf("%q is taken for %q", in, h)
		}
	}
}

func TestTargets(t *testing.T) {
	for in, want := range map[string]string{
		"example.org:443": "example.org:443", "EXAMPLE.org.:8443": "example.org:8443", "[::1]:80": "[::1]:80",
		"127.1:22": "127.0.0.1:22", "[::ffff:10.0.0.1]:443": "10.0.0.1:443",
	} {
		if got, err := parseTarget(in, 0); err != nil || got.String() != want {
			t.Errorf("%q is %s (%v), want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "example.org", "example.org:", "example.org:0", "example.org:65536", "example.org:-1", "example.org:+1",
		"example.org:0x50", "example.org: 80", "example.org:80:80",
		"[example.org]:443", "[::1]", "::1:443", "[::1", "[]:443", "[::1%lo]:443", "user@example.org:443",
		"https://example.org:443", "example.org:443/", ":443", "[::1]:443]", "[127.0.0.1]:443",
	} {
		if got, err := parseTarget(in, 0); err == nil {
			t.Errorf("%q is taken for %s", in, got)
		}
	}
}

// Guards against a name that is checked in one form and used in another: the normal form of a normal form is itself.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"example.org", "BÜCHER.example.", "0x7f.1", "::ffff:1.2.3.4", "a。b", "xn--a", "1.2.3.4.",
		"０x7f000001", "faß.de", "\u200d.a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parseHost(s)
		if err != nil {
			return
		}
		again, err := parseHost(h.String())
		if err != nil || again != h {
			t.Fatalf("%q is %q, and that is %q (%v)", s, h, again, err)
		}
		if h.addr.IsValid() {
			if h.addr.Is4In6() || h.addr.Zone() != "" || h.name != "" {
				t.Fatalf("%q is the odd address %v", s, h.addr)
			}
			return
		}
		if h.name == "" || h.name != strings.ToLower(h.name) || strings.HasSuffix(h.name, ".") || len(h.name) > 253 {
			t.Fatalf("%q is the odd name %q", s, h.name)
		}
		if _, err := netip.ParseAddr(h.name); err == nil {
			t.Fatalf("%q is a name that is an address: %q", s, h.name)
		}
		for _, c := range []byte(h.name) {
			if c <= ' ' || c > '~' || c == '%' {
				t.Fatalf("%q keeps %q", s, c)
			}
		}
	})
}

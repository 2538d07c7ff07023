package broker

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Rule allows one thing to leave: a name, all names below one, or a range of addresses; on a port, or on 443 and 80.
// Only a rule by address opens private addresses, and only a rule by name opens a name.
type Rule struct {
	text   string
	name   string       // without the *.
	below  bool         // the names below it, not itself
	prefix netip.Prefix // valid for a rule by address
	port   int          // 0: 443 and 80
}

// Named says that the rule allows one name and nothing else, on the usual ports.
func (r Rule) Named() bool { return r.name != "" && !r.below && r.port == 0 }

// ParseRule reads HOST, *.HOST, ADDRESS or ADDRESS/BITS, each with an optional :PORT (an IPv6 address then in
// brackets).
func ParseRule(s string) (Rule, error) {
	r, err := parseRule(s)
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", printable(s, 100), err)
	}
	r.text = r.canonical()
	return r, nil
}

// ParseRules reads several.
func ParseRules(texts []string) (rules []Rule, err error) {
	for _, s := range texts {
		r, err := ParseRule(s)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(s string) (r Rule, err error) {
	s = strings.TrimSpace(s)
	if strings.Contains(s, "://") {
		return r, errors.New("it is a URL: name the host alone, with :PORT if that is not 443 or 80")
	}
	body := s
	if h, p, err := net.SplitHostPort(s); err == nil {
		if r.port, err = parsePort(p); err != nil {
			return r, err
		}
		body = h
	} else if in, ok := strings.CutPrefix(s, "["); ok {
		if body, ok = strings.CutSuffix(in, "]"); !ok {
			return r, errors.New("it is not [ADDRESS]:PORT")
		}
	}
	if strings.Contains(body, "/") {
		p, err := netip.ParsePrefix(body)
		if err != nil {
			return r, errors.New("it is not ADDRESS/BITS")
		}
		if p.Addr().Is4In6() || p.Masked() != p {
			return r, errors.New("the range is not written as one: bits beyond its length are set")
		}
		r.prefix = p
		return r, nil
	}
	if rest, ok := strings.CutPrefix(body, "*."); ok {
		r.below, body = true, rest
	}
	h, err := parseHost(body)
	if err != nil {
		return r, err
	}
	if !h.addr.IsValid() {
		r.name = h.name
		if r.below && !strings.Contains(h.name, ".") {
			return r, errors.New("a whole top-level domain is too much for one rule")
		}
		return r, nil
	}
	if r.below {
		return r, errors.New("there are no names below an address")
	}
	r.prefix = netip.PrefixFrom(h.addr, h.addr.BitLen())
	return r, nil
}

func (r Rule) canonical() string {
	text := r.name
	if r.below {
		text = "*." + text
	}
	if r.prefix.IsValid() {
		text = r.prefix.String()
		if r.prefix.IsSingleIP() {
			text = r.prefix.Addr().String()
		}
	}
	if r.port != 0 {
		return net.JoinHostPort(text, strconv.Itoa(r.port))
	}
	return text
}

// String is the rule in its normal form, which ParseRule reads.
func (r Rule) String() string { return r.text }

func (r Rule) allowsPort(p int) bool {
	if r.port != 0 {
		return r.port == p
	}
	return p == 443 || p == 80
}

func (r Rule) allowsName(name string, port int) bool {
	if r.name == "" || name == "" || !r.allowsPort(port) {
		return false
	}
	if r.below {
		return strings.HasSuffix(name, "."+r.name)
	}
	return name == r.name
}

func (r Rule) allowsAddr(a netip.Addr, port int) bool {
	return r.prefix.IsValid() && r.allowsPort(port) && r.prefix.Contains(a)
}

// policy is the state of the rules for one decision.
type policy struct {
	mode   Mode
	rules  []Rule
	unread error // why there are none, if they can't be read
	own    []netip.Addr
}

// refusal is an error that says why something is not let out; it is also the answer that the box gets.
type refusal struct {
	why   string
	as    Decision // "" is Refused
	allow string   // the rule that would let it out, "" if none would
}

func (r *refusal) Error() string { return r.why }

// missing is the refusal of what a rule would allow.
func missing(host string, port int, why string) error {
	r := &refusal{why: why, allow: host}
	if port != portTLS && port != portHTTP {
		r.allow = net.JoinHostPort(host, strconv.Itoa(port))
	}
	return r
}

func refuse(format string, args ...any) error { return &refusal{why: fmt.Sprintf(format, args...)} }

// named decides before anything is resolved: a name that is not allowed is never looked up, because a look-up tells it
// to the owner of its domain. It gives the rule that allows the target, if one was needed.
func (p policy) named(t target) (string, error) {
	if p.mode != ModeAllowlist && p.mode != ModeOpen {
		return "", refuse("this box has no network (--network none)")
	}
	if p.unread != nil && p.mode == ModeAllowlist {
		return "", refuse("what this box may reach can't be read: %v", p.unread)
	}
	if t.host.addr.IsValid() {
		return p.address(t.host.addr, t.port)
	}
	for _, r := range p.rules {
		if r.allowsName(t.host.name, t.port) {
			return r.text, nil
		}
	}
	if p.mode == ModeOpen {
		return "open", nil
	}
	return "", missing(t.host.String(), t.port, t.String()+" is not on the allow-list of this box")
}

// address decides about an address that was named as such.
func (p policy) address(a netip.Addr, port int) (string, error) {
	for _, r := range p.rules {
		if r.allowsAddr(a, port) {
			return r.text, nil
		}
	}
	if kind := p.closed(a); kind != "" {
		return "", missing(a.String(), port, fmt.Sprintf("%s is a %s address, and no rule allows it by address", a, kind))
	}
	if p.mode == ModeOpen {
		return "open", nil
	}
	return "", missing(a.String(), port, netip.AddrPortFrom(a, uint16(port)).String()+ // a port
		" is not on the allow-list of this box")
}

// resolved decides about the addresses of a name that is allowed. One bad address refuses the whole answer: a name that
// points both outside and inside is a trick or a mistake.
func (p policy) resolved(t target, addrs []netip.Addr) error {
	if len(addrs) == 0 {
		return fmt.Errorf("%s has no address", t.host)
	}
	for _, a := range addrs {
		kind := p.closed(a)
		if kind != "" && !slices.ContainsFunc(p.rules, func(r Rule) bool { return r.allowsAddr(a, t.port) }) {
			return missing(a.String(), t.port, fmt.Sprintf(
				"%s resolves to %s, a %s address, and no rule allows that by address", t.host, a, kind))
		}
	}
	return nil
}

func (p policy) closed(a netip.Addr) string {
	if kind := special(a); kind != "" {
		return kind
	}
	if slices.Contains(p.own, a) {
		return "host's own"
	}
	return ""
}

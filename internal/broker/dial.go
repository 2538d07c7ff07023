package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// maxAddrs bounds how many addresses of one name are checked and tried.
const maxAddrs = 32

// reach decides about a target, resolves it and connects to exactly what was resolved and checked.
func (d *Door) reach(ctx context.Context, t target) (net.Conn, string, error) {
	p := d.policy()
	rule, err := p.named(t)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeouts.Dial)
	defer cancel()
	addrs := []netip.Addr{t.host.addr}
	if !t.host.addr.IsValid() {
		if addrs, err = d.resolve(ctx, t.host.name); err != nil {
			return nil, rule, err
		}
		if err := p.resolved(t, addrs); err != nil {
			return nil, rule, err
		}
	}
	if err := d.page(p, addrs, t.port); err != nil {
		return nil, rule, err
	}
	conn, err := d.connect(ctx, addrs, t.port)
	return conn, rule, err
}

// page refuses cco's own page, whatever the rules say.
func (d *Door) page(p policy, addrs []netip.Addr, port int) error {
	if d.cfg.Page == nil {
		return nil
	}
	if at := d.cfg.Page(); at == 0 || at != port {
		return nil
	}
	for _, a := range addrs {
		if p.closed(a) != "" {
			return refuse("port %d of this machine is cco's own page, which no rule opens to a box", port)
		}
	}
	return nil
}

func (d *Door) policy() policy {
	p := policy{mode: d.cfg.Mode, own: d.cfg.Own()}
	if d.cfg.Allowed != nil {
		p.rules, p.unread = d.cfg.Allowed()
	}
	return p
}

func (d *Door) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	question := name
	if strings.Contains(name, ".") {
		question += "." // so that the host's search domains don't apply
	}
	found, err := d.cfg.Resolver.LookupNetIP(ctx, "ip", question)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			return nil, fmt.Errorf("resolve %s: no such host", name)
		}
		return nil, fmt.Errorf("resolve %s: %w", name, err)
	}
	addrs := make([]netip.Addr, 0, len(found))
	for _, a := range found {
		addrs = append(addrs, a.Unmap().WithZone(""))
	}
	return addrs[:min(len(addrs), maxAddrs)], nil
}

// connect tries the addresses in turn, each for a fair part of the time that is left.
func (d *Door) connect(ctx context.Context, addrs []netip.Addr, port int) (net.Conn, error) {
	var first error
	for i, a := range addrs {
		conn, err := d.try(ctx, net.JoinHostPort(a.String(), strconv.Itoa(port)), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (d *Door) try(ctx context.Context, address string, left int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(time.Until(end)/time.Duration(left), time.Second))
		defer cancel()
	}
	return d.cfg.Dialer.DialContext(ctx, "tcp", address)
}

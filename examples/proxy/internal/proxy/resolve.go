package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// resolve replaces the names of listeners, and of UDP upstreams, whose sessions begin on a worker,
// by addresses. It may wait for DNS, until ctx ends. Names of other upstreams are resolved for each
// connection.
func resolve(ctx context.Context, c *config.Config) error {
	for _, r := range c.Routes {
		for i := range r.Listen {
			a := &r.Listen[i]
			if a.Scheme == "unix" {
				continue
			}
			host, err := lookUp(ctx, a.Network(), a.Host)
			if err != nil {
				return fmt.Errorf("route %q: listen: %w", r.Name, err)
			}
			a.Host = host
		}
		for _, u := range r.Upstreams {
			if u.Address.Scheme != "udp" {
				continue
			}
			host, err := lookUp(ctx, "udp", u.Address.Host)
			if err != nil {
				return fmt.Errorf("route %q: %w", r.Name, err)
			}
			if _, err := netip.ParseAddrPort(host); err != nil {
				return fmt.Errorf("route %q: upstream %v names no host", r.Name, u.Address)
			}
			u.Address.Host = host
		}
	}
	return nil
}

// lookUp is host:port with an address and a number, IPv4 if there is the choice, as
// net.ResolveTCPAddr has it. An empty host stays: it means all addresses of this machine.
func lookUp(ctx context.Context, network, at string) (string, error) {
	host, service, err := net.SplitHostPort(at)
	if err != nil {
		return "", err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	if err != nil {
		return "", err
	}
	if host == "" {
		return net.JoinHostPort("", strconv.Itoa(port)), nil
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	best := all[0].Unmap()
	for _, ip := range all {
		if ip = ip.Unmap(); ip.Is4() {
			best = ip
			break
		}
	}
	return netip.AddrPortFrom(best, uint16(port)).String(), nil
}

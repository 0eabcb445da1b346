package proxy

import (
	"fmt"
	"net"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// resolve replaces the names of listeners, and of UDP upstreams, whose sessions begin on a worker,
// by addresses. It may wait for DNS. Names of other upstreams are resolved for each connection.
func resolve(c *config.Config) error {
	for _, r := range c.Routes {
		for i := range r.Listen {
			if err := resolveListener(&r.Listen[i]); err != nil {
				return fmt.Errorf("route %q: listen: %w", r.Name, err)
			}
		}
		for _, u := range r.Upstreams {
			if u.Address.Scheme != "udp" {
				continue
			}
			a, err := net.ResolveUDPAddr("udp", u.Address.Host)
			if err != nil {
				return fmt.Errorf("route %q: %w", r.Name, err)
			}
			at := a.AddrPort()
			if !at.Addr().IsValid() {
				return fmt.Errorf("route %q: upstream %v names no host", r.Name, u.Address)
			}
			u.Address.Host = at.String()
		}
	}
	return nil
}

// resolveListener leaves an address without a host as it is: it means all of this machine's.
func resolveListener(a *config.Address) error {
	if host, _, err := net.SplitHostPort(a.Host); a.Scheme == "unix" || err != nil || host == "" {
		return nil //nolint:nilerr // without a port there is no name of a host to resolve
	}
	if a.Network() == "udp" {
		at, err := net.ResolveUDPAddr("udp", a.Host)
		if err == nil {
			a.Host = at.String()
		}
		return err
	}
	at, err := net.ResolveTCPAddr("tcp", a.Host)
	if err == nil {
		a.Host = at.String()
	}
	return err
}

package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Kind is what the route's listeners and upstreams speak: stream, udp or http.
func (r *Route) Kind() string { return kind(r.Listen[0]) }

func kind(a Address) string {
	switch a.Scheme {
	case "udp", "http":
		return a.Scheme
	default:
		return "stream"
	}
}

// Check completes names, and reports the first thing that cannot be meant.
func (c *Config) Check() error {
	if len(c.Routes) == 0 {
		return errors.New("there is no route: write a [[route]], or use -listen and -upstream")
	}
	names := map[string]bool{}
	for i, r := range c.Routes {
		if r.unnamed = r.unnamed || r.Name == ""; r.unnamed {
			r.Name = fmt.Sprintf("route %d", i+1) // for an error
		} else if names[r.Name] {
			return fmt.Errorf("two routes are called %q", r.Name)
		} else {
			names[r.Name] = true
		}
		if err := r.check(); err != nil {
			return fmt.Errorf("route %q: %w", r.Name, err)
		}
	}
	for _, r := range c.Routes {
		if r.unnamed {
			r.Name = r.matches(names)
			names[r.Name] = true
		}
	}
	switch {
	case c.Workers < 0:
		return fmt.Errorf("workers = %d: it is not negative; 0 means as many as processors", c.Workers)
	case c.BusyPoll > Duration(time.Millisecond):
		return fmt.Errorf("busy_poll = %v: use 0 to 1ms", time.Duration(c.BusyPoll))
	}
	if err := notNegative("busy_poll", c.BusyPoll, "coalesce", c.Coalesce, "admin_timeout", c.AdminTimeout,
		"keep_alive", c.KeepAlive, "drain_timeout", c.Drain); err != nil {
		return err
	}
	if err := c.checkShared(); err != nil {
		return err
	}
	for _, r := range c.Routes {
		if err := r.checkActs(); err != nil {
			return fmt.Errorf("route %q: %w", r.Name, err)
		}
	}
	return c.checkActs()
}

// matches is the name of a route that has none: where it listens and its server_names, in whichever
// order and way they are written. It does not depend on other routes, so a reload that inserts one
// leaves the counts where they are. Only if another route has the name, a number follows it.
func (r *Route) matches(taken map[string]bool) string {
	var at, names []string
	for _, a := range r.Listen {
		at = append(at, a.Scheme+"://"+canonical(a))
	}
	for _, n := range r.ServerNames {
		names = append(names, strings.ToLower(strings.TrimSuffix(n, ".")))
	}
	slices.Sort(at)
	slices.Sort(names)
	base := strings.Join(append(at, names...), " ")
	name := base
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s (%d)", base, i)
	}
	return name
}

// Unchanged returns an error if a setting that is fixed at the start differs from the configuration
// of the start.
func (c *Config) Unchanged(start *Config) error {
	for name, same := range map[string]bool{
		"workers": c.Workers == start.Workers, "backend": c.Backend == start.Backend,
		"busy_poll": c.BusyPoll == start.BusyPoll, "coalesce": c.Coalesce == start.Coalesce,
		"admin": c.Admin == start.Admin, "admin_timeout": c.AdminTimeout == start.AdminTimeout,
		"log_rate": c.LogRate == start.LogRate,
	} {
		if !same {
			return fmt.Errorf("%s is fixed at the start: restart the proxy to change it", name)
		}
	}
	return nil
}

func (r *Route) check() error {
	switch {
	case len(r.Listen) == 0:
		return errors.New("it listens nowhere: set listen")
	case len(r.Upstreams) == 0:
		return errors.New("it has no upstream")
	case r.ProxyTo < 0 || r.ProxyTo > 2:
		return fmt.Errorf("proxy_to = %d: there are versions 1 and 2", r.ProxyTo)
	}
	for _, a := range r.Listen {
		if a.Scheme == "tls" {
			return fmt.Errorf("listen = %q: to terminate TLS listen on tcp:// or http:// and set tls", a)
		}
		if kind(a) != r.Kind() {
			return fmt.Errorf("%v and %v do not go together in one route", r.Listen[0], a)
		}
	}
	for _, u := range r.Upstreams {
		switch {
		case u.Address.Scheme == "" || u.Address.Scheme == "http" && r.Kind() != "http":
			return fmt.Errorf("upstream %v: use tcp, unix or tls", u.Address)
		case (u.Address.Scheme == "udp") != (r.Kind() == "udp"):
			return fmt.Errorf("%v and upstream %v do not go together", r.Listen[0], u.Address)
		case u.Weight < 0 || u.MaxConnections < 0:
			return fmt.Errorf("upstream %v: weight and max_connections are not negative", u.Address)
		case !u.Address.reachable():
			return fmt.Errorf("upstream %v: the port of an upstream is 1 to 65535, or the name of a service", u.Address)
		}
	}
	switch {
	case len(r.ServerNames) > 0 && (r.TLS != nil || r.Kind() == "http"):
		return errors.New("server_names are for connections whose TLS is not terminated here")
	case r.Kind() == "http" && r.ProxyTo != 0:
		return errors.New("proxy_to is not for http, whose connections to upstreams are shared: X-Forwarded-For and Forwarded say who it is")
	}
	return nil
}

// checkShared looks at listeners that several routes name. All but one need names, and their
// settings before the names are known must be equal.
func (c *Config) checkShared() error {
	c.nameSockets()
	type owner struct {
		*Route
		names []string
	}
	all := map[Socket]*owner{}
	for _, r := range c.Routes {
		for i, a := range r.Listen {
			key := r.sockets[i]
			o := all[key]
			if o == nil {
				all[key] = &owner{Route: r, names: r.ServerNames}
				continue
			}
			same := slices.ContainsFunc(r.ServerNames, func(n string) bool {
				return slices.ContainsFunc(o.names, func(m string) bool { return sameName(n, m) })
			})
			switch {
			case o.Route == r, o.Kind() != "stream", r.Kind() != "stream", same,
				len(r.ServerNames) == 0 && len(o.ServerNames) == 0:
				return fmt.Errorf("routes %q and %q both listen on %v: give them different server_names", o.Name, r.Name, a)
			case r.TLS != nil || o.TLS != nil:
				return fmt.Errorf("routes %q and %q share %v, so its TLS cannot be terminated", o.Name, r.Name, a)
			case !slices.Equal(r.ProxyFrom, o.ProxyFrom):
				return fmt.Errorf("routes %q and %q share %v: proxy_from must be the same", o.Name, r.Name, a)
			case r.HeaderTimeout != o.HeaderTimeout:
				return fmt.Errorf("routes %q and %q share %v: header_timeout must be the same", o.Name, r.Name, a)
			}
			r.shared, o.shared = true, true
			o.names = append(slices.Clone(o.names), r.ServerNames...)
			if len(o.ServerNames) > 0 && len(r.ServerNames) == 0 {
				o.Route = r
			}
		}
	}
	return nil
}

// sameName reports whether two names of servers are one: neither case nor a last dot counts.
func sameName(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, "."), strings.TrimSuffix(b, "."))
}

// nameSockets tells sockets apart by their address. Each socket with port 0 is another one, so
// these are told apart by their route, unless one with names is meant to share it.
func (c *Config) nameSockets() {
	at := func(a Address) Socket { return Socket{network: a.Network(), host: canonical(a)} }
	named := map[Socket]bool{}
	for _, r := range c.Routes {
		for _, a := range r.Listen {
			if len(r.ServerNames) > 0 {
				named[at(a)] = true
			}
		}
	}
	for _, r := range c.Routes {
		r.sockets, r.shared = nil, false
		for i, a := range r.Listen {
			s := at(a)
			if _, port, _ := net.SplitHostPort(a.Host); port == "0" && a.Scheme != "unix" && !named[s] {
				s.own = fmt.Sprint(r.Name, i)
			}
			r.sockets = append(r.sockets, s)
		}
	}
}

// canonical is one of several ways to write where to listen. No host, 0.0.0.0 and [::] all mean
// each address of this machine, of IPv4 and IPv6, as package net has it.
func canonical(a Address) string {
	if a.Scheme == "unix" {
		if strings.HasPrefix(a.Host, "@") {
			return a.Host // an abstract name: each byte counts
		}
		return filepath.Clean(a.Host)
	}
	host, port, err := net.SplitHostPort(a.Host)
	if ip, e := netip.ParseAddr(host); err == nil && e == nil && ip.IsUnspecified() {
		return net.JoinHostPort("", port)
	}
	return a.Host
}

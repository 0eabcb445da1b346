package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A setting is one that does nothing in some configurations, where it is refused.
type setting struct {
	name  string
	given bool
	acts  bool   // it has an effect here
	cure  string // what to do if not
}

// refuse is an error for the first setting that is given and does nothing.
func refuse(all []setting) error {
	for _, s := range all {
		if s.given && !s.acts {
			return fmt.Errorf("%s has no effect here: %s", s.name, s.cure)
		}
	}
	return nil
}

// checkActs refuses settings of the file that have no effect with its routes.
func (c *Config) checkActs() error {
	console, clients, tcp, sources := c.Admin != "", false, false, false
	for _, r := range c.Routes {
		clients = clients || r.Kind() != "udp"
		for _, a := range r.Listen {
			tcp = tcp || a.Network() == "tcp"
		}
		sources = sources || len(r.ProxyFrom) > 0
	}
	if err := refuse([]setting{
		{"admin_token", c.AdminToken != "", console, "set admin, the address of the console"},
		{"admin_hosts", len(c.AdminHosts) > 0, console, "set admin, the address of the console"},
		{"admin_timeout", c.AdminTimeout != 0, console, "set admin, the address of the console"},
		{"max_connections", c.MaxConnections != 0, clients, "all routes are udp; set udp.max_sessions of a route"},
		{"max_per_source", c.MaxPerSource != 0, tcp || sources, "no client has an address; for udp set udp.max_per_source of a route"},
		{"keep_alive", c.KeepAlive != 0, tcp, "no listener is tcp:// or http://"},
		{"coalesce", c.Coalesce != 0, c.Backend != "io_uring", `set backend = "epoll", or none`},
	}); err != nil {
		return err
	}
	for _, h := range c.AdminHosts {
		if strings.ContainsAny(h, ":/") || h == "" || strings.HasSuffix(h, ".") {
			return fmt.Errorf("admin_hosts: %q is no name of a host: write it without scheme, port and last dot", h)
		}
	}
	return nil
}

// checkActs refuses settings of the route that have no effect with its listeners and upstreams.
func (r *Route) checkActs() error {
	stream, http, udp := r.Kind() == "stream", r.Kind() == "http", r.Kind() == "udp"
	asks, secret := r.Health.Interval != 0, false
	for _, u := range r.Upstreams {
		secret = secret || u.Address.Scheme == "tls"
	}
	told := len(r.ProxyFrom) > 0 || slices.ContainsFunc(r.Listen, func(a Address) bool { return a.Scheme != "unix" })
	const only, streams = "it is for http:// listeners", "it is not for udp:// listeners"
	if err := refuse([]setting{
		{"tls", r.TLS != nil, !udp, "tls is not for udp"},
		{"proxy_from", len(r.ProxyFrom) > 0, !udp, "proxy_from is not for udp"},
		{"proxy_to", r.ProxyTo != 0, !udp, "proxy_to is not for udp"},
		{"server_names", len(r.ServerNames) > 0, !udp, "server_names are not for udp"},
		{"health.interval", asks, !udp, "health.interval is not for udp"},
		{"retries", r.Retries != 0, !udp, streams},
		{"connect_timeout", r.ConnectTimeout != 0, !udp, streams},
		{"header_timeout", r.HeaderTimeout != 0, http || stream && (r.shared || r.TLS != nil || len(r.ServerNames) > 0 || len(r.ProxyFrom) > 0),
			"only tls, server_names, proxy_from and http:// have a header to wait for"},
		{"reply_timeout", r.ReplyTimeout != 0, http, only},
		{"max_requests", r.MaxRequests != 0, http, only},
		{"min_rate", r.MinRate != 0, http, only},
		{"pass_headers", len(r.PassHeaders) > 0, http, "pass_headers and underscores are for http"},
		{"underscores", r.Underscores, http, "pass_headers and underscores are for http"},
		{"upstream_tls", r.UpstreamTLS != UpstreamTLS{}, secret, "no upstream has an address with tls://"},
		{"upstream_tls.ca", r.UpstreamTLS.CA != "", !r.UpstreamTLS.Insecure, "insecure believes any certificate; set one of them"},
		{"udp", r.UDP != UDP{}, udp, "it is for udp:// listeners"},
		{"health.path", r.Health.Path != "", asks, "set health.interval, how often to ask"},
		{"health.timeout", r.Health.Timeout != 0, asks, "set health.interval, how often to ask"},
		{"health.eject", r.Health.Eject != 0, !asks, "with health.interval only a health check ends the absence of an upstream"},
		{"balance", r.Balance == SourceHash, told, "clients of a unix:// listener have no address; use round_robin or least_connections"},
	}); err != nil {
		return err
	}
	return r.checkValues()
}

// checkValues refuses values that cannot be meant.
func (r *Route) checkValues() error {
	if err := notNegative("connect_timeout", r.ConnectTimeout, "idle_timeout", r.IdleTimeout, "header_timeout", r.HeaderTimeout,
		"reply_timeout", r.ReplyTimeout, "health.interval", r.Health.Interval, "health.timeout", r.Health.Timeout, "health.eject", r.Health.Eject); err != nil {
		return err
	}
	switch {
	case r.MaxConnections < 0:
		return fmt.Errorf("max_connections = %d: it is not negative; 0 means no bound", r.MaxConnections)
	case r.Health.Fails < 0:
		return errors.New("health.fails is not negative")
	case r.Health.Path != "" && !strings.HasPrefix(r.Health.Path, "/"):
		return fmt.Errorf("health.path = %q: begin it with /", r.Health.Path)
	case !asked(r.Health.Path):
		return fmt.Errorf("health.path = %q: no request can ask for it: escape a space as %%20, %% as %%25 and # as %%23", r.Health.Path)
	case r.UDP.MaxSessions < 0 || r.UDP.MaxRate < 0:
		return errors.New("udp.max_sessions and udp.max_rate are not negative")
	case r.TLS != nil && (r.TLS.Certificate == "" || r.TLS.Key == ""):
		return errors.New("tls needs certificate and key, two paths of PEM files")
	}
	for _, n := range r.ServerNames {
		host := strings.TrimPrefix(n, "*.")
		if _, err := netip.ParseAddr(host); err == nil || host == "" || strings.ContainsAny(host, "*:/ ") || !ascii(host) {
			return fmt.Errorf("server_names: no client asks for %q: write a name as shop.example, or *.shop.example, and one beyond ASCII as xn--", n)
		}
	}
	for _, p := range r.ProxyFrom {
		switch a := p.Addr(); {
		case !p.IsValid():
			return errors.New("proxy_from has an empty prefix: write one as 10.0.0.0/8, or none")
		case a.Is4In6() && p.Bits() < 96:
			return fmt.Errorf("proxy_from: no client has an address in %v: write an IPv4 prefix as 10.0.0.0/8", p)
		}
	}
	for _, n := range r.PassHeaders {
		if !spoofable(strings.ToLower(n)) {
			return fmt.Errorf("pass_headers: %q has no effect: it is a field that is passed on anyway, or that the proxy writes itself", n)
		}
	}
	return nil
}

// notNegative is an error for the first negative duration. Each follows its name. UnmarshalText
// refuses those of a file; these may be flags.
func notNegative(all ...any) error {
	for i := 0; i < len(all); i += 2 {
		if d := time.Duration(all[i+1].(Duration)); d < 0 {
			return fmt.Errorf("%v = %v: it is not negative; 0 means the default", all[i], d)
		}
	}
	return nil
}

// asked reports whether a request can ask for a path with a query.
func asked(path string) bool {
	if path == "" {
		return true
	}
	_, err := url.ParseRequestURI(path)
	return err == nil && !strings.ContainsAny(path, " #")
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > unicode.MaxASCII })
}

// spoofed are the fields that requests lose unless pass_headers names them, beside X-Forwarded-
// fields. Package gateway says why.
var spoofed = []string{
	"x-real-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip", "cf-connecting-ip", "proxy",
}

// spoofable reports whether pass_headers may name a field. The gateway writes two X-Forwarded-
// fields itself, and only appends to X-Forwarded-For.
func spoofable(name string) bool {
	switch name {
	case "x-forwarded-proto", "x-forwarded-host":
		return false
	}
	return slices.Contains(spoofed, name) || strings.HasPrefix(name, "x-forwarded-")
}

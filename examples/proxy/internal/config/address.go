package config

import (
	"fmt"
	"net"
	"strings"
)

// An Address says where to listen, or what to connect to, and how: tcp://host:port,
// unix:///path, udp://host:port; to listen also http://host:port, whose requests are
// proxied one by one, and to connect tls://host:port.
type Address struct {
	Scheme string // tcp, unix, udp, http or tls
	Host   string // host:port, or a path
}

// Network is what package net calls it.
func (a Address) Network() string {
	switch a.Scheme {
	case "http", "tls":
		return "tcp"
	default:
		return a.Scheme
	}
}

func (a Address) String() string { return a.Scheme + "://" + a.Host }

// With is the address with another host, as a listener has it whose port was 0.
func (a Address) With(host net.Addr) Address { return Address{Scheme: a.Scheme, Host: host.String()} }

// reachable reports whether the address has a port to which a connection can be established.
func (a Address) reachable() bool {
	if a.Scheme == "unix" {
		return true
	}
	_, service, err := net.SplitHostPort(a.Host)
	if err != nil {
		return false
	}
	port, err := net.LookupPort(a.Network(), service)
	return err == nil && port != 0
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Address) UnmarshalText(text []byte) error {
	scheme, host, ok := strings.Cut(string(text), "://")
	if !ok {
		scheme, host = "tcp", string(text)
	}
	switch scheme {
	case "unix":
		if host == "" {
			return fmt.Errorf("%q names no path: write unix:///run/name.sock", text)
		}
	case "tcp", "udp", "http", "tls":
		if _, _, err := net.SplitHostPort(host); err != nil {
			return fmt.Errorf("%q: %w: write %s://host:port", text, err, scheme)
		}
	default:
		return fmt.Errorf("%q: unknown scheme %q: use tcp, unix, udp, http or tls", text, scheme)
	}
	a.Scheme, a.Host = scheme, host
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

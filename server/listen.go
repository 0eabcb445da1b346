package server

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen is net.Listen with advice.
func listen(network, addr string) (net.Listener, error) {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
	default:
		return nil, fmt.Errorf("server: unknown network %q; use tcp, tcp4, tcp6, unix, udp, udp4 or udp6: %w", network, errors.ErrUnsupported)
	}
	ln, err := net.Listen(network, addr)
	if err == nil {
		return ln, nil
	}
	return nil, advise(err)
}

// advise adds to an error of listening what to do about it.
func advise(err error) error {
	hint := ""
	var dns *net.DNSError
	var bad *net.AddrError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; another program listens there: stop it or choose another address"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "; use an address of this machine, or none for all of them"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		hint = "; use a port above 1023, or give the program the right to this one"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		hint = "; raise the limit on open files (ulimit -n)"
	case errors.As(err, &bad), errors.As(err, &dns):
		hint = "; use host:port, such as 127.0.0.1:8080 or :8080"
	}
	return fmt.Errorf("server: %w%s", err, hint)
}

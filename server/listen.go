package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// listen makes the listening sockets that the configuration asks for: one, or with
// ReusePort one per worker.
func (s *Server) listen(network, addr string, workers int) ([]net.Listener, error) {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
	default:
		return nil, fmt.Errorf("server: unknown network %q; use tcp, tcp4, tcp6, unix, udp, udp4 or udp6: %w", network, errors.ErrUnsupported)
	}
	if !s.ReusePort || !haveReusePort || network == "unix" {
		workers = 1
	}
	var all []net.Listener
	for range workers {
		ln, err := s.listenOne(network, addr)
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("server: %w%s", err, hint(err))
		}
		all = append(all, ln)
		addr = ln.Addr().String() // port 0 is the same for all
	}
	return all, nil
}

func closeAll[T io.Closer](all []T) {
	for _, c := range all {
		_ = c.Close()
	}
}

func (s *Server) listenOne(network, addr string) (net.Listener, error) {
	if network == "unix" {
		return s.listenUnix(addr)
	}
	lc := net.ListenConfig{Control: s.control}
	ln, err := untilFree(func() (net.Listener, error) { return lc.Listen(context.Background(), network, addr) })
	if err != nil {
		return nil, err
	}
	if err := s.listening(ln); err != nil {
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

// control sets the options of a socket before it is bound. Accepted sockets inherit them.
func (s *Server) control(network, addr string, raw syscall.RawConn) error {
	var err error
	if cerr := raw.Control(func(fd uintptr) { err = s.setOptions(network, int(fd)) }); cerr != nil {
		return cerr
	}
	if err == nil && s.Control != nil {
		err = s.Control(network, addr, raw)
	}
	return err
}

// hint says how to fix an error, if that is known.
func hint(err error) string {
	var dns *net.DNSError
	var bad *net.AddrError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; something listens there, this program perhaps: stop that or choose another address"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; use an address of this machine, or none for all of them"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "; use a port above 1023, or give the program the right to this one"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "; raise the limit on open files (ulimit -n)"
	case errors.As(err, &bad), errors.As(err, &dns):
		return "; use host:port, such as 127.0.0.1:8080 or :8080"
	}
	return ""
}

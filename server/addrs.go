package server

import (
	"cmp"
	"net"
	"slices"
)

// Addrs returns the addresses that the server accepts connections on, each once, in the order of
// their networks and texts. Packet sockets are not among them. It is empty before the server
// listens. Any goroutine may call it.
func (s *Server) Addrs() []net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []net.Addr
	for l := range s.listeners {
		all = append(all, l.Addr())
	}
	for l := range s.sockets {
		all = append(all, l.inner.Addr())
	}
	same := func(a, b net.Addr) int {
		return cmp.Or(cmp.Compare(a.Network(), b.Network()), cmp.Compare(a.String(), b.String()))
	}
	slices.SortFunc(all, same)
	return slices.CompactFunc(all, func(a, b net.Addr) bool { return same(a, b) == 0 })
}

// Stopping reports whether Shutdown or Close was called. It stays true when they have returned. Any
// goroutine may call it.
func (s *Server) Stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

package server

import (
	"context"
	"net"
	"os"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/packet"
)

// ListenUDP makes a UDP socket for tasks on an address. network is "udp", "udp4" or "udp6". ":0" is
// any free port. Start tasks that use it with sched.Go on Group().Runtime(). It may be called
// several times, and beside Serve. Neither Handler nor Packets is needed. The server's options for
// sockets apply. Each error is a *net.OpError.
//
// Shutdown and Close close the socket: its calls then return an error that matches net.ErrClosed.
// When it is closed, and nothing else is served, the workers stop.
func (s *Server) ListenUDP(network, addr string) (*UDPSocket, error) {
	u, err := s.listenUDP(network, addr)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	return u, nil
}

func (s *Server) listenUDP(network, addr string) (*UDPSocket, error) {
	return listenDatagrams(s, s.startForTasks, network, addr, packet.ListenUDP)
}

// A datagramSocket is a socket of tasks or goroutines.
type datagramSocket interface {
	Release()
	Closed(ctx context.Context) error
	File() (*os.File, error)
}

// listenDatagrams makes a socket. The workers that start returns serve it.
func listenDatagrams[S datagramSocket](s *Server, start func() (*conn.Group, error), network, addr string,
	serve func(packet.Group, *net.UDPConn) (S, error)) (u S, err error) {
	if !isPacketNetwork(network) {
		return u, unknownNetwork(network)
	}
	group, err := start()
	if err != nil {
		return u, err
	}
	all, err := s.listenPackets(network, addr, 1)
	if err != nil {
		s.release()
		return u, err
	}
	defer closeAll(all) // the group has its own descriptor
	if s.Listening != nil {
		s.Listening(all[0].LocalAddr())
	}
	u, err = openDatagrams(s, group, all[0], serve)
	if err != nil {
		s.release()
	}
	return u, err
}

func openDatagrams[S datagramSocket](s *Server, group *conn.Group, pc *net.UDPConn,
	serve func(packet.Group, *net.UDPConn) (S, error)) (u S, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping { // stop would miss it
		return u, ErrServerClosed
	}
	u, err = serve(group, pc)
	if err != nil {
		return u, err
	}
	leave := func() {}
	if m := s.members; m != nil {
		end := func() error { u.Release(); return nil } // does not wait
		x := &member{end, end}
		x.stay(m.join(x))
		leave = func() { m.leave(x) }
	}
	if s.datagrams == nil {
		s.datagrams = make(map[datagramSocket]bool)
	}
	s.datagrams[u] = true
	bubble.Go(func() {
		_ = u.Closed(context.Background())
		leave()
		s.mu.Lock()
		delete(s.datagrams, u)
		s.mu.Unlock()
		s.release() // if it stops the workers, it waits for them
	})
	return u, nil
}

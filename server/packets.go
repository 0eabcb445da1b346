package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
)

func isPacketNetwork(network string) bool {
	return network == "udp" || network == "udp4" || network == "udp6"
}

// hasNoSessions reports whether nothing would serve the sessions of packets.
func hasNoSessions(h PacketHandler) bool {
	all, ok := h.(*packet.Sessions)
	return ok && all.Handler == nil
}

// listenPackets makes the sockets that the configuration asks for: one, or with
// ReusePort one per worker.
func (s *Server) listenPackets(network, addr string, workers int) (all []*net.UDPConn, err error) {
	if !s.ReusePort || !haveReusePort {
		workers = 1
	}
	lc := net.ListenConfig{Control: s.control}
	for range workers {
		pc, err := untilFree(func() (net.PacketConn, error) { return lc.ListenPacket(context.Background(), network, addr) })
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("server: %w%s", err, hint(err))
		}
		all = append(all, pc.(*net.UDPConn))
		addr = pc.LocalAddr().String() // port 0 is the same for all
	}
	return all, nil
}

// ServePacket serves a UDP socket with Packets until Shutdown or Close, and then returns
// ErrServerClosed. Without Packets it returns an error. It takes the socket over: pc itself is
// closed soon after the call, so that datagrams do not wake Go's own poller. It may be called for
// several sockets. With SO_REUSEPORT they may share an address. If the handler closes the socket,
// ServePacket still waits for the end of the server.
func (s *Server) ServePacket(pc *net.UDPConn) error { return s.servePackets(pc) }

func (s *Server) servePackets(all ...*net.UDPConn) error {
	defer closeAll(all)
	group, err := s.start()
	if err != nil {
		return err
	}
	defer s.release()
	if s.Listening != nil {
		s.Listening(all[0].LocalAddr())
	}
	for _, pc := range all {
		if err := s.attach(group, pc); err != nil {
			return err
		}
		_ = pc.Close() // the group has its own descriptor
	}
	return s.wait(group)
}

// attach makes the group serve a socket, unless the server is stopping: stop would miss a socket
// that joins later.
func (s *Server) attach(group *conn.Group, pc *net.UDPConn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return ErrServerClosed
	case s.Packets == nil:
		return errors.New("server: Packets is nil; set one to serve UDP")
	}
	handle, err := s.listenPacket(func(h PacketHandler) (PacketHandle, error) { return packet.Listen(group, pc, h) })
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.packets = append(s.packets, handle)
	return nil
}

package server

import (
	"errors"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
)

// What a handler of packets needs is in package conn; these are its names here.
type (
	// PacketHandler is told what happens to a packet socket.
	PacketHandler = conn.PacketHandler
	// PacketBase implements all of PacketHandler but OnPackets.
	PacketBase = conn.PacketBase
	// PacketConn is a packet socket.
	PacketConn = conn.PacketConn
	// PacketHandle refers to a packet socket from any goroutine.
	PacketHandle = conn.PacketHandle
	// Packet is a datagram that was received.
	Packet = conn.Packet
	// Sessions is a PacketHandler that tells the datagrams of different peers apart.
	Sessions = conn.Sessions
)

func isPacketNetwork(network string) bool {
	return network == "udp" || network == "udp4" || network == "udp6"
}

// listenPacket is net.ListenPacket with advice.
func listenPacket(network, addr string) (*net.UDPConn, error) {
	pc, err := net.ListenPacket(network, addr)
	if err != nil {
		return nil, advise(err)
	}
	return pc.(*net.UDPConn), nil
}

// ServePacket serves a UDP socket with Packets until Shutdown or Close, as Serve does
// connections. It takes the socket over: pc itself is closed soon after the call, so
// that Go's own poller is not woken by what arrives. It may be called for several
// sockets, which with SO_REUSEPORT may share an address. If the handler closes the
// socket, ServePacket goes on waiting for the server's end.
func (s *Server) ServePacket(pc *net.UDPConn) error {
	defer pc.Close()
	group, err := s.start()
	if err != nil {
		return err
	}
	defer s.release()
	if s.Listening != nil {
		s.Listening(pc.LocalAddr())
	}
	if err := s.attach(group, pc); err != nil {
		return err
	}
	_ = pc.Close() // the group has a descriptor of its own
	return s.wait(group)
}

// attach has the group serve a socket, unless the server is stopping: one that came
// after stop would not be told.
func (s *Server) attach(group *conn.Group, pc *net.UDPConn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return ErrServerClosed
	case s.Packets == nil:
		return errors.New("server: Packets is nil; set one to serve UDP")
	}
	if _, err := group.ListenPacket(pc, s.Packets); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

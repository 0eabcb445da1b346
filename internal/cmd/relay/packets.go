package main

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
)

// listenPackets gives each peer that sends to addr a session with its own socket, which is
// connected to the origin. So the origin can tell the peers apart, the socket on which an answer
// arrives identifies its peer, and only the origin can send an answer.
func listenPackets(g *conn.Group, addr, to string, idle time.Duration) (net.Addr, func(), error) {
	origin, err := net.ResolveUDPAddr("udp", to)
	if err != nil {
		return nil, nil, err
	}
	local, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, nil, err
	}
	pc, err := net.ListenUDP("udp", local)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = pc.Close() }() // the group has a copy
	h, err := packet.Listen(g, pc, &packet.Sessions{Handler: &peers{origin: origin.AddrPort()}, Idle: idle, CountSent: true})
	if err != nil {
		return nil, nil, err
	}
	return pc.LocalAddr(), func() { _ = h.Close() }, nil
}

// peers is the handler of the sessions. A session's value is the handle of its socket.
type peers struct{ origin netip.AddrPort }

// OnOpen connects a socket. Without one, as when no descriptor is left, the datagram is
// lost, and the peer's next one tries again.
func (h *peers) OnOpen(s *packet.Session) error {
	up, err := packet.Dial(s.Conn().Group(), h.origin, answers{to: s.Conn().Handle(), local: s.Local(), peer: s.Peer()})
	if err == nil {
		s.SetValue(up)
	}
	return err
}

// OnPacket passes a datagram on. If the session's socket has ended, so does the session.
func (h *peers) OnPacket(s *packet.Session, p packet.Packet) error {
	return unlessFull(s.Value().(packet.Handle).Send(p.Data, netip.AddrPort{}))
}

func (h *peers) OnClose(s *packet.Session, _ error) {
	if up, ok := s.Value().(packet.Handle); ok {
		_ = up.Close()
	}
}

// answers is the handler of a session's socket. That nobody listens at the origin
// (OnError) is no reason to end: somebody may again.
type answers struct {
	packet.Base
	to    packet.Handle
	local netip.Addr
	peer  netip.AddrPort
}

func (h answers) OnPackets(_ *packet.Conn, batch []packet.Packet) error {
	for _, p := range batch {
		if err := unlessFull(h.to.SendFrom(p.Data, h.local, h.peer)); err != nil {
			return err
		}
	}
	return nil
}

// unlessFull forgives that a queue is full: a datagram more or less gets lost.
func unlessFull(err error) error {
	if errors.Is(err, conn.ErrWriteQueueFull) {
		return nil
	}
	return err
}

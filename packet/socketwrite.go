package packet

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/net/ipv4"

	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

var (
	errNoAddress   = &net.AddrError{Err: "missing address"}
	errAddressType = fmt.Errorf("packet: the address is of another type than the socket's: %w", syscall.EINVAL)
)

// WriteToUDPAddrPort sends p as one datagram to an address. As in package net, the kernel chooses
// the source, also for an answer. WriteMsgUDP sets it by a control message (IP_PKTINFO).
func (s *Socket) WriteToUDPAddrPort(p []byte, to netip.AddrPort) (int, error) {
	sa := spareAddrs.Get().(*reactor.Sockaddr)
	defer spareAddrs.Put(sa)
	if err := s.address(to, sa); err != nil {
		return 0, err
	}
	return s.write(p, sa)
}

// WriteTo implements net.PacketConn. addr is a *net.UDPAddr. For another type the error matches
// syscall.EINVAL.
func (s *Socket) WriteTo(p []byte, addr net.Addr) (int, error) {
	to, ok := addr.(*net.UDPAddr)
	if !ok {
		return 0, s.wrongType(addr)
	}
	return s.WriteToUDP(p, to)
}

// WriteToUDP is WriteTo with the type of the address. An address without an IP is the unspecified
// one, as in package net.
func (s *Socket) WriteToUDP(p []byte, to *net.UDPAddr) (int, error) {
	addr, err := s.destination(to)
	if err != nil {
		return 0, err
	}
	return s.WriteToUDPAddrPort(p, addr)
}

// Write implements net.Conn. The error of a socket that is not connected matches
// syscall.EDESTADDRREQ.
func (s *Socket) Write(p []byte) (int, error) {
	if s.remote == nil {
		return 0, s.opError("write", s.unconnected())
	}
	return s.write(p, nil)
}

// unconnected is why a socket without a peer cannot write: it is closed, its deadline has passed,
// or it needs an address. Not all systems return EDESTADDRREQ.
func (s *Socket) unconnected() error {
	if _, err := s.udp.sock.Enter(ready.Out, new(ready.Attempt)); err != nil {
		return err
	}
	s.udp.sock.Leave()
	return sock.Error("write", syscall.EDESTADDRREQ)
}

// wrongType is the error of a write to an address that is not a *net.UDPAddr.
func (s *Socket) wrongType(addr net.Addr) error {
	return &net.OpError{Op: "write", Net: "udp", Source: s.addr, Addr: addr, Err: errAddressType}
}

func (s *Socket) destination(to *net.UDPAddr) (netip.AddrPort, error) {
	addr, err := destination(to, s.udp.kind.Wide)
	switch {
	case err == nil:
		return addr, nil
	case s.remote != nil:
		err = net.ErrWriteToConnected
	}
	return addr, &net.OpError{Op: "write", Net: "udp", Source: s.addr, Addr: to, Err: err}
}

// destination is an address to send to; invalid for nil. wide: the socket is an IPv6 one. As in
// package net, such a socket sends to the unspecified address of IPv6 in place of that of IPv4.
func destination(to *net.UDPAddr, wide bool) (netip.AddrPort, error) {
	if to == nil {
		return netip.AddrPort{}, nil
	}
	if to.Port < 0 || to.Port > math.MaxUint16 {
		return netip.AddrPort{}, sock.Error("sendto", syscall.EINVAL)
	}
	if len(to.IP) > 0 && (!wide || !to.IP.Equal(net.IPv4zero)) {
		return to.AddrPort(), nil
	}
	ip := netip.IPv4Unspecified()
	if wide {
		ip = netip.IPv6Unspecified()
	}
	return netip.AddrPortFrom(ip, uint16(to.Port)), nil
}

// address sets sa to the address to send to. It is an error on a connected socket.
func (s *Socket) address(to netip.AddrPort, sa *reactor.Sockaddr) error {
	if !to.IsValid() && s.remote == nil {
		return s.opError("write", errNoAddress)
	}
	return s.udp.encode(to, sa)
}

func (s *Socket) write(p []byte, to *reactor.Sockaddr) (int, error) {
	var turn *ready.Wait
	defer func() { s.pass(ready.Out, turn) }()
	var try ready.Attempt
	for {
		fd, err := s.udp.sock.Enter(ready.Out, &try)
		if err != nil {
			return 0, s.opError("write", err)
		}
		errno := s.udp.calls.TrySendTo(fd, p, to)
		s.udp.sock.Leave()
		if errno == 0 {
			s.udp.countOut(len(p))
			return len(p), nil
		}
		if err = s.udp.failed("write", "sendto", to, errno); err != ErrWouldBlock {
			return 0, err
		}
		if turn, err = s.await("write", ready.Out, turn, try, forOther); err != nil {
			return 0, err
		}
	}
}

// WriteMsgUDP sends p as one datagram with control messages to an address. nil is the peer of a
// connected socket. With a UDP_SEGMENT message (Linux) it sends several datagrams. It returns the
// lengths of p and oob.
func (s *Socket) WriteMsgUDP(p, oob []byte, to *net.UDPAddr) (n, oobn int, err error) {
	addr, err := s.destination(to)
	if err != nil {
		return 0, 0, err
	}
	return s.writeMessage(p, oob, addr, to == nil)
}

// WriteMsgUDPAddrPort is WriteMsgUDP with another type of address. The zero value is nil's.
func (s *Socket) WriteMsgUDPAddrPort(p, oob []byte, to netip.AddrPort) (n, oobn int, err error) {
	return s.writeMessage(p, oob, to, !to.IsValid())
}

func (s *Socket) writeMessage(p, oob []byte, to netip.AddrPort, toPeer bool) (n, oobn int, err error) {
	b := spareMessages.Get().(*reactor.Messages)
	defer putMessages(b)
	if err := s.add(b, p, oob, to, toPeer); err != nil {
		return 0, 0, err
	}
	if _, err := s.writeMessages(b); err != nil {
		return 0, 0, err
	}
	s.udp.countOut(len(p))
	return len(p), len(oob), nil
}

// WriteBatch sends the messages in order, each to its Addr. That is a *net.UDPAddr, or nil for the
// peer of a connected socket. WriteBatch returns the number of messages sent, and sets their N and
// NN. An error is that of the next message: this one and all later ones were not sent. flags must
// be 0. On Linux one system call sends up to 32.
func (s *Socket) WriteBatch(ms []ipv4.Message, flags int) (n int, err error) {
	if flags != 0 {
		return 0, s.opError("write", fmt.Errorf("packet: flags of WriteBatch: %w", errors.ErrUnsupported))
	}
	b := spareMessages.Get().(*reactor.Messages)
	defer putMessages(b)
	for n < len(ms) && err == nil {
		var bad error
		for _, m := range ms[n:min(len(ms), n+reactor.MaxMessages)] {
			if bad = s.addMessage(b, m); bad != nil {
				break
			}
		}
		var sent int
		sent, err = s.writeMessages(b)
		for i := range ms[n : n+sent] {
			m := &ms[n+i]
			m.N, m.NN = size(m.Buffers), len(m.OOB)
			s.udp.countOut(m.N)
		}
		n += sent
		if err == nil {
			err = bad
		}
		b.Reset()
	}
	return n, err
}

func (s *Socket) addMessage(b *reactor.Messages, m ipv4.Message) error {
	to, ok := m.Addr.(*net.UDPAddr)
	if !ok && m.Addr != nil {
		return s.wrongType(m.Addr)
	}
	addr, err := s.destination(to)
	if err != nil {
		return err
	}
	var p []byte
	switch len(m.Buffers) {
	case 0:
	case 1:
		p = m.Buffers[0]
	default:
		p = slices.Concat(m.Buffers...)
	}
	return s.add(b, p, m.OOB, addr, to == nil)
}

func size(buffers [][]byte) (n int) {
	for _, p := range buffers {
		n += len(p)
	}
	return n
}

// add adds a datagram to a batch. After an error it is not added. toPeer: the caller has given no
// address.
func (s *Socket) add(b *reactor.Messages, p, oob []byte, to netip.AddrPort, toPeer bool) error {
	sa := b.Add(p)
	b.SetControl(b.Len()-1, oob)
	if toPeer && s.remote != nil {
		return nil
	}
	if err := s.address(to, sa); err != nil {
		b.Drop()
		return err
	}
	return nil
}

// writeMessages sends a batch in order, and returns the number of messages sent.
func (s *Socket) writeMessages(b *reactor.Messages) (n int, err error) {
	var turn *ready.Wait
	defer func() { s.pass(ready.Out, turn) }()
	var try ready.Attempt
	for n < b.Len() {
		fd, err := s.udp.sock.Enter(ready.Out, &try)
		if err != nil {
			return n, s.opError("write", err)
		}
		sent, errno := s.udp.calls.TrySendMessages(fd, b, n)
		s.udp.sock.Leave()
		n += sent
		if errno == 0 {
			continue
		}
		to := b.From(n)
		if s.remote != nil {
			to = nil
		}
		if err = s.udp.failed("write", "sendmsg", to, errno); err != ErrWouldBlock {
			return n, err
		}
		if turn, err = s.await("write", ready.Out, turn, try, forOther); err != nil {
			return n, err
		}
	}
	return n, nil
}

func putMessages(b *reactor.Messages) {
	b.Reset()
	spareMessages.Put(b)
}

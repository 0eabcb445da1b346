package packet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/net/ipv4"

	"github.com/suiro-go/suiro/internal/ready"
)

// arrive waits until there are arrivals. It returns with the lock of the arrivals held, and with
// the descriptor in use. leave releases both.
func (s *Socket) arrive() (w *ready.Wait, err error) {
	var try ready.Attempt
	for {
		fd, err := s.udp.sock.Enter(ready.In, &try)
		if err != nil {
			s.pass(ready.In, w)
			return nil, s.opError("read", err)
		}
		s.arrived.mu.Lock()
		errno := s.arrived.fill(fd, s.udp.calls)
		if errno == 0 {
			return w, nil
		}
		s.arrived.mu.Unlock()
		s.udp.sock.Leave()
		if err = s.udp.failed("read", "recvmsg", nil, errno); err != ErrWouldBlock {
			s.pass(ready.In, w)
			return nil, err
		}
		if w, err = s.await("read", ready.In, w, try, forArrivals); err != nil {
			return nil, err
		}
	}
}

// leave ends a read. If datagrams or an error are still kept, it wakes the next read that waits:
// the kernel may have nothing more to report.
func (s *Socket) leave(w *ready.Wait) {
	unread := s.arrived.room != nil || s.arrived.err != 0
	s.arrived.unread.Store(unread)
	s.arrived.mu.Unlock()
	s.udp.sock.Leave()
	if unread {
		s.udp.sock.Rouse(ready.In)
	}
	s.pass(ready.In, w)
}

// ReadFromUDPAddrPort is ReadFrom without an allocation for the address. An IPv6 socket reports
// IPv4 senders by their IPv4 addresses, not by mapped ones.
func (s *Socket) ReadFromUDPAddrPort(p []byte) (n int, from netip.AddrPort, err error) {
	n, _, _, from, err = s.ReadMsgUDPAddrPort(p, nil)
	return n, from, err
}

// ReadFrom implements net.PacketConn. The address is a *net.UDPAddr. It must not be changed, since
// datagrams of one sender may share it.
func (s *Socket) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := s.ReadFromUDP(p)
	if err != nil {
		return n, nil, err
	}
	return n, from, nil
}

// ReadFromUDP is ReadFrom with the type of the address.
func (s *Socket) ReadFromUDP(p []byte) (n int, from *net.UDPAddr, err error) {
	n, _, _, from, err = s.ReadMsgUDP(p, nil)
	return n, from, err
}

// Read implements net.Conn. As in package net, a Read with an empty p receives nothing and does not
// wait.
func (s *Socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, s.udp.readNothing()
	}
	n, _, err := s.ReadFromUDPAddrPort(p)
	return n, err
}

// ReadMsgUDP reads a datagram into p and its control messages into oob. Control messages that do
// not fit are left out. It returns the numbers of bytes read into both, the flags, and the sender,
// which must not be changed. The flags are those of the system: syscall.MSG_TRUNC for a datagram
// that was cut off, syscall.MSG_CTRUNC for control messages that were left out.
func (s *Socket) ReadMsgUDP(p, oob []byte) (n, oobn, flags int, from *net.UDPAddr, err error) {
	turn, err := s.arrive()
	if err != nil {
		return 0, 0, 0, nil, err
	}
	from = s.arrived.sender()
	n, oobn, flags = s.arrived.take([][]byte{p}, oob)
	s.udp.countIn(1, n)
	s.leave(turn)
	return n, oobn, flags, from, nil
}

// ReadMsgUDPAddrPort is ReadMsgUDP without an allocation for the address.
func (s *Socket) ReadMsgUDPAddrPort(p, oob []byte) (n, oobn, flags int, from netip.AddrPort, err error) {
	turn, err := s.arrive()
	if err != nil {
		return 0, 0, 0, netip.AddrPort{}, err
	}
	from = s.arrived.from
	n, oobn, flags = s.arrived.take([][]byte{p}, oob)
	s.udp.countIn(1, n)
	s.leave(turn)
	return n, oobn, flags, from, nil
}

// ReadBatch reads at least one datagram. It also reads the others that the same system call has
// received, as far as ms suffices. It returns their number. An error comes without datagrams. flags
// must be 0. See ipv4.Message: the Addr of a message is a *net.UDPAddr, which must not be changed.
func (s *Socket) ReadBatch(ms []ipv4.Message, flags int) (n int, err error) {
	switch {
	case flags != 0:
		return 0, s.opError("read", fmt.Errorf("packet: flags of ReadBatch: %w", errors.ErrUnsupported))
	case len(ms) == 0:
		return 0, nil
	}
	turn, err := s.arrive()
	if err != nil {
		return 0, err
	}
	for n < len(ms) && s.arrived.room != nil {
		m := &ms[n]
		m.Addr = s.arrived.sender()
		m.N, m.NN, m.Flags = s.arrived.take(m.Buffers, m.OOB)
		s.udp.countIn(1, m.N)
		n++
	}
	s.leave(turn)
	return n, nil
}

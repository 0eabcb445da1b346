package packet

import (
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/waiter"
)

// over is why nothing can be read or written whatever has arrived, or nil. The lock is held.
func (s *Socket) over(by *alarm.Bell[Socket]) error {
	switch {
	case s.closed || s.gone:
		return net.ErrClosed
	case by.Passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// await waits until w, which is in the list, is woken or the workers have stopped.
func (s *Socket) await(w *waiter.Waiter, in *waiter.List) {
	select {
	case <-w.Woke:
		return
	case <-s.group.RT.Done():
	}
	s.mu.Lock()
	mine := in.Remove(w)
	s.mu.Unlock()
	if mine {
		w.Err = net.ErrClosed
	} else {
		<-w.Woke
	}
}

// ReadFromAddrPort is ReadFrom without an allocation for the address.
func (s *Socket) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	s.mu.Lock()
	err := s.over(&s.readBy) // goes before what has arrived, as in package net
	if err == nil {
		err, s.failed = s.failed, nil
	}
	if err != nil {
		s.mu.Unlock()
		return 0, netip.AddrPort{}, s.ioError("read", s.peer, err)
	}
	if s.queue.Len() > 0 {
		d := s.queue.Pop()
		s.bytes -= len(d.data) + cost
		s.mu.Unlock()
		return copy(p, d.data), d.from, nil
	}
	w := waiter.Get()
	w.P = p
	s.readers.Add(w)
	s.mu.Unlock()
	s.await(w, &s.readers)
	n, from, err := w.N, w.From, w.Err
	w.Put()
	if err != nil {
		err = s.ioError("read", s.peer, err)
	}
	return n, from, err
}

// ReadFrom implements net.Conn.
func (s *Socket) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := s.ReadFromAddrPort(p)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// Read implements net.Conn.
func (s *Socket) Read(p []byte) (int, error) {
	n, _, err := s.ReadFromAddrPort(p)
	return n, err
}

// WriteToAddrPort sends a datagram and returns what the kernel said of it. With an error
// that matches os.ErrDeadlineExceeded it may be sent all the same.
func (s *Socket) WriteToAddrPort(p []byte, to netip.AddrPort) (int, error) {
	switch {
	case s.peer.IsValid():
		return 0, s.opError("write", to, net.ErrWriteToConnected)
	case !to.IsValid():
		return 0, s.opError("write", to, errNoAddress)
	}
	return s.write(p, to)
}

// WriteTo implements net.Conn. addr is a *net.UDPAddr.
func (s *Socket) WriteTo(p []byte, addr net.Addr) (int, error) {
	a, ok := addr.(*net.UDPAddr)
	if !ok || a == nil {
		return 0, s.opError("write", netip.AddrPort{}, errNoAddress)
	}
	return s.WriteToAddrPort(p, a.AddrPort())
}

// Write implements net.Conn.
func (s *Socket) Write(p []byte) (int, error) {
	if !s.peer.IsValid() {
		return 0, s.opError("write", s.peer, errNoAddress)
	}
	return s.write(p, netip.AddrPort{})
}

var errNoAddress = &net.AddrError{Err: "missing address; use a *net.UDPAddr"}

// write leaves p to the worker, and waits: so p need not be copied here.
func (s *Socket) write(p []byte, to netip.AddrPort) (int, error) {
	s.mu.Lock()
	if err := s.over(&s.writeBy); err != nil {
		s.mu.Unlock()
		return 0, s.opError("write", to, err)
	}
	w := waiter.Get()
	w.P = p
	s.writers.Add(w) // before the answer can come
	s.mu.Unlock()
	if err := s.handle.tell(command{kind: cmdSend, size: len(p), to: to, asks: asker{s, w}}); err != nil {
		asker{s, w}.tell(s.opError("write", to, err))
	}
	s.await(w, &s.writers)
	if err := w.Err; err != nil {
		return 0, s.ioError("write", to, err) // w is not given back: the worker may still know it
	}
	w.Put()
	return len(p), nil
}

// SetDeadline implements net.Conn.
func (s *Socket) SetDeadline(t time.Time) error { return s.setDeadlines(t, true, true) }

// SetReadDeadline implements net.Conn.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.setDeadlines(t, true, false) }

// SetWriteDeadline implements net.Conn.
func (s *Socket) SetWriteDeadline(t time.Time) error { return s.setDeadlines(t, false, true) }

func (s *Socket) setDeadlines(t time.Time, read, write bool) error {
	var u waiter.Wakeup
	s.mu.Lock()
	if s.closed || s.gone {
		s.mu.Unlock()
		return s.opError("set", netip.AddrPort{}, net.ErrClosed)
	}
	if read && s.readBy.Set(t, s, (*Socket).readLate) {
		u.AddAll(&s.readers, os.ErrDeadlineExceeded)
	}
	if write && s.writeBy.Set(t, s, (*Socket).writeLate) {
		u.AddAll(&s.writers, os.ErrDeadlineExceeded)
	}
	s.mu.Unlock()
	u.Wake()
	return nil
}

func (s *Socket) readLate() { s.late(&s.readBy, &s.readers) }

func (s *Socket) writeLate() { s.late(&s.writeBy, &s.writers) }

func (s *Socket) late(by *alarm.Bell[Socket], who *waiter.List) {
	var u waiter.Wakeup
	s.mu.Lock()
	if by.Ring() {
		u.AddAll(who, os.ErrDeadlineExceeded)
	}
	s.mu.Unlock()
	u.Wake()
}

// ioError is an error of a read or a write: the workers' own are whole already.
func (s *Socket) ioError(op string, to netip.AddrPort, err error) error {
	if _, whole := err.(*net.OpError); whole {
		return err
	}
	return s.opError(op, to, err)
}

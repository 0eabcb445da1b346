package packet

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// sendTo returns the call that sends to an address, or an error if the address is refused.
func (s *DatagramSocket[A]) sendTo(p []byte, to A) (*call, error) {
	c := newCall(&s.caller, callSendTo, p)
	if err := s.encode(to, &c.addr); err != nil {
		c.put()
		return nil, err
	}
	return c, nil
}

// TrySendTo sends p as one datagram to an address if the socket has room. Else the error is
// ErrWouldBlock. For a connected socket the error matches net.ErrWriteToConnected.
func (s *DatagramSocket[A]) TrySendTo(p []byte, to A) error {
	c, err := s.sendTo(p, to)
	if err != nil {
		return err
	}
	_, err = c.try()
	c.put()
	return err
}

// SendTo sends p as one datagram to an address. The kernel chooses the source.
// It waits while the kernel's send buffer is full. For a connected socket the error matches
// net.ErrWriteToConnected.
func (s *DatagramSocket[A]) SendTo(ctx context.Context, p []byte, to A) error {
	c, err := s.sendTo(p, to)
	if err != nil {
		return err
	}
	_, err = c.now(ctx)
	c.put()
	return err
}

// SendToFuture is SendTo as a future. Its value is the number of bytes. It can be polled again to
// send p once more. p must not change until the future is done or abandoned.
func (s *DatagramSocket[A]) SendToFuture(p []byte, to A) sched.Future[int] {
	c := &call{s: &s.caller, kind: callSendTo, p: p}
	c.refused = s.encode(to, &c.addr)
	return c
}

// TrySend sends p as one datagram to the peer of a connected socket if there is room. Else the
// error is ErrWouldBlock.
func (s *DatagramSocket[A]) TrySend(p []byte) error {
	c := newCall(&s.caller, callSend, p)
	_, err := c.try()
	c.put()
	return err
}

// Send sends p as one datagram to the peer of a connected socket. It waits
// while the kernel's send buffer is full.
func (s *DatagramSocket[A]) Send(ctx context.Context, p []byte) error {
	c := newCall(&s.caller, callSend, p)
	_, err := c.now(ctx)
	c.put()
	return err
}

// SendFuture is Send as a future. Its value is the number of bytes. It can be polled again to send
// p once more. p must not change until the future is done or abandoned.
func (s *DatagramSocket[A]) SendFuture(p []byte) sched.Future[int] {
	return &call{s: &s.caller, kind: callSend, p: p}
}

// Writable waits until a send would not wait for room. Another task may take the room first. So use
// TrySendTo afterwards, and wait again on ErrWouldBlock.
func (s *DatagramSocket[A]) Writable(ctx context.Context) error {
	c := newCall(&s.caller, callWritable, nil)
	_, err := c.ready(ctx)
	c.put()
	return err
}

// WritableFuture is Writable as a future. Its value is 0. It can be polled again for the next wait.
func (s *DatagramSocket[A]) WritableFuture() sched.Future[int] {
	return &call{s: &s.caller, kind: callWritable}
}

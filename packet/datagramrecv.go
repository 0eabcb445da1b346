package packet

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// Received is a datagram that was received.
type Received[A any] struct {
	N    int // the number of bytes that were copied
	From A   // its sender; the zero value for a Unix socket without a name
}

// TryRecvFrom receives a datagram into p if one has arrived, and returns its length and its sender.
// Else the error is ErrWouldBlock.
func (s *DatagramSocket[A]) TryRecvFrom(p []byte) (n int, from A, err error) {
	c := newCall(&s.caller, callRecvFrom, p)
	n, err = c.try()
	return s.received(c, n, err)
}

// RecvFrom receives a datagram into p, and returns its length and its sender.
func (s *DatagramSocket[A]) RecvFrom(ctx context.Context, p []byte) (n int, from A, err error) {
	c := newCall(&s.caller, callRecvFrom, p)
	n, err = c.now(ctx)
	return s.received(c, n, err)
}

// received is the result of a receive, whose call is put back.
func (s *DatagramSocket[A]) received(c *call, n int, err error) (int, A, error) {
	var from A
	if err == nil {
		from = s.sender(&c.addr)
	}
	c.put()
	return n, from, err
}

// A recvFromFuture is a receive with the sender.
type recvFromFuture[A any] struct {
	s *DatagramSocket[A]
	c call
}

// RecvFromFuture returns a future that receives a datagram into p. It can be polled again for the
// next one. p belongs to the future until it is done or abandoned.
func (s *DatagramSocket[A]) RecvFromFuture(p []byte) sched.Future[Received[A]] {
	return &recvFromFuture[A]{s, call{s: &s.caller, kind: callRecvFrom, p: p}}
}

// Poll implements sched.Future.
func (f *recvFromFuture[A]) Poll(cx *sched.Context) (got Received[A], err error) {
	if got.N, err = f.c.Poll(cx); err == nil {
		got.From = f.s.sender(&f.c.addr)
	}
	return got, err
}

// Cancel implements sched.Canceler.
func (f *recvFromFuture[A]) Cancel() { f.c.Cancel() }

// TryRecv is TryRecvFrom without the sender, mostly for a connected socket.
func (s *DatagramSocket[A]) TryRecv(p []byte) (n int, err error) {
	c := newCall(&s.caller, callRecv, p)
	n, err = c.try()
	c.put()
	return n, err
}

// Recv is RecvFrom without the sender, mostly for a connected socket.
func (s *DatagramSocket[A]) Recv(ctx context.Context, p []byte) (n int, err error) {
	c := newCall(&s.caller, callRecv, p)
	n, err = c.now(ctx)
	c.put()
	return n, err
}

// RecvFuture returns a future that receives a datagram into p. Its value is the datagram's length.
// It can be polled again for the next one. p belongs to the future until it is done or abandoned.
func (s *DatagramSocket[A]) RecvFuture(p []byte) sched.Future[int] {
	return &call{s: &s.caller, kind: callRecv, p: p}
}

// Readable waits until a receive would not wait. It needs no buffer meanwhile. Another task may
// receive the datagram first. So use TryRecvFrom afterwards, and wait again on ErrWouldBlock.
func (s *DatagramSocket[A]) Readable(ctx context.Context) error {
	c := newCall(&s.caller, callReadable, nil)
	_, err := c.ready(ctx)
	c.put()
	return err
}

// ReadableFuture is Readable as a future. Its value is 0. It can be polled again for the next wait.
func (s *DatagramSocket[A]) ReadableFuture() sched.Future[int] {
	return &call{s: &s.caller, kind: callReadable}
}

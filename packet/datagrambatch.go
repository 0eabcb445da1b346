package packet

import (
	"context"
	"sync"

	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Message is one datagram of a batch.
type Message[A any] struct {
	Data    []byte         // the bytes to send, or room for the received bytes
	N       int            // a receive sets it to the number of bytes in Data
	Addr    A              // the receiver, or the sender, which a receive sets; unused by SendBatch of a connected socket
	Control ControlMessage // a receive sets it, as the Want methods of the socket say; unused by SendBatch
}

// A BatchFuture is a send of several datagrams. Its value is their number. It can be polled again
// to send them once more. The type is exported for Sent, which is of use after an abort.
type BatchFuture[A any] struct {
	s    *DatagramSocket[A]
	ms   []Message[A]
	send bool // else it is that of RecvBatchFuture
	done int  // how many of ms were sent
	over bool // the last poll was done: the next poll begins a new batch
	wait retry
}

var spareMessages = sync.Pool{New: func() any { return new(reactor.Messages) }}

// RecvBatch receives at least one datagram into the messages, in order. It also receives the others
// that have arrived, as far as the messages suffice, at most 32. It returns their number. On Linux
// one system call receives all of them. An error may come with datagrams: it is then an error of
// later ones.
func (s *DatagramSocket[A]) RecvBatch(ctx context.Context, ms []Message[A]) (n int, err error) {
	c, cx := newCall(&s.caller, callRecvBatch, nil), sched.FromContext(ctx)
	if ctx != nil && cx.Proceed() { // else the wait refuses it, or others run first
		n, err = s.tryRecvBatch(ms, &c.wait.Attempt)
	} else {
		err = ErrWouldBlock
	}
	for err == ErrWouldBlock {
		if _, err = c.ready(ctx); err == nil {
			n, err = s.tryRecvBatch(ms, &c.wait.Attempt)
		}
	}
	c.wait.done(cx, c.s, ready.In)
	c.put()
	return n, err
}

// RecvBatchFuture is RecvBatch as a future. It can be polled again for the next datagrams. ms
// belongs to the future until it is done or abandoned.
func (s *DatagramSocket[A]) RecvBatchFuture(ms []Message[A]) sched.Future[int] {
	return &BatchFuture[A]{s: s, ms: ms}
}

// TryRecvBatch is RecvBatch without waiting. The error is ErrWouldBlock if nothing has arrived.
func (s *DatagramSocket[A]) TryRecvBatch(ms []Message[A]) (int, error) {
	return s.tryRecvBatch(ms, new(ready.Attempt))
}

func (s *DatagramSocket[A]) tryRecvBatch(ms []Message[A], a *ready.Attempt) (int, error) {
	if len(ms) == 0 {
		return 0, nil
	}
	fd, err := s.sock.Enter(ready.In, a)
	if err != nil {
		return 0, s.opError("read", nil, err)
	}
	b := spareMessages.Get().(*reactor.Messages)
	for i := range ms[:min(len(ms), reactor.MaxMessages)] {
		b.Add(ms[i].Data)
	}
	var infos *infoRoom // nil: nobody has asked
	if s.wants.Load() != 0 {
		infos = infoRooms.Get().(*infoRoom)
		infos.prepare(b)
	}
	n, errno := s.calls.TryRecvMessages(fd, b)
	s.sock.Leave()
	bytes := 0
	for i := range n {
		ms[i].N, ms[i].Addr = b.Size(i), s.sender(b.From(i))
		bytes += ms[i].N
		if ms[i].Control = (ControlMessage{}); infos != nil {
			ms[i].Control = infoOf(b.Control(i))
		}
	}
	s.countIn(n, bytes)
	b.Reset()
	spareMessages.Put(b)
	if infos != nil {
		infoRooms.Put(infos)
	}
	if errno != 0 {
		return n, s.failed("read", "recvfrom", nil, errno)
	}
	return n, nil
}

// SendBatch sends the messages in order, each to its address or, on a connected socket, to the
// peer. It waits while the kernel's send buffer is full. It returns the number of messages sent. An
// error is that of the next message: this one and all later ones were not sent. On Linux one system
// call sends up to 32.
func (s *DatagramSocket[A]) SendBatch(ctx context.Context, ms []Message[A]) (n int, err error) {
	c, cx := newCall(&s.caller, callSendBatch, nil), sched.FromContext(ctx)
	if ctx != nil && cx.Proceed() { // else the wait refuses it, or others run first
		n, err = s.trySendBatch(ms, &c.wait.Attempt)
	} else {
		err = ErrWouldBlock
	}
	for err == ErrWouldBlock {
		if _, err = c.ready(ctx); err != nil {
			break
		}
		var sent int
		if sent, err = s.trySendBatch(ms[n:], &c.wait.Attempt); sent > 0 {
			n += sent
			c.wait.reset()
		}
	}
	c.wait.done(cx, c.s, ready.Out)
	c.put()
	return n, err
}

// SendBatchFuture is SendBatch as a future. ms must not change until the future is done or
// abandoned. An abandoned future may have sent some messages: Sent returns their number.
func (s *DatagramSocket[A]) SendBatchFuture(ms []Message[A]) *BatchFuture[A] {
	return &BatchFuture[A]{s: s, ms: ms, send: true}
}

// TrySendBatch is SendBatch without waiting. With ErrWouldBlock only the first n messages were
// sent.
func (s *DatagramSocket[A]) TrySendBatch(ms []Message[A]) (n int, err error) {
	return s.trySendBatch(ms, new(ready.Attempt))
}

func (s *DatagramSocket[A]) trySendBatch(ms []Message[A], a *ready.Attempt) (n int, err error) {
	for n < len(ms) && err == nil {
		var sent int
		sent, err = s.trySome(ms[n:min(len(ms), n+reactor.MaxMessages)], a)
		n += sent
	}
	return n, err
}

// trySome sends the messages of one batch, at most MaxMessages, in as many system calls as needed.
func (s *DatagramSocket[A]) trySome(ms []Message[A], a *ready.Attempt) (n int, err error) {
	fd, err := s.sock.Enter(ready.Out, a)
	if err != nil {
		return 0, s.opError("write", nil, err)
	}
	defer s.sock.Leave()
	b := spareMessages.Get().(*reactor.Messages)
	for i := range ms {
		to := b.Add(ms[i].Data)
		if s.dialed {
			continue
		}
		if err = s.encode(ms[i].Addr, to); err != nil {
			b.Drop()
			break
		}
	}
	for n < b.Len() {
		sent, errno := s.calls.TrySendMessages(fd, b, n)
		for _, m := range ms[n : n+sent] {
			s.countOut(len(m.Data))
		}
		n += sent
		if errno != 0 {
			to := b.From(n)
			if s.dialed {
				to = nil
			}
			err = s.failed("write", "sendto", to, errno)
			break
		}
	}
	b.Reset()
	spareMessages.Put(b)
	return n, err
}

// Poll implements sched.Future.
func (f *BatchFuture[A]) Poll(cx *sched.Context) (int, error) {
	op, d := "read", ready.In
	if f.send {
		op, d = "write", ready.Out
	}
	if err := f.wait.resume(cx, &f.s.caller, d, true); err != nil {
		return f.ended(op, err)
	}
	if !cx.Proceed() {
		return 0, sched.ErrPending
	}
	if f.over {
		f.done, f.over = 0, false
	}
	var n, sent int
	var err error
	if f.send {
		if sent, err = f.s.trySendBatch(f.ms[f.done:], &f.wait.Attempt); sent > 0 {
			f.wait.reset()
		}
		f.done += sent
		n = f.done
	} else {
		n, err = f.s.tryRecvBatch(f.ms, &f.wait.Attempt)
	}
	if err != ErrWouldBlock {
		f.over = true
		f.wait.done(cx, &f.s.caller, d)
		return n, err
	}
	if sent == 0 {
		cx.Refund()
	}
	return f.ended(op, f.wait.await(cx, &f.s.caller, d, f.send))
}

// ended is the result of a poll that waits, or whose wait has ended with an error.
func (f *BatchFuture[A]) ended(op string, err error) (int, error) {
	if err == sched.ErrPending {
		return 0, err
	}
	f.over = true
	return f.done, f.s.ended(op, err) // a receive has none
}

// Sent returns the number of messages sent.
func (f *BatchFuture[A]) Sent() int { return f.done }

// Cancel implements sched.Canceler.
func (f *BatchFuture[A]) Cancel() {
	d := ready.In
	if f.send {
		d = ready.Out
	}
	f.wait.drop(&f.s.caller, d)
}

package server

import (
	"context"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/sched"
)

// GetStream waits for a connection (see sched.Block). In a stackful task the Stream is bound to the
// task; elsewhere it is not bound, and a task that gets it calls Bind. PutStream gives it back,
// Close ends it. If ctx ends or the task is aborted when it has just got a connection, the
// connection is reset. A task that returns without PutStream or Close keeps the connection's place
// in the pool.
func (p *Pool) GetStream(ctx context.Context, network, addr string) (*Stream, error) {
	s, err := await(ctx, &p.Dialer, p.GetStreamFuture(network, addr))
	return s, p.Dialer.ended(network, addr, err)
}

// GetStreamFuture is GetStream as a future, for one connection. It queues and may be abandoned as
// that of GetFuture. The Stream is bound to the stackful task that polls it last.
func (p *Pool) GetStreamFuture(network, addr string) sched.Future[*Stream] {
	u := new(streamUse)
	return &getStreamFuture{p.getFuture(network, addr, u), u}
}

// PutStream gives back the connection of a Stream of GetStream. No task may use the Stream any
// more. Any goroutine may call it, and it does not wait. Put a connection back only after a
// complete exchange: the next task would read an answer that arrives late.
//
// PutStream closes a connection that has unread bytes, that the peer has closed, or on which a call
// has failed, for example at a deadline or by an abort of its task. It also closes a Stream that
// was dialed or accepted without a pool. It does nothing after Close or PutStream.
func (p *Pool) PutStream(s *Stream) {
	if !s.Socket().Return(func(c *Conn) error {
		p.Put(c)
		return nil
	}) {
		_ = s.Close() // it may have ended
	}
}

// A getStreamFuture is a request to a Pool for a Stream.
type getStreamFuture struct {
	get *getFuture
	use *streamUse
}

var (
	_ sched.Future[*Stream] = (*getStreamFuture)(nil)
	_ sched.Canceler        = (*getStreamFuture)(nil)
)

// Poll returns the Stream, or the error.
func (f *getStreamFuture) Poll(cx *sched.Context) (*Stream, error) {
	if _, err := f.get.Poll(cx); err != nil {
		return nil, err
	}
	if f.use.stream == nil { // it ended just now
		return nil, f.get.failed(errStreamGone)
	}
	return f.use.stream.Bind(cx), nil
}

var errStreamGone = fmt.Errorf("server: pool: the connection ended when it was given out: %w", net.ErrClosed)

// Cancel leaves the queue. A connection that was given out is reset.
func (f *getStreamFuture) Cancel() { f.get.Cancel() }

// A streamUse is the handler of a pooled connection that a task uses.
type streamUse struct {
	Base
	stream *Stream // set before the future is answered
}

// OnOpen implements Handler.
func (u *streamUse) OnOpen(c *Conn) error {
	if u.stream = c.LendStream(); u.stream == nil {
		c.Abort()
	}
	return nil
}

// OnData is called for bytes that arrive while the Stream is given back. No request is in progress,
// so it closes the connection.
func (u *streamUse) OnData(c *Conn) error { return c.Close() }

// OnDrain leaves the connection to the task that has it.
func (u *streamUse) OnDrain(*Conn) {}

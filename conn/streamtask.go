package conn

import (
	"errors"
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/sched"
)

// A Stream of NewStream, and one that Bind returns, is a Socket with the context of a function: a
// wait suspends that function. Socket and Stream may be used at once.
//
// A handler's Stream has no Socket until another task binds it: see streamshared.go.

// NewStream is a Stream for one connection that is to be dialed. Give its Handler to Group.Dial.
// It is not bound.
func NewStream() *Stream {
	k := NewSocket()
	k.streams = true
	return k.Bind(nil)
}

// Handler is for Group.Dial, or a Dialer of package server: of a Stream of NewStream, for one call.
func (s *Stream) Handler() Handler { return s.Socket().Handler() }

// Bind is a Stream of the connection for the function of the task that calls it, with its context.
// It is good until the function returns. With another context, or nil, the Stream is not bound: its
// futures, TryRead, TryWrite and all that does not wait can be used anywhere.
func (s *Socket) Bind(cx *sched.Context) *Stream {
	b := new(struct { // one allocation
		Stream
		of taskStream
	})
	b.ofTask, b.of.socket = &b.of, s
	if cx != nil && cx.Stackful() {
		b.of.cx = cx
	}
	return &b.Stream
}

// Bind is a Stream of the same connection for the function that calls it, with its context cx. So
// any task can use a Stream that it was given, on any worker and of any runtime:
//
//	s = s.Bind(cx)
//
// Several tasks may use a connection at once, each by its own Stream: one reads, another one
// writes. The Stream is good until the function returns. Bytes that are unread stay with the
// connection. With the context of a stackless task, or nil, the Stream is not bound: its futures,
// TryRead, TryWrite and all that does not wait can be used anywhere.
//
// In the functions of a handler's Stream, Bind returns that Stream itself. In another task it makes
// the connection shared, for good: from then on the handler's functions use it as other tasks do.
// It still ends when the handler's function returns. When the server shuts down, only the Reads of
// the handler's functions return io.EOF, see Sequential: Draining tells other tasks. Goroutines use
// Socket.
func (s *Stream) Bind(cx *sched.Context) *Stream {
	if s.ofTask == nil && cx != nil && cx.Waker() == s.c.Task.Waker() {
		return s
	}
	return s.Socket().Bind(cx)
}

// Socket is the connection for goroutines, which may use it beside tasks. In a function of the
// handler it makes the connection shared, as Bind does.
func (s *Stream) Socket() *Socket {
	if s.ofTask != nil {
		return s.ofTask.socket
	}
	return s.share()
}

// ErrNotReady is returned by TryRead and TryWrite when Read and Write would wait.
var ErrNotReady = errors.New("conn: the stream is not ready")

// waits is the Socket, and the context by which the running function can wait in it.
func (s *Stream) waits() (*Socket, *sched.Context, error) {
	switch {
	case s.ofTask != nil:
		if b := s.ofTask; sched.FromContext(b.cx) != nil {
			return b.socket, b.cx, nil
		}
	case s.current != nil:
		return s.shared.Load(), s.current.co.Context(), nil
	}
	return nil, nil, s.refused()
}

// tries is the Socket for calls that do not wait.
func (s *Stream) tries() (*Socket, error) {
	switch {
	case s.ofTask != nil:
		return s.ofTask.socket, nil
	case s.current != nil:
		return s.shared.Load(), nil
	}
	return nil, s.refused()
}

// refused is the error of a call from elsewhere. At most one of them is logged a second. A library
// may drop the error, as net/rpc does if a goroutine cannot write an answer. Its client then waits.
func (s *Stream) refused() error {
	c := s.c
	if s.ofTask != nil {
		c = s.ofTask.socket.conn()
	}
	if c != nil {
		if g := groupOf(c.Group); g.refusals.Pass(time.Now()) {
			g.Logger().Warn("conn: a call of a Stream was refused", "remote", c.RemoteAddr(), "error", errElsewhere)
		}
	}
	return errElsewhere
}

// isOverFor reports whether a read in a function of the handler has failed because the connection
// has ended. The next one does not wait, and first returns the bytes that arrived before.
func (s *Stream) isOverFor(err error) bool {
	return s.told && !s.ending && errors.Is(err, sched.ErrCanceled)
}

func (s *Stream) readShared(p []byte) (int, error) {
	k, cx, err := s.waits()
	if err != nil {
		return 0, s.opError("read", err)
	}
	s.giveBack(k)
	n, err := k.duplex.ReadIn(cx, p, s.quitter())
	if s.isOverFor(err) {
		n, err, _ = k.duplex.TryRead(p)
	}
	if err != nil {
		err = k.wrap("read", err)
	}
	return n, err
}

func (s *Stream) writeShared(p []byte) (int, error) {
	k, cx, err := s.waits()
	if err != nil {
		return 0, s.opError("write", err)
	}
	n, err := k.duplex.WriteIn(cx, p)
	if err != nil {
		err = k.wrap("write", err)
	}
	return n, err
}

// TryRead is Read without a wait: the error is ErrNotReady if that would wait. Readable is the
// future for it. A task that is not a function of the handler needs a Stream of Bind.
func (s *Stream) TryRead(p []byte) (n int, err error) {
	ready := true
	if s.isHere() {
		n, ready, err = s.tryRead(p)
	} else if k, elsewhere := s.tries(); elsewhere != nil {
		err = s.opError("read", elsewhere)
	} else if n, err, ready = k.duplex.TryRead(p); err != nil {
		err = k.wrap("read", err)
	}
	if ready {
		return n, err
	}
	if s.current != nil {
		if why := (*idleStream)(s).Quit(); why != nil {
			return 0, why
		}
	}
	return 0, ErrNotReady
}

// TryWrite writes as much of p as there is room for, without a wait. The error is ErrNotReady if
// that is nothing. Writable is the future for it. A task that is not a function of the handler
// needs a Stream of Bind.
func (s *Stream) TryWrite(p []byte) (n int, err error) {
	if s.isHere() {
		return s.writeSome(p)
	}
	k, err := s.tries()
	if err != nil {
		return 0, s.opError("write", err)
	}
	n, err, ready := k.duplex.TryWrite(p)
	switch {
	case !ready:
		err = ErrNotReady
	case err != nil:
		err = k.wrap("write", err)
	}
	return n, err
}

// writeSome is TryWrite in a function of the handler.
func (s *Stream) writeSome(p []byte) (int, error) {
	if err := s.unwritable(); err != nil {
		return 0, s.opError("write", err)
	}
	n := min(s.room(), len(p))
	if n <= 0 && len(p) > 0 {
		return 0, ErrNotReady
	}
	s.asked = false
	core.Enqueue(s.c, p[:n])
	return n, nil
}

// closeShared is Close and Abort of a connection that has a Socket. It fails if it was closed.
func closeShared(k *Socket, reset bool) error {
	if reset && k.SetLinger(0) != nil && !k.duplex.Surrendered() { // it was closed, and may still send
		if c := k.conn(); c != nil {
			_ = c.Tell(core.Command{Kind: core.CmdAbort}) // it may be over
		}
	}
	return k.Close()
}

var _ net.Conn = (*Stream)(nil)

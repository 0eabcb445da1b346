package conn

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/queue"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// A SocketListener is a net.Listener of Sockets that the group's workers accept and serve. Its
// methods may be called from any goroutine but a worker's. A handler and a task may call TryAccept,
// AcceptFuture and Addr.
//
// It keeps about as many connections that no Accept has taken as its backlog. Each is counted when
// its OnOpen runs, and a few more may have been accepted by then. The others wait in the kernel's
// backlog.
type SocketListener struct {
	group *Group
	addr  net.Addr
	inner []*Listener
	done  chan struct{} // closed with Close

	arrivals queue.Queue[arrival]
}

// An arrival is a socket that nobody has taken yet.
type arrival struct {
	s    *Socket
	from *Listener
}

var _ net.Listener = (*SocketListener)(nil)

// defaultBacklog is enough for the few that come between two calls of Accept.
const defaultBacklog = 128

// A SocketListenerConfig configures a SocketListener. The zero value is what most want.
type SocketListenerConfig struct {
	// Backlog: see SocketListener. 0: 128.
	Backlog int

	// First, if not nil, gets the handler that makes sockets of connections, and returns the
	// handler that sees each connection before. When that one is done with a connection, it calls
	// SetHandler with the handler it was given, and OnOpen of it.
	First func(Handler) Handler
}

// ListenSocket accepts connections for ordinary goroutines from a listening socket, a
// *net.TCPListener or *net.UnixListener. Several sockets may share an address by SO_REUSEPORT, one
// for each worker. The group works on copies of the descriptors, as with Listen. Errors are those
// of Listen.
func (g *Group) ListenSocket(cfg SocketListenerConfig, all ...net.Listener) (*SocketListener, error) {
	if len(all) == 0 {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: errors.New("conn: ListenSocket needs a listening socket")}
	}
	l := &SocketListener{group: g, addr: all[0].Addr(), done: bubble.Chan[struct{}](0)}
	backlog := max(1, cmp.Or(cfg.Backlog, defaultBacklog)/len(all))
	for i, ln := range all {
		worker := AnyWorker
		if len(all) > 1 {
			worker = i
		}
		a := &acceptor{to: l}
		h := Handler(a)
		if cfg.First != nil {
			h = cfg.First(a)
		}
		inner, err := g.prepare(worker, ln, h, backlog)
		if err == nil {
			a.from = inner
			err = inner.start()
		}
		if err != nil {
			_ = l.Close()
			return nil, err
		}
		l.inner = append(l.inner, inner)
	}
	bubble.Go(l.watch)
	return l, nil
}

// watch ends Accept when the runtime ends, if the listener has not been closed.
func (l *SocketListener) watch() {
	select {
	case <-l.done:
	case <-l.group.core.Runtime.Done():
		l.shut()
	}
}

// An acceptor is the handler of connections until they are open.
type acceptor struct {
	Base
	to   *SocketListener
	from *Listener
}

func (a *acceptor) OnOpen(u *Conn) error {
	c := &u.core
	s := &Socket{streams: c.Filter() != nil} // a Socket of package server never has TLS beneath
	s.duplex.Unopened()
	h := s.Handler()
	_ = c.SetHandler(h)
	_ = h.OnOpen(u)
	if !a.to.arrive(arrival{s, a.from}) {
		c.Abort()
	}
	return nil
}

// OnData is never called: the socket is the handler by then.
func (a *acceptor) OnData(*Conn) error { return nil }

// arrive hands a socket over, unless the listener is closed.
func (l *SocketListener) arrive(a arrival) bool {
	a.from.socket.Arrived()
	return l.arrivals.Push(a)
}

// ErrNoneArrived is returned by SocketListener.TryAccept when no connection waits to be taken.
var ErrNoneArrived = errors.New("conn: no connection has arrived")

// accepted is the connection that was taken from the arrivals. Its listening socket learns that it
// may have room. Otherwise accepted is an error; that of an empty queue is none.
func (l *SocketListener) accepted(a arrival, s queue.State, none error) (*Socket, error) {
	switch s {
	case queue.Taken:
		a.from.socket.Taken()
		return a.s, nil
	case queue.Closed:
		return nil, l.opError("accept", net.ErrClosed)
	}
	return nil, none
}

// Accept implements net.Listener. It does not return errors of the accept itself: the group's
// logger reports them, and the accept is tried again. A task awaits AcceptFuture.
func (l *SocketListener) Accept() (net.Conn, error) {
	a, state, refused := l.arrivals.Take(nil)
	s, err := l.accepted(a, state, l.opError("accept", refused))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AcceptContext is Accept until ctx ends. Then the error matches that of ctx, with its deadline
// os.ErrDeadlineExceeded as well.
func (l *SocketListener) AcceptContext(ctx context.Context) (*Socket, error) {
	if err := ctx.Err(); err != nil {
		return nil, l.opError("accept", sock.ContextError(err))
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	a, s, refused := l.arrivals.Take(ctx.Done())
	return l.accepted(a, s, l.opError("accept", cmp.Or(refused, sock.ContextError(ctx.Err()))))
}

// TryAccept takes a connection that has arrived. The error is ErrNoneArrived if there is
// none, and matches net.ErrClosed after Close. It may be called from a handler.
func (l *SocketListener) TryAccept() (*Socket, error) {
	a, s := l.arrivals.Try()
	return l.accepted(a, s, ErrNoneArrived)
}

// AcceptFuture is Accept as a future, for one connection: its place among those that
// wait is from its first poll. Abandoned, it takes none.
func (l *SocketListener) AcceptFuture() sched.Future[*Socket] { return &acceptFuture{l: l} }

// AcceptStream waits for a connection (see sched.Block). In a stackful task the Stream is bound to
// the task. The error matches that of ctx when ctx ends, with its deadline os.ErrDeadlineExceeded
// as well.
func (l *SocketListener) AcceptStream(ctx context.Context) (*Stream, error) {
	if err := endOf(ctx); err != nil {
		return nil, l.opError("accept", err)
	}
	s, err := sched.Block(ctx, l.group.core.Runtime, l.AcceptStreamFuture())
	return s, acceptError(l.addr, err)
}

// AcceptStreamFuture is AcceptFuture with a Stream, bound to the stackful task that polls it last.
func (l *SocketListener) AcceptStreamFuture() sched.Future[*Stream] {
	return &acceptStreamFuture{acceptFuture{l: l}}
}

// TryAcceptStream is TryAccept with a Stream that is not bound.
func (l *SocketListener) TryAcceptStream() (*Stream, error) {
	s, err := l.TryAccept()
	if err != nil {
		return nil, err
	}
	return s.Bind(nil), nil
}

// An acceptStreamFuture is a Stream that a task waits for.
type acceptStreamFuture struct{ accept acceptFuture }

var _ sched.Canceler = (*acceptStreamFuture)(nil)

// Poll is the Stream, or the error of a listener that is closed.
func (f *acceptStreamFuture) Poll(cx *sched.Context) (*Stream, error) {
	s, err := f.accept.Poll(cx)
	if err != nil {
		return nil, err
	}
	return s.Bind(cx), nil
}

// Cancel gives up the place among those that wait.
func (f *acceptStreamFuture) Cancel() { f.accept.Cancel() }

// An acceptFuture is a connection that a task waits for.
type acceptFuture struct {
	l     *SocketListener
	place queue.Place
}

var (
	_ sched.Future[*Socket] = (*acceptFuture)(nil)
	_ sched.Canceler        = (*acceptFuture)(nil)
)

// Poll is the connection, or the error of a listener that is closed.
func (f *acceptFuture) Poll(cx *sched.Context) (*Socket, error) {
	a, s := f.l.arrivals.Poll(&f.place, cx.Waker())
	return f.l.accepted(a, s, sched.ErrPending)
}

// Cancel gives up the place among those that wait.
func (f *acceptFuture) Cancel() { f.l.arrivals.GiveUp(&f.place) }

// Close stops accepting, and returns when the descriptor is closed; Accept returns an
// error that matches net.ErrClosed. Sockets that were accepted live on, those that
// nobody has taken are reset.
func (l *SocketListener) Close() error {
	if !l.shut() {
		return l.opError("close", net.ErrClosed)
	}
	return bubble.Call(l.closeInner)
}

// shut ends all calls of Accept, and the connections they would have returned. It reports whether
// this call has.
func (l *SocketListener) shut() bool {
	left, open := l.arrivals.Close()
	if !open {
		return false
	}
	close(l.done)
	for _, a := range left {
		_ = a.s.SetLinger(0) // fails if it has ended
		_ = a.s.Close()
	}
	return true
}

// closeInner closes all at a time, since each may wait for a worker that is stuck.
func (l *SocketListener) closeInner() error {
	errs := make(chan error, len(l.inner))
	for _, inner := range l.inner {
		go func() { errs <- inner.Close() }()
	}
	var first error
	for range l.inner {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// Addr implements net.Listener.
func (l *SocketListener) Addr() net.Addr { return l.addr }

func (l *SocketListener) opError(op string, err error) error { return opErrorOf(op, l.addr, err) }

// Files are what Listener.File returns, of each of the listener's sockets: one, or one for
// each worker.
func (l *SocketListener) Files() ([]*os.File, error) {
	var all []*os.File
	for _, inner := range l.inner {
		f, err := inner.File()
		if err != nil {
			for _, f := range all {
				_ = f.Close()
			}
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

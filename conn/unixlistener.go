package conn

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/internal/queue"
	"github.com/suiro-go/suiro/sched"
)

// A UnixListener accepts UnixStreams for tasks and goroutines. Its methods may be called from any
// goroutine and from tasks on any worker, except that a task must not call Close, which blocks. It
// keeps about as many connections that no Accept has taken as its backlog.
type UnixListener struct {
	inner    *Listener
	accepted func(*UnixStream) (ended func())
	done     chan struct{} // closed with Close
	arrivals queue.Queue[*UnixStream]
}

// A UnixListenerConfig configures a UnixListener. The zero value is useful.
type UnixListenerConfig struct {
	// Backlog is how many connections may wait for Accept, about. 0: 128.
	Backlog int

	// Accepted, if not nil, is called with each connection before Accept returns it. The function
	// that it returns, if not nil, is called when the connection has ended. Neither may block. A
	// panic of either is logged, and counted in Stats.HandlerPanics. After a panic of Accepted the
	// connection is closed, and no Accept returns it.
	Accepted func(s *UnixStream) (ended func())
}

// ListenUnix accepts Unix stream connections on which files are passed. The group works on a copy
// of the descriptor, but ln must stay open until the path is not needed: closing it removes that.
// On Windows the error matches errors.ErrUnsupported.
func (g *Group) ListenUnix(cfg UnixListenerConfig, ln *net.UnixListener) (*UnixListener, error) {
	if err := filesPass(); err != nil {
		return nil, opErrorOf("listen", ln.Addr(), err)
	}
	inner, err := g.prepare(AnyWorker, ln, nil, max(1, cmp.Or(cfg.Backlog, defaultBacklog)))
	if err != nil {
		return nil, err
	}
	l := &UnixListener{inner: inner, accepted: cfg.Accepted, done: bubble.Chan[struct{}](0)}
	inner.socket.Owner = (*unixOwner)(l)
	if err := inner.start(); err != nil {
		return nil, err
	}
	bubble.Go(l.watch)
	return l, nil
}

// watch ends Accept when the runtime ends, if the listener has not been closed.
func (l *UnixListener) watch() {
	select {
	case <-l.done:
	case <-l.inner.group.core.Runtime.Done():
		l.shut()
	}
}

// The methods that the socket calls.
type unixOwner UnixListener

var _ accept.Owner = (*unixOwner)(nil)

// Begin implements accept.Owner. No reactor has received anything of the connection, so no file is
// lost.
func (o *unixOwner) Begin(_ *engine.Driver, a accept.Accepted) {
	l, g := (*UnixListener)(o), o.inner.group
	s := &UnixStream{local: l.Addr(), peer: &net.UnixAddr{Name: a.Path, Net: "unix"}}
	s.sock.NotifyEnd(func() {
		g.core.Limits.Leave(a.Peer.Addr())
		o.inner.socket.Origin.Outside.Ended.Add(1)
	})
	if s.open(g, a.FD, false) == nil {
		s.sock.Begin(func() { l.arrive(s) }) // not under the locks of accepting
	}
}

// arrive hands a connection over, unless the listener is closed.
func (l *UnixListener) arrive(s *UnixStream) {
	if l.accepted != nil && !l.tell(s) {
		_ = s.Close()
		return
	}
	l.inner.socket.Arrived()
	if !l.arrivals.Push(s) {
		_ = s.Close() // it may be closed
	}
}

// tell calls Accepted. It reports whether that has returned.
func (l *UnixListener) tell(s *UnixStream) (returned bool) {
	var ended func()
	returned = l.call(s, func() { ended = l.accepted(s) })
	if ended != nil {
		s.sock.NotifyEnd(func() { l.call(s, ended) })
	}
	return returned
}

// call calls a function of the user. It reports whether that has returned.
func (l *UnixListener) call(s *UnixStream, f func()) (returned bool) {
	p := (*PanicError)(panics.Try(f))
	if p != nil {
		l.inner.group.core.Engine.HandlerPanicked(p, l, slog.Any("remote", s.peer))
	}
	return p == nil
}

// Shed implements accept.Owner.
func (o *unixOwner) Shed() { o.inner.group.core.Shed() }

// taken is the result of an attempt to take a connection. none is the error of an empty queue.
func (l *UnixListener) taken(s *UnixStream, state queue.State, none error) (*UnixStream, error) {
	switch state {
	case queue.Taken:
		l.inner.socket.Taken()
		return s, nil
	case queue.Closed:
		return nil, l.inner.opError("accept", net.ErrClosed)
	}
	return nil, none
}

// Accept waits for a connection (see sched.Block). The error matches net.ErrClosed after Close, and
// that of ctx when ctx ends.
func (l *UnixListener) Accept(ctx context.Context) (*UnixStream, error) {
	if err := endOf(ctx); err != nil {
		return nil, l.inner.opError("accept", err)
	}
	s, err := sched.Block(ctx, l.inner.group.core.Runtime, l.AcceptFuture())
	return s, acceptError(l.inner.Addr(), err)
}

// TryAccept takes a connection that has arrived. The error is ErrNoneArrived if there is none.
func (l *UnixListener) TryAccept() (*UnixStream, error) {
	s, state := l.arrivals.Try()
	return l.taken(s, state, ErrNoneArrived)
}

// AcceptFuture is Accept as a future, for one connection: its place among those that wait is from
// its first poll. A dropped future takes none.
func (l *UnixListener) AcceptFuture() sched.Future[*UnixStream] { return &acceptUnixFuture{l: l} }

// An acceptUnixFuture is a UnixStream that a task waits for.
type acceptUnixFuture struct {
	l     *UnixListener
	place queue.Place
}

var (
	_ sched.Future[*UnixStream] = (*acceptUnixFuture)(nil)
	_ sched.Canceler            = (*acceptUnixFuture)(nil)
)

// Poll is the connection, or the error of a listener that is closed.
func (f *acceptUnixFuture) Poll(cx *sched.Context) (*UnixStream, error) {
	s, state := f.l.arrivals.Poll(&f.place, cx.Waker())
	return f.l.taken(s, state, sched.ErrPending)
}

// Cancel gives up the place among those that wait.
func (f *acceptUnixFuture) Cancel() { f.l.arrivals.GiveUp(&f.place) }

// Close stops accepting, and returns when the descriptor is closed. It closes the connections that
// nobody has taken. Those that were accepted stay open. A second Close returns an error that
// matches net.ErrClosed.
func (l *UnixListener) Close() error {
	if !l.shut() {
		return l.inner.opError("close", net.ErrClosed)
	}
	return l.inner.Close()
}

// shut ends all calls of Accept, and the connections that they would have returned. It reports
// whether this call has.
func (l *UnixListener) shut() bool {
	left, open := l.arrivals.Close()
	if !open {
		return false
	}
	close(l.done)
	for _, s := range left {
		_ = s.Close() // the group may have closed it
	}
	return true
}

// Addr is the address of the listener, a *net.UnixAddr.
func (l *UnixListener) Addr() net.Addr { return l.inner.Addr() }

// Files are a copy of the listening descriptor, see Listener.File.
func (l *UnixListener) Files() ([]*os.File, error) {
	f, err := l.inner.File()
	if err != nil {
		return nil, err
	}
	return []*os.File{f}, nil
}

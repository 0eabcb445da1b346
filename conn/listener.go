package conn

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
)

// A Listener accepts connections for a group. One worker accepts at a time; the
// connections go to all workers in turn.
type Listener struct {
	socket  accept.Socket
	group   *Group
	handler Handler
	worker  int  // where its connections begin, or AnyWorker
	lingers bool // its connections have SO_LINGER: a close of one may wait
}

// A listenerOwner has the methods that the accepting socket calls. It is a separate type, so that
// users of a Listener do not see these methods.
type listenerOwner Listener

var _ accept.Owner = (*listenerOwner)(nil)

// Listen accepts connections from a listening socket, a *net.TCPListener or *net.UnixListener, for
// the handler h. The group works on a copy of the descriptor, so ln may be closed at once. A Unix
// listener must stay open until the server is done with its path. Set the socket's options that
// accepted ones inherit, SO_LINGER above all, before.
//
// Errors are *net.OpError with Op "listen". After Stop and Close they match net.ErrClosed.
func (g *Group) Listen(ln net.Listener, h Handler) (*Listener, error) {
	return g.ListenOn(AnyWorker, ln, h)
}

// AnyWorker stands for whichever worker is best.
const AnyWorker = -1

// ListenOn is Listen on the worker with that index, from 0. Its connections begin there, in spite
// of Config.Placement. It is for sockets that share an address by SO_REUSEPORT, one for each
// worker.
func (g *Group) ListenOn(worker int, ln net.Listener, h Handler) (*Listener, error) {
	l, err := g.prepare(worker, ln, h, 0)
	if err == nil {
		err = l.start()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// prepare makes a listener that accepts nothing before start.
func (g *Group) prepare(worker int, ln net.Listener, h Handler, backlog int) (*Listener, error) {
	if g.core.Aborting() {
		return nil, opErrorOf("listen", ln.Addr(), net.ErrClosed)
	}
	if worker != AnyWorker && (worker < 0 || worker >= g.core.Runtime.Workers()) {
		err := fmt.Errorf("conn: there is no worker %d; use 0 to %d, or AnyWorker", worker, g.core.Runtime.Workers()-1)
		return nil, opErrorOf("listen", ln.Addr(), err)
	}
	fd, err := sock.OfListener(ln)
	if err != nil {
		return nil, opErrorOf("listen", ln.Addr(), err)
	}
	if err := g.core.Engine.Start(); err != nil {
		sock.Close(fd)
		return nil, opErrorOf("listen", ln.Addr(), err)
	}
	l := &Listener{group: g, handler: h, worker: worker, lingers: sock.Lingers(fd)}
	l.socket.Owner, l.socket.Addr = (*listenerOwner)(l), ln.Addr()
	l.socket.Worker, l.socket.Backlog = worker, backlog
	l.socket.Init(&g.accepts, fd)
	return l, nil
}

// start begins to accept.
func (l *Listener) start() error { return l.opError("listen", l.socket.Start()) }

// opError wraps an error as package net does; nil stays nil.
func (l *Listener) opError(op string, err error) error { return opErrorOf(op, l.Addr(), err) }

func opErrorOf(op string, addr net.Addr, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: addr.Network(), Addr: addr, Err: err}
}

// Begin implements accept.Owner. The task of the connection may run as soon as it is attached,
// so all there is to be known of it is, by then.
func (o *listenerOwner) Begin(by *engine.Driver, a accept.Accepted) {
	g := o.group
	c := core.NewConn(&g.core, a.FD, o.handler)
	c.Accepted(a)
	if !o.lingers {
		c.Set(core.NonblockingClose)
	}
	at := o.worker
	if at == AnyWorker {
		at = g.core.Placement.Choose(c.Peer())
	}
	g.core.BeginsOn(c, at)
	c.Attach(o.socket.Origin, by.Cx.Now())
	g.core.Start(core.DriverOf(by), c, at)
}

// Shed implements accept.Owner.
func (o *listenerOwner) Shed() { o.group.core.Shed() }

// Addr is the address the listener listens on.
func (l *Listener) Addr() net.Addr { return l.socket.Addr }

// Close stops accepting and returns when the descriptor is closed. Connections
// in the backlog are refused unless another descriptor shares the socket. It
// must not be called by a handler.
//
// If a handler on the listener's worker does not return, the socket is closed all the same,
// after some 150 ms. On Windows that cannot be: after a second Close returns an error that
// matches ErrStuck, and the socket is closed when the handler returns. With io_uring before
// Linux 6.0 Close returns nil, but the kernel keeps the socket listening until then.
func (l *Listener) Close() error { return l.opError("close", l.socket.Close()) }

// Wait waits after Close until the listener brings no more connections. Close may return before
// that, if a handler on the listener's worker does not return. Wait returns nil then; the error
// of ctx, if that ends first; or sched.ErrClosed, if the workers stop first.
func (l *Listener) Wait(ctx context.Context) error { return l.socket.Wait(ctx) }

// File is a copy of the listening socket's descriptor, for another process to inherit. It may
// be called from any goroutine. Closing one does not close the other. After Close the error
// matches net.ErrClosed; on Windows it matches errors.ErrUnsupported.
func (l *Listener) File() (*os.File, error) {
	f, err := l.socket.File(l.Addr().String())
	if err == net.ErrClosed {
		err = l.opError("file", err)
	}
	return f, err
}

package conn

import (
	"cmp"
	"errors"
	"net"
	"os"
	"sync"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/list"
)

// A SocketListener is a net.Listener whose connections, each a *Socket, the group's
// workers accept and serve. Its methods may be called from any goroutine but a
// worker's. A handler and a task may call TryAccept, AcceptFuture and Addr.
//
// Of those that nobody has taken by Accept yet it keeps about as many as its backlog: each
// is counted when its OnOpen runs, and a few more may have been accepted by then. The others
// wait in the kernel's.
type SocketListener struct {
	group *Group
	addr  net.Addr
	inner []*Listener
	done  chan struct{} // closed with Close

	mu      sync.Mutex // guards what follows
	arrived bufs.FIFO[arrival]
	waiting list.List[*accepting] // for an arrival: while there are some, each arrival wakes one
	closed  bool
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

	// First, if not nil, is given the handler that makes sockets of connections and
	// returns one that sees each connection before: when that is done with one, it
	// calls SetHandler with, and OnOpen of, the handler it was given.
	First func(Handler) Handler
}

// OpenListener accepts connections from a listening socket, a *net.TCPListener or
// *net.UnixListener, for ordinary goroutines, or from several that share an address by
// SO_REUSEPORT, one for each worker. The group works on copies of the descriptors, as
// with Listen.
func (g *Group) OpenListener(cfg SocketListenerConfig, all ...net.Listener) (*SocketListener, error) {
	if len(all) == 0 {
		return nil, errors.New("conn: OpenListener needs a listening socket")
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

// watch has Accept end when the runtime does, if the listener has not been closed.
func (l *SocketListener) watch() {
	select {
	case <-l.done:
	case <-l.group.rt.Done():
		l.shut()
	}
}

// An acceptor is the handler of connections until they are open.
type acceptor struct {
	Base
	to   *SocketListener
	from *Listener
}

func (a *acceptor) OnOpen(c *Conn) error {
	s := new(Socket)
	s.duplex.Unopened()
	h := s.Handler()
	_ = c.SetHandler(h)
	_ = h.OnOpen(c)
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
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.arrived.Push(a)
	wake := l.next()
	l.mu.Unlock()
	wake()
	return true
}

// Close stops accepting, and returns when the descriptor is closed; Accept returns an
// error that matches net.ErrClosed. Sockets that were accepted live on, those that
// nobody has taken are reset.
func (l *SocketListener) Close() error {
	if !l.shut() {
		return l.opError("close", net.ErrClosed)
	}
	return bubble.Call(l.closeInner)
}

// shut ends all calls of Accept, and what they would have returned. It reports whether
// this call has.
func (l *SocketListener) shut() bool {
	var wakes []func()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.closed = true
	for l.waiting.Len() > 0 {
		wakes = append(wakes, l.next())
	}
	left := l.arrived.Take()
	l.mu.Unlock()
	close(l.done)
	for _, wake := range wakes {
		wake()
	}
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

func (l *SocketListener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: l.addr.Network(), Addr: l.addr, Err: err}
}

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

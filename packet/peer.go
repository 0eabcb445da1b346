package packet

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/sched"
)

// SessionTasks is a SessionHandler that serves each session with a stackful task of its own. serve
// receives the peer's datagrams, and the session ends when serve returns. Use it as the Handler of
// a Sessions, whose limits and idle time-out apply. An error of serve is logged as that of any
// session handler. A panic ends only its session.
//
// sched.Context.Draining in serve is a token of the socket. It is canceled before the socket's
// OnDrain, and when the socket has ended.
//
// A session also ends when it was idle, or when its socket ends. Then Recv returns the error that
// SessionHandler's OnClose documents, and serve should return.
func SessionTasks(serve func(cx *sched.Context, p *Peer) error) SessionHandler {
	return &sessionTasks{serve}
}

// A Peer is one peer of a socket, for the task that serves it. All methods may be called from any
// goroutine and from tasks on any worker. The peer's datagrams are kept until they are received, 64
// at most; further ones are dropped.
type Peer struct {
	addr    netip.AddrPort
	conn    *Conn
	session *Session
	sent    *atomic.Int64 // the session's
	group   *engine.Group

	writeBy atomic.Int64 // the runtime's time; 0: no deadline

	mu      sync.Mutex // guards the fields below
	readBy  time.Duration
	queue   bufs.FIFO[*datagramCopy]
	waits   list.List[*peerWait]
	dropped uint64
	ended   bool // the session has ended
	err     error
	done    bool // serve has returned
}

// maxPeerQueue is how many datagrams wait for a task.
const maxPeerQueue = 64

// A datagramCopy is a datagram that waits for its peer's task.
type datagramCopy struct{ data []byte }

var (
	copies = sync.Pool{New: func() any { return &datagramCopy{make([]byte, 0, 2048)} }}

	// peerCalls are for methods without a future.
	peerCalls = sync.Pool{New: func() any { return new(peerRecvFuture) }}
)

// maxKeptCopy is the largest capacity of a copy that is kept for the next datagram.
const maxKeptCopy = 16 << 10

// Addr is the peer's address.
func (p *Peer) Addr() netip.AddrPort { return p.addr }

// Local is the address of this host that the peer sends to and that Send sends from. It is invalid
// where that of Session.Local is.
func (p *Peer) Local() netip.Addr { return p.session.local }

// Session returns the peer's session, as a key: a SessionHandler around that of SessionTasks is
// given the same pointer. The methods of Session are not for tasks.
func (p *Peer) Session() *Session { return p.session }

// Dropped is the number of datagrams that were dropped because the task did not receive them.
func (p *Peer) Dropped() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Recv receives the peer's next datagram into b, and returns its length. The
// end of a datagram that is longer than b is lost. When the session has ended, Recv first returns
// the datagrams that arrived before.
func (p *Peer) Recv(ctx context.Context, b []byte) (int, error) {
	if ctx != nil && sched.FromContext(ctx).Proceed() { // else Block refuses it, or others run first
		if n, err := p.TryRecv(b); err != ErrWouldBlock {
			return n, err
		}
	}
	f := peerCalls.Get().(*peerRecvFuture)
	f.p, f.b = p, b
	closed := func(err error) error { return p.conn.opError("read", p.addr, err) }
	n, err := ready.WaitFor(ctx, p.group.RT, f, closed)
	f.p, f.b = nil, nil
	peerCalls.Put(f)
	return n, err
}

// TryRecv is Recv without waiting: the error is ErrWouldBlock if nothing has arrived.
func (p *Peer) TryRecv(b []byte) (int, error) {
	p.mu.Lock()
	d, err := p.next()
	p.mu.Unlock()
	return d.take(b), err
}

// next is the next datagram, or the error of a receive. p.mu is held.
func (p *Peer) next() (*datagramCopy, error) {
	switch {
	case p.readBy != 0 && !p.ended && p.group.RT.Now() >= p.readBy:
		return nil, p.conn.opError("read", p.addr, os.ErrDeadlineExceeded)
	case p.queue.Len() > 0:
		return p.queue.Pop(), nil
	case p.ended:
		return nil, p.err
	}
	return nil, ErrWouldBlock
}

// RecvFuture is Recv as a future. It can be polled again for the next datagram. b belongs to the
// future until it is done or abandoned.
func (p *Peer) RecvFuture(b []byte) sched.Future[int] { return &peerRecvFuture{p: p, b: b} }

// Send sends b to the peer as one datagram. It does not wait. While the kernel's send buffer is
// full, datagrams are queued as copies, up to conn.Config.MaxWrite bytes for the socket. Then the
// error is ErrWriteQueueFull. Other errors are *net.OpError: the kernel's errno, or net.ErrClosed
// when the session's socket has ended.
func (p *Peer) Send(b []byte) error {
	if by := p.writeBy.Load(); by != 0 && p.group.RT.Now() >= time.Duration(by) {
		return p.conn.opError("write", p.addr, os.ErrDeadlineExceeded)
	}
	if p.sent != nil {
		p.sent.Store(int64(p.group.RT.Now()))
	}
	return p.conn.trySendOrQueue(b, p.session.local, p.addr)
}

// A peerRecvFuture is a receive of a peer's datagram.
type peerRecvFuture struct {
	p    *Peer
	b    []byte
	wait peerWait
}

type peerWait struct {
	node  list.Node[*peerWait]
	waker sched.Waker
	timer sched.Timer // of the deadline
	timed bool        // it may run
}

// Poll implements sched.Future.
func (f *peerRecvFuture) Poll(cx *sched.Context) (int, error) {
	if !cx.Proceed() {
		return 0, sched.ErrPending
	}
	p, w := f.p, &f.wait
	p.mu.Lock()
	if d, err := p.next(); err != ErrWouldBlock {
		f.drop()
		p.mu.Unlock()
		return d.take(f.b), err
	}
	w.waker = cx.Waker()
	if !w.node.Listed() {
		w.node.Value = w
		p.waits.PushBack(&w.node)
	}
	if p.readBy != 0 {
		w.timed = true
		p.group.RT.StartTimer(&w.timer, p.readBy, w.waker)
	}
	p.mu.Unlock()
	cx.Refund()
	return 0, sched.ErrPending
}

// Cancel implements sched.Canceler.
func (f *peerRecvFuture) Cancel() {
	f.p.mu.Lock()
	f.drop()
	f.p.mu.Unlock()
}

// drop forgets the wait. The peer's mu is held.
func (f *peerRecvFuture) drop() {
	f.p.waits.Remove(&f.wait.node)
	if f.wait.timed {
		f.wait.timed = false
		f.p.group.RT.StopTimer(&f.wait.timer)
	}
}

// wake wakes all receives that wait. p.mu is held.
func (p *Peer) wake(cx *sched.Context) {
	for n := p.waits.Front(); n != nil; n = p.waits.Front() {
		p.waits.Remove(n)
		cx.Wake(n.Value.waker)
	}
}

// abandon ends the waits for a peer of a group whose workers have stopped. Goroutines and tasks of
// another runtime may wait.
func (p *Peer) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended, p.err = true, p.conn.opError("read", p.addr, engine.ErrGone)
	for n := p.waits.Front(); n != nil; n = p.waits.Front() {
		p.waits.Remove(n)
		n.Value.waker.Wake()
	}
}

// arrived keeps a datagram for the task.
func (p *Peer) arrived(cx *sched.Context, data []byte) {
	d := copies.Get().(*datagramCopy)
	d.data = append(d.data[:0], data...)
	p.mu.Lock()
	keep := !p.done && p.queue.Len() < maxPeerQueue
	if keep {
		p.queue.Push(d)
		p.wake(cx)
	} else {
		p.dropped++
	}
	p.mu.Unlock()
	if !keep {
		d.put()
	}
}

// take copies the datagram to b, and returns the length. d is put back. It may be nil.
func (d *datagramCopy) take(b []byte) int {
	if d == nil {
		return 0
	}
	n := copy(b, d.data)
	d.put()
	return n
}

func (d *datagramCopy) put() {
	if cap(d.data) <= maxKeptCopy {
		copies.Put(d)
	}
}

// sessionTasks is the SessionHandler of SessionTasks. A session's value is its Peer.
type sessionTasks struct {
	serve func(cx *sched.Context, p *Peer) error
}

var _ SessionHandler = (*sessionTasks)(nil)

// OnOpen implements SessionHandler.
func (h *sessionTasks) OnOpen(s *Session) error {
	c := s.table.conn
	p := &Peer{addr: s.peer, conn: c, session: s, group: c.group}
	if s.table.owner.CountSent {
		p.sent = &s.sent
	}
	s.SetValue(p)
	c.scope().Go(c.driver.Cx, func(cx *sched.Context) error {
		h.run(cx, s, p)
		return nil
	}).Detach()
	return nil
}

// scope returns the scope of the socket's session tasks. It gives them a token, and neither awaits
// nor aborts them. The token is canceled with that of the runtime, before OnDrain, and when the
// socket has ended. So on a group that several servers share, it is canceled when the socket's
// server shuts down.
func (c *Conn) scope() *sched.TaskScope {
	if c.tasks == nil {
		c.tasks = new(sched.TaskScope)
		c.tasks.Follow(c.group.RT.Draining())
		if c.is(drained | closing | broken) {
			c.tasks.Drain()
		}
	}
	return c.tasks
}

// drainTasks cancels the token of the session tasks.
func (c *Conn) drainTasks() {
	if c.tasks != nil {
		c.tasks.Drain()
	}
}

// run calls serve. After it has returned, the socket's task ends the session.
func (h *sessionTasks) run(cx *sched.Context, s *Session, p *Peer) {
	err := sched.ErrGoexit
	defer func() {
		p.mu.Lock()
		p.done = true
		for p.queue.Len() > 0 {
			p.queue.Pop().put()
		}
		ended := p.ended
		p.mu.Unlock()
		if cx.Canceled() { // the workers stop, which is no fault of the session
			err = nil
		}
		if !ended { // else OnClose was called; after an error of enqueue, OnClose will be called
			_ = p.conn.enqueue(command{kind: cmdSession, do: func(*Conn) { h.returned(s, err) }})
		}
	}()
	if e := (*PanicError)(panics.Try(func() { err = h.serve(cx, p) })); e != nil {
		p.group.HandlerPanicked(e, h, slog.Any("remote", p.addr))
		err = e
	}
}

// returned ends a session whose task has ended.
func (h *sessionTasks) returned(s *Session, err error) {
	_, panicked := err.(*PanicError)
	switch {
	case s.over:
	case err == nil || panicked: // which was logged
		s.table.end(s, err)
	default:
		s.table.fail(s, err)
	}
}

// OnPacket implements SessionHandler.
func (h *sessionTasks) OnPacket(s *Session, p Packet) error {
	s.value.(*Peer).arrived(s.table.conn.driver.Cx, p.Data)
	return nil
}

// OnClose implements SessionHandler.
func (h *sessionTasks) OnClose(s *Session, err error) {
	p := s.value.(*Peer)
	if err == nil {
		err = p.conn.opError("read", p.addr, engine.ErrGone)
	}
	p.mu.Lock()
	p.ended, p.err = true, err
	p.wake(s.table.conn.driver.Cx)
	p.mu.Unlock()
}

// Stackful is called by Sessions.
func (h *sessionTasks) Stackful() bool { return true }

// HandlerName is its name in the log.
func (h *sessionTasks) HandlerName() string { return "packet.SessionTasks" }

package conn

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/handover"
	"github.com/suiro-go/suiro/internal/ledger"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Listener accepts connections for a group. One worker accepts at a time; the
// connections go to all workers in turn.
type Listener struct {
	end     engine.Endpoint // of the reactors' tokens
	task    sched.Task
	group   *Group
	handler Handler
	worker  int // where it accepts and its connections begin, or AnyWorker
	addr    net.Addr
	lingers bool           // its connections have SO_LINGER: a close of one may wait
	room    handover.Limit // of sockets that no goroutine has taken; stopped for want of room too
	on      atomic.Int32   // the worker that it is on

	// The task's alone.
	home      *engine.Driver // where its last Accept went; nil: there was none
	place     ledger.Place   // in the line for memory
	turn      admission.Place
	accepting bool          // an Accept is in flight
	stopping  bool          // and a Cancel for it
	closing   time.Duration // the tick in which the descriptor was closed; 0: it is open
	retry     alarm.Alarm
	pause     time.Duration // how long the last back-off was
	until     time.Duration // and when it ends
	went      atomic.Bool   // something was accepted since

	mu     sync.Mutex
	spare  []*Conn       // accepted without room for them
	ended  bool          // the Accept has ended
	errno  syscall.Errno // and why
	stop   bool          // Close was called
	gone   bool          // the task closes the descriptor, or has
	inert  bool          // it is that of another socket by now, see sever
	closed chan struct{} // closed when the descriptor is
}

// harmless are errors of one connection, or the end of an Accept that was cancelled.
var harmless = []syscall.Errno{syscall.ECONNABORTED, syscall.EINTR, syscall.ECANCELED}

// The back-off after an accept error, as net/http has it.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Listen accepts connections from a listening socket, a *net.TCPListener or
// *net.UnixListener, and has h told of each. The group works on a copy of the
// descriptor, so ln may be closed at once, and a Unix listener must not be
// before the server is done with its path. Options of the socket that accepted ones
// inherit, SO_LINGER above all, are to be set before.
func (g *Group) Listen(ln net.Listener, h Handler) (*Listener, error) {
	return g.ListenOn(AnyWorker, ln, h)
}

// AnyWorker stands for whichever worker is best.
const AnyWorker = -1

// ListenOn is Listen on the worker with that index, from 0, on which its connections
// then begin, whatever Config.Placement says: for sockets that share an address by
// SO_REUSEPORT, one for each worker.
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
func (g *Group) prepare(worker int, ln net.Listener, h Handler, limit int) (*Listener, error) {
	if g.aborting() {
		return nil, &net.OpError{Op: "listen", Net: ln.Addr().Network(), Addr: ln.Addr(), Err: net.ErrClosed}
	}
	if worker != AnyWorker && (worker < 0 || worker >= g.rt.Workers()) {
		return nil, fmt.Errorf("conn: there is no worker %d; use 0 to %d, or AnyWorker", worker, g.rt.Workers()-1)
	}
	fd, err := sock.OfListener(ln)
	if err != nil {
		return nil, err
	}
	if err := g.rt.Start(); err != nil {
		sock.Close(fd)
		return nil, err
	}
	l := &Listener{group: g, handler: h, worker: worker, addr: ln.Addr(), room: handover.Limit{Most: limit}, closed: bubble.Chan[struct{}](0)}
	l.lingers = sock.Lingers(fd)
	l.end.FD, l.end.Target = fd, (*listenerTarget)(l)
	l.task.Init(g.rt, (*listenerTask)(l))
	return l, nil
}

// start has it accept. Stop closes the listeners that are in the table once it has begun. So
// one that is added and sees that it has begun may have been missed, and closes itself.
func (l *Listener) start() error {
	l.group.core.Table.Add(&l.end)
	if l.group.aborting() {
		go func() { _ = l.Close() }() // the caller may be a handler, which must not wait
		return l.opError("listen", net.ErrClosed)
	}
	if l.worker == AnyWorker {
		at := l.group.nextWorker()
		l.on.Store(int32(at))
		l.task.WakeOn(at)
	} else {
		l.on.Store(int32(l.worker))
		l.task.Pin(l.worker)
		l.task.Wake()
	}
	return nil
}

func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: l.addr.Network(), Addr: l.addr, Err: err}
}

// Addr is the address the listener listens on.
func (l *Listener) Addr() net.Addr { return l.addr }

// Close stops accepting and returns when the descriptor is closed. Connections
// in the backlog are refused unless another descriptor shares the socket. It
// must not be called by a handler.
//
// If a handler on the listener's worker does not return, the socket is closed all the same,
// after some 150 ms. On Windows that cannot be: after a second Close returns an error that
// matches ErrStuck, and the socket is closed when the handler returns. With io_uring before
// Linux 6.0 Close returns nil, but the kernel keeps the socket listening until then.
func (l *Listener) Close() error {
	l.mu.Lock()
	again := l.stop
	l.stop = true
	if !again {
		l.group.late.add(l)
	}
	l.mu.Unlock()
	if again {
		return l.opError("close", net.ErrClosed)
	}
	l.task.Wake()
	return bubble.Call(l.awaitClose)
}

// Wait waits after Close until the listener brings no more connections. Close may return before
// that, if a handler on the listener's worker does not return. Wait returns nil then; the error
// of ctx, if that ends first; or sched.ErrClosed, if the workers stop first.
func (l *Listener) Wait(ctx context.Context) error {
	select {
	case <-l.closed: // whatever ctx says
		return nil
	default:
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	select {
	case <-l.closed:
		return nil
	case <-l.group.rt.Done():
		return sched.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deliver takes an accepted connection, or the end of the Accept.
func (l *Listener) deliver(d *driver, e *reactor.Completion) {
	full := false
	if e.Res >= 0 {
		if !l.went.Load() {
			l.went.Store(true)
		}
		c := newConn(l.group, e.Res, l.handler)
		c.accepted(e.Peer)
		if !l.lingers {
			c.set(prompt)
		}
		full = !l.take(d, c) || l.group.bounded() && l.group.ledger.Tight() || l.room.Reached()
		if e.More && !full {
			return
		}
	}
	if full {
		l.room.Stop() // before ended: Run is not to begin another Accept
	}
	if !e.More {
		l.mu.Lock()
		l.ended, l.errno = true, e.Errno()
		l.mu.Unlock()
	}
	d.Cx.Wake(l.task.Waker())
}

// take begins an accepted connection, or refuses it; false: it is kept until there is
// room.
func (l *Listener) take(d *driver, c *Conn) bool {
	switch l.group.limits.Admit(c.peer) {
	case admission.Admitted:
		l.begin(d, c)
	case admission.Later:
		l.mu.Lock()
		l.spare = append(l.spare, c)
		l.mu.Unlock()
		return false
	default:
		l.refuse(c)
	}
	return true
}

// begin attaches a connection to a worker. Its task may run as soon as it is
// attached, so all there is to be known of it is, by then.
func (l *Listener) begin(d *driver, c *Conn) {
	at := l.worker
	if at == AnyWorker {
		at = l.group.place(c)
	}
	l.group.beginsOn(c, at)
	c.attach()
	l.group.start(d, c, at)
}

// arrived counts one that waits to be taken.
func (l *Listener) arrived() {
	if l.room.Arrived() {
		l.task.Wake()
	}
}

// taken counts one that a goroutine has taken.
func (l *Listener) taken() {
	if l.room.Taken() {
		l.task.Wake()
	}
}

// refuse resets a connection that no reactor knows yet.
func (l *Listener) refuse(c *Conn) {
	sock.ResetOnClose(c.end.FD)
	sock.Close(c.end.FD)
}

// makeRoom begins those that wait, as far as there is room. It reports whether there
// is some left.
func (l *Listener) makeRoom(d *driver) bool {
	return l.room.Reopen(func() (room, found bool) {
		if !l.awaitRoom() {
			return false, false
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.spare) == 0 {
			return true, false
		}
		c := l.spare[0]
		switch l.group.limits.Admit(c.peer) {
		case admission.Later:
			return true, true // another listener was quicker: look again
		case admission.Admitted:
			l.begin(d, c)
		default:
			l.refuse(c)
		}
		l.spare = l.spare[1:]
		return true, true
	})
}

// awaitRoom reports whether there is room; else the listener is woken when there is.
func (l *Listener) awaitRoom() bool {
	return (!l.group.bounded() || l.group.ledger.Await(&l.place, &l.task)) && l.group.limits.Await(&l.turn, &l.task)
}

// refuseSpare is for a listener that closes.
func (l *Listener) refuseSpare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.spare {
		l.refuse(c)
	}
	l.spare = nil
}

// Run implements sched.Body: it keeps an Accept in flight until the listener is closed.
func (t *listenerTask) Run(cx *sched.Context) (done bool) {
	l := (*Listener)(t)
	d := cx.Driver().(*driver)
	l.retry.Rang() // until and closing say what is due
	l.mu.Lock()
	ended, errno, stop := l.ended, l.errno, l.stop
	l.ended = false
	l.mu.Unlock()
	if ended {
		l.accepting, l.stopping = false, false
	}
	room := stop || l.makeRoom(d)
	if l.group.bounded() {
		defer l.group.passOn() // who was woken for memory passes that on, whether or not it was of use
	}
	switch {
	case (stop || !room) && l.accepting:
		if stop || !l.stopping {
			l.stopping = true
			d.Cancel(l.home, &l.end, reactor.Accept)
		}
		return false
	case !room:
		return false // Leave and PassOn wake
	case stop && l.closing != 0 && cx.Now() > l.closing:
		l.group.late.remove(l)
		close(l.closed)
		return true
	case stop:
		if l.closing == 0 {
			l.refuseSpare()
			l.group.leaveLine(&l.place)
			l.group.limits.Withdraw(&l.turn)
			l.closing = max(1, cx.Now()) // 0 is the time at which a virtual clock begins
			l.group.core.Table.Remove(&l.end)
			l.mu.Lock()
			l.gone = true
			l.mu.Unlock()
			d.CloseFD(l.home, l.end.FD, false)
		}
		// The kernel may be about to let go of the Accept that has just ended: look again in a later tick.
		l.retry.Set(l.group.rt, l.closing+1, l.task.Waker())
	case ended && errno != 0 && !slices.Contains(harmless, errno):
		l.backOff(cx, sock.Error("accept", errno))
	case l.accepting:
	case l.group.rt.Now() >= l.until: // cx.Now may be from before the alarm rang, elsewhere
		l.accept(cx, d)
	default: // an alarm that was set for an earlier back-off may have rung
		l.retry.Set(l.group.rt, l.until, l.task.Waker())
	}
	return false
}

// accept takes one connection at a time where they count: a multishot accept would empty the
// kernel's queue before the listener could stop it.
func (l *Listener) accept(cx *sched.Context, d *driver) {
	l.accepting = true
	l.home = d.Via(l.home)
	l.on.Store(int32(l.home.Worker))
	if err := d.Submit(l.home, reactor.Op{Kind: reactor.Accept, FD: l.end.FD, Token: l.end.Token, One: l.room.Most > 0 || l.group.limits.Bounded()}); err != nil {
		l.accepting = false
		l.backOff(cx, err)
	}
}

// backOff waits before the next attempt: descriptors that are used up do not
// come back by trying.
func (l *Listener) backOff(cx *sched.Context, err error) {
	if l.went.Swap(false) {
		l.pause = 0 // as in net/http
	}
	l.pause = min(max(minPause, 2*l.pause), maxPause)
	l.until = cx.Now() + l.pause
	l.group.cfg.Logger.Warn("conn: accept failed, trying again", "addr", l.addr, "in", l.pause, "error", sock.Advise(err))
	l.retry.Set(l.group.rt, l.until, l.task.Waker())
}

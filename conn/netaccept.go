package conn

import (
	"context"
	"errors"
	"net"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/waiter"
	"github.com/suiro-go/suiro/sched"
)

// ErrNoneArrived is returned by SocketListener.TryAccept when no connection waits to be taken.
var ErrNoneArrived = errors.New("conn: no connection has arrived")

// An accepting is a call that waits for an arrival: a goroutine's, or a task's.
//
// An arrival wakes the first, which then looks whether it is still there: another call may
// have been quicker. So a call that was woken and gives up wakes the next one, if there is an
// arrival.
type accepting struct {
	node  list.Node[*accepting]
	w     *waiter.Waiter // the goroutine; nil: it is a task
	waker sched.Waker    // the task
}

// wait puts a call behind the others. The lock is held.
func (l *SocketListener) wait(a *accepting) {
	a.node.Value = a
	l.waiting.PushBack(&a.node)
}

// next takes the first that waits out of the list, and returns what wakes it, without the
// lock, which is held.
func (l *SocketListener) next() (wake func()) {
	n := l.waiting.Front()
	if n == nil {
		return func() {}
	}
	l.waiting.Remove(n)
	a := n.Value
	if a.w != nil {
		return a.w.Wake
	}
	return a.waker.Wake // of now: the task may wait again, with another one
}

// pop takes the first arrival; the zero value: there is none. The lock is held; taken is to be
// called without it.
func (l *SocketListener) pop() (a arrival, err error) {
	switch {
	case l.closed:
		return a, l.opError("accept", net.ErrClosed)
	case l.arrived.Len() == 0:
		return a, nil
	}
	return l.arrived.Pop(), nil
}

// taken tells the listening socket that it may have room, and returns the connection.
func (a arrival) taken() *Socket {
	if a.s != nil {
		a.from.socket.Taken()
	}
	return a.s
}

// giveUp ends a call's wait. The lock is not held.
func (l *SocketListener) giveUp(a *accepting) (wasWoken bool) {
	wake := func() {}
	l.mu.Lock()
	wasWoken = !l.waiting.Remove(&a.node)
	if wasWoken && l.arrived.Len() > 0 {
		wake = l.next()
	}
	l.mu.Unlock()
	wake()
	return wasWoken
}

// Accept implements net.Listener. What goes wrong with accepting is no error of it: the
// group's logger hears of that, and it is tried again. A task awaits AcceptFuture.
func (l *SocketListener) Accept() (net.Conn, error) {
	s, err := l.AcceptSocket()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AcceptSocket is Accept for those who want the type.
func (l *SocketListener) AcceptSocket() (*Socket, error) { return l.accept(nil, nil) }

// AcceptContext is AcceptSocket until ctx ends. Then the error matches that of ctx.
func (l *SocketListener) AcceptContext(ctx context.Context) (*Socket, error) {
	if err := ctx.Err(); err != nil {
		return nil, l.opError("accept", err)
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	return l.accept(ctx.Done(), ctx.Err)
}

// TryAccept takes a connection that has arrived. The error is ErrNoneArrived if there is
// none, and matches net.ErrClosed after Close. It may be called from a handler.
func (l *SocketListener) TryAccept() (*Socket, error) {
	l.mu.Lock()
	a, err := l.pop()
	l.mu.Unlock()
	if a.s == nil && err == nil {
		err = ErrNoneArrived
	}
	return a.taken(), err
}

// accept waits for an arrival, or for done, and then returns what why does.
func (l *SocketListener) accept(done <-chan struct{}, why func() error) (*Socket, error) {
	for {
		l.mu.Lock()
		if a, err := l.pop(); a.s != nil || err != nil {
			l.mu.Unlock()
			return a.taken(), err
		}
		a := &accepting{w: waiter.Get()}
		l.wait(a)
		l.mu.Unlock()
		select {
		case <-a.w.Woke:
			a.w.Put()
		case <-done:
			if l.giveUp(a) {
				<-a.w.Woke
			}
			a.w.Put()
			return nil, l.opError("accept", why())
		}
	}
}

// AcceptFuture is AcceptSocket as a future, for one connection: its place among those that
// wait is from its first poll. Abandoned, it takes none.
func (l *SocketListener) AcceptFuture() *AcceptFuture { return &AcceptFuture{l: l} }

// An AcceptFuture is a connection that a task waits for.
type AcceptFuture struct {
	l       *SocketListener
	waiting accepting
}

var (
	_ sched.Future[*Socket] = (*AcceptFuture)(nil)
	_ sched.Canceler        = (*AcceptFuture)(nil)
)

// Poll is the connection, or the error of a listener that is closed.
func (f *AcceptFuture) Poll(cx *sched.Context) (*Socket, error) {
	l := f.l
	l.mu.Lock()
	a, err := l.pop()
	if a.s != nil || err != nil {
		l.waiting.Remove(&f.waiting.node)
		l.mu.Unlock()
		return a.taken(), err
	}
	f.waiting.waker = cx.Waker()
	if !f.waiting.node.Listed() {
		l.wait(&f.waiting)
	}
	l.mu.Unlock()
	return nil, sched.ErrPending
}

// Cancel gives up the place among those that wait.
func (f *AcceptFuture) Cancel() { f.l.giveUp(&f.waiting) }

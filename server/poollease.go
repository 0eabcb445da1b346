package server

import (
	"context"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/sched"
)

// A Lease is one use of a pooled connection, from when the Pool gives it out until Put. After Put a
// Handle refers to the connection of another user. A Lease ends with its use, and cannot affect
// another one. So a canceled call can use it to end itself at any moment:
//
//	stop := context.AfterFunc(ctx, func() { _ = lease.Abort() })
//
// Its methods may be called from any goroutine, any number of times. Their error matches
// net.ErrClosed when the use has ended. The zero value is a use that has ended.
type Lease struct {
	use    *getFuture
	handle Handle
}

var errLeaseOver = fmt.Errorf("server: pool: this use of the connection has ended: %w", net.ErrClosed)

// GetLease gives h a connection, waits for it as Get does, and returns the Lease of this use.
func (p *Pool) GetLease(ctx context.Context, network, addr string, h Handler) (Lease, error) {
	lease, err := await(ctx, &p.Dialer, p.GetLeaseFuture(network, addr, h))
	return lease, p.Dialer.ended(network, addr, err)
}

// GetLeaseFuture is GetLease as a future, for one use. It queues and may be abandoned as that of
// GetFuture.
func (p *Pool) GetLeaseFuture(network, addr string, h Handler) sched.Future[Lease] {
	return &getLeaseFuture{p.getFuture(network, addr, h)}
}

// A getLeaseFuture is a request to a Pool for one use of a connection.
type getLeaseFuture struct{ get *getFuture }

var (
	_ sched.Future[Lease] = (*getLeaseFuture)(nil)
	_ sched.Canceler      = (*getLeaseFuture)(nil)
)

// Poll returns the Lease, once OnOpen has been called, or the error.
func (f *getLeaseFuture) Poll(cx *sched.Context) (Lease, error) {
	handle, err := f.get.Poll(cx)
	if err != nil {
		return Lease{}, err
	}
	return Lease{f.get, handle}, nil
}

// Cancel leaves the queue, as getFuture.Cancel does.
func (f *getLeaseFuture) Cancel() { f.get.Cancel() }

// Lease returns the present use of a connection that the pool has given out. Only the connection's
// handler may call it, while one of its methods runs, from OnOpen on. For any other connection it
// is the zero value.
func (p *Pool) Lease(c *Conn) Lease {
	h := c.Handle()
	p.mu.Lock()
	defer p.mu.Unlock()
	if pc := p.open[h]; pc != nil && pc.state == inUse {
		return Lease{pc.user, h}
	}
	return Lease{}
}

// Do makes a worker call f, as Handle.Do does, if the use has not ended by then. It does not wait,
// and f must not block. A nil error does not say that f will be called.
func (l Lease) Do(f func(*Conn)) error {
	if !l.lasts() {
		return errLeaseOver
	}
	return l.handle.Do(func(c *Conn) {
		if l.lasts() { // and lasts until f returns: only the connection's task ends it
			f(c)
		}
	})
}

// Abort resets the connection, if the use has not ended by then. It does not wait.
func (l Lease) Abort() error { return l.Do((*Conn).Abort) }

// Release implements sched.Releaser, for a Lease that is the result of a task and that no caller
// takes, for example because the task was detached. It is Abort.
func (l Lease) Release() { _ = l.Abort() } // the use may have ended

// Put gives the connection back, as Pool.Put does, if the use has not ended by then. It does not
// wait.
func (l Lease) Put() error {
	if l.use == nil {
		return errLeaseOver
	}
	return l.Do(l.use.pool.Put)
}

// lasts reports whether the connection is still in this use. Only the connection's own task gives
// it out, takes it back and ends it, so the result stays true while that task runs.
func (l Lease) lasts() bool {
	if l.use == nil {
		return false
	}
	p := l.use.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	pc := p.open[l.handle]
	return pc != nil && pc.state == inUse && pc.user == l.use
}

package server

import (
	"context"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// A Lease is one use of a pooled connection, from when the Pool gives it out until Put. A
// Handle goes on to mean the connection when that is somebody else's; a Lease ends with
// its use, and cannot touch another one. So it is what a call that is canceled ends
// itself by, at whatever moment:
//
//	stop := context.AfterFunc(ctx, func() { _ = lease.Abort() })
//
// Its methods may be called from any goroutine, any number of times. Their error matches
// net.ErrClosed when the use has ended. The zero value is a use that has ended.
type Lease struct {
	use    *GetFuture
	handle Handle
}

var errLeaseOver = fmt.Errorf("server: pool: this use of the connection has ended: %w", net.ErrClosed)

// LeaseContext is GetContext that returns the use.
func (p *Pool) LeaseContext(ctx context.Context, network, addr string, h Handler) (Lease, error) {
	g, err := p.Dialer.group()
	if err != nil {
		return Lease{}, err
	}
	f := p.GetFuture(network, addr, h)
	ctx, release := bubble.Context(ctx)
	defer release()
	handle, err := sched.Block(ctx, g.Runtime(), f)
	if err = p.Dialer.ended(network, addr, err); err != nil {
		return Lease{}, err
	}
	return Lease{f, handle}, nil
}

// Lease is the present use of a connection that the pool has given out. It is for the
// connection's handler, while a method of that runs: in OnOpen at the earliest. Of any other
// connection it is the zero value.
func (p *Pool) Lease(c *Conn) Lease {
	h := c.Handle()
	p.mu.Lock()
	defer p.mu.Unlock()
	if pc := p.open[h]; pc != nil && pc.state == inUse {
		return Lease{pc.user, h}
	}
	return Lease{}
}

// Do has f called on a worker, as Handle.Do does, if the use has not ended by then.
func (l Lease) Do(f func(*Conn)) error {
	if !l.lasts() {
		return errLeaseOver
	}
	return l.handle.Do(func(c *Conn) {
		if l.lasts() { // and does until f returns: only the connection's task ends it
			f(c)
		}
	})
}

// Abort resets the connection, if the use has not ended by then.
func (l Lease) Abort() error { return l.Do((*Conn).Abort) }

// Put gives the connection back, as Pool.Put does, if the use has not ended by then.
func (l Lease) Put() error {
	if l.use == nil {
		return errLeaseOver
	}
	return l.Do(l.use.pool.Put)
}

// lasts reports whether the connection is still this use's. A connection is given out,
// given back and ended by its own task: so what that task sees stays true for as long as
// it runs.
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

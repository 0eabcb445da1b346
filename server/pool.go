package server

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/sched"
)

// A Pool keeps idle connections to other servers, and gives them out again, the most recently
// used one first. The zero value is useful. The fields must not change once the Pool is used,
// and it must not be copied. Its methods may be called from any goroutine and handler, unless
// they say otherwise.
//
// The Pool watches its idle connections. One that the peer closes, or on which it sends
// anything, is closed at once. This is checked again when a connection is given out, so it was
// open at that moment. It may still end before a request is answered.
//
// Get, GetFuture and Start give a connection to a Handler. They differ as the methods of Dialer
// do. GetLease and its forms return a Lease of the connection, GetStream and
// its forms a Stream. Tasks and goroutines wait for a connection, an error, or the end of the
// group.
//
// Errors are *net.OpError with Op "dial", as those of Dialer. They also match ErrPoolClosed,
// ErrPoolFull and ErrBackOff. The error of a failed dial goes to the first caller in the queue.
//
// The user of a connection gives it back by Put, or ends it, and must not use its Handle
// afterwards: the Handle then means a connection of another user. A Lease ends with the use
// instead, so a call that comes too late does nothing.
type Pool struct {
	// Dialer makes the connections. Its Near is ignored.
	Dialer Dialer

	// MaxIdle is how many idle connections are kept for each address, and MaxIdleTotal for all
	// addresses together. Above it the least recently used one is closed. 0: 16, and no limit.
	// Negative: none are kept.
	MaxIdle, MaxIdleTotal int

	// MaxConns is how many connections there may be to one address: idle, in use and being dialed.
	// Further callers wait in a queue. 0: no limit.
	MaxConns int

	// MaxWaiting is how many callers may wait for one address, beside those for which a dial is in
	// progress. Further ones get ErrPoolFull. 0: 1024.
	MaxWaiting int

	// IdleTimeout is the time after which an idle connection is closed. 0: 90 s. Negative: never.
	IdleTimeout time.Duration

	// MaxLifetime is the age from which a connection is not given out any more. 0: never.
	MaxLifetime time.Duration

	// Check, if not nil, is called on a worker with an idle connection before it is given out. It
	// must neither block nor write. After an error the connection is closed, and another one is
	// given out.
	Check func(*Conn) error

	// BackOff is the time for which an address is not dialed after a dial has failed. Each further
	// failure in a row doubles it, up to MaxBackOff, and a random part between half and all of it
	// is taken. During it callers get ErrBackOff if the address has no connection, and wait for one
	// otherwise. After it one dial at a time is tried, until one succeeds. 0: 100 ms, and 30 s.
	// Negative: no back-off.
	BackOff, MaxBackOff time.Duration

	mu      sync.Mutex
	hosts   map[target]*poolHost
	purgeAt int                // number of hosts at which unused ones are removed
	open    map[Handle]*pooled // established, unless retired
	idle    list.List[*pooled] // all of them, the one that has not been used for longest first
	total   int                // sum of the hosts' conns
	counts  PoolCounts
	rt      *sched.Runtime // its clock; nil: the pool was not used yet
	closed  bool
	watched *conn.Group   // its end answers the requests; nil: no request has waited yet
	shut    chan struct{} // closed by Close, if watched is set
	drained chan struct{} // closed when the pool is closed and total is 0; nil: no Shutdown waits
}

const (
	defaultMaxIdle     = 16
	defaultMaxWaiting  = 1024
	defaultIdleTimeout = 90 * time.Second
	defaultBackOff     = 100 * time.Millisecond
	defaultMaxBackOff  = 30 * time.Second
)

// or returns v, the default if v is 0, or none if v is negative.
func or[T int | time.Duration](v, byDefault, none T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return none
	}
	return v
}

// Start asks for a connection and returns at once, so a handler may call it. When h gets the
// connection, h.OnOpen is called, as for a new one. If there will be none, only h.OnClose is
// called, with the error. If Start returns an error, h is not called.
//
// cancel gives up the place in the queue, and h is not called any more. If h has the connection
// already and has not given it back, cancel resets it. There is no TryGet, because only an idle
// connection's worker can tell whether it is still open.
func (p *Pool) Start(network, addr string, h Handler) (cancel func(), err error) {
	f := p.getFuture(network, addr, h)
	g, err := p.Dialer.group()
	if err != nil {
		return nil, f.failed(err)
	}
	f.refuse = func(err error) {
		_, _ = g.DialWith(&conn.DialConfig{Target: f.to, Find: func(found func([]net.Addr, error)) func() {
			found(nil, err)
			return nil
		}}, h)
	}
	if err := p.ask(f); err != nil {
		return nil, f.failed(err)
	}
	return f.Cancel, nil
}

// Get gives h a connection, and waits for it (see sched.Block). When it returns a Handle, h.OnOpen
// has been called. If it returns an error, h is not called, except when ctx ends or the task is
// aborted just after h got a connection: that connection is reset.
func (p *Pool) Get(ctx context.Context, network, addr string, h Handler) (Handle, error) {
	handle, err := await(ctx, &p.Dialer, p.GetFuture(network, addr, h))
	return handle, p.Dialer.ended(network, addr, err)
}

// GetFuture is Get as a future, for one connection. It takes its place in the queue at its first
// poll, and an abandoned one leaves it. A connection that h has got and not given back is reset
// then, also if a Join with the result is abandoned or fails (see sched.Undoer).
func (p *Pool) GetFuture(network, addr string, h Handler) sched.Future[Handle] {
	return p.getFuture(network, addr, h)
}

func (p *Pool) getFuture(network, addr string, h Handler) *getFuture {
	f := &getFuture{pool: p, to: target{network, addr}, handler: h}
	f.node.Value = f
	return f
}

// Put gives back a connection that the Pool has given out. It may be called in a method of the
// connection's handler, and elsewhere by handle.Do(pool.Put). The handler gets no more events.
// Written bytes are still sent. A connection with unread bytes, or one that is not open in both
// directions, is closed. Put panics if the Pool has not given the connection out.
func (p *Pool) Put(c *Conn) {
	h := c.Handle()
	p.mu.Lock()
	pc := p.open[h]
	if pc == nil || pc.state != inUse {
		p.mu.Unlock()
		panic("server: Put of a connection that the Pool has not given out, or has got back already")
	}
	pc.state, pc.user = returning, nil
	p.mu.Unlock()
	left, limited := pc.lifetime()
	if c.Buffered() == 0 && c.Unsent() <= poolUnsent && !(limited && left <= 0) && c.PassTo(pc) == nil {
		pc.park(c)
		return
	}
	_ = c.Close() // it may be closing already
	_ = c.SetHandler(pc)
	var do todo
	p.mu.Lock()
	p.retire(pc, &do)
	p.mu.Unlock()
	do.run(p)
}

// poolUnsent is how many unsent bytes a connection may have when it is kept.
const poolUnsent = 64 << 10

// jittered returns the back-off after this number of failures in a row.
func (p *Pool) jittered(failures int) time.Duration {
	d := or(p.BackOff, defaultBackOff, defaultBackOff)
	limit := or(p.MaxBackOff, defaultMaxBackOff, defaultMaxBackOff)
	for range failures - 1 {
		if d = saturate.Add(d, d); d >= limit {
			break
		}
	}
	d = min(d, limit)
	return d/2 + rand.N(d/2+1)
}

package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrPoolClosed is what a Pool answers after Close. It matches net.ErrClosed.
	ErrPoolClosed error = fmt.Errorf("server: pool: %w", net.ErrClosed)

	// ErrPoolFull is what a Pool answers when MaxWaiting wait already.
	ErrPoolFull = errors.New("server: pool: too many wait for a connection to this address")

	// ErrBackOff is what a Pool answers while it leaves an address alone that has
	// failed. The error also matches that of the last dial.
	ErrBackOff = errors.New("server: pool: the address has failed a moment ago")
)

// A Pool keeps connections to others that nobody uses, and gives the one used last to
// whoever next wants one to the same address. The zero value is useful. The fields must
// not change once it is used, and it must not be copied. Its methods may be called from
// any goroutine and handler, but where they say otherwise.
//
// An idle connection is watched: one whose peer has closed it, or has sent anything, is
// closed at once, and whether it has is asked once more when it is given out. So a
// connection that is given out was open at that moment; that it stays so until a request
// has been answered, nobody can promise.
//
// Who has a connection gives it back by Put, or ends it. Then its handle must not be
// used any more: it still means the connection, which is somebody else's. A Lease ends with
// the use: a call that may be canceled late ends itself by that.
type Pool struct {
	// Dialer makes the connections. Its Near does not count.
	Dialer Dialer

	// MaxIdle is how many idle connections are kept for each address, and
	// MaxIdleTotal for all together: of more, the one that has not been used for
	// longest is closed. 0: 16, and no limit. Negative: none are kept.
	MaxIdle, MaxIdleTotal int

	// MaxConns is how many connections there may be to one address, idle, in use
	// and being dialled. Those who want more wait, first come first served. 0: no
	// limit.
	MaxConns int

	// MaxWaiting is how many may wait for one address beside those for whom it is
	// being dialled. 0: 1024.
	MaxWaiting int

	// IdleTimeout is after how long an idle connection is closed. 0: 90 s. Negative:
	// never.
	IdleTimeout time.Duration

	// MaxLifetime is after how long a connection is not given out any more. 0: never.
	MaxLifetime time.Duration

	// Check, if not nil, is called with an idle connection before it is given out,
	// on a worker. It must neither block nor write. After an error the
	// connection is closed, and another one given out.
	Check func(*Conn) error

	// BackOff is how long an address is left alone after a dial has failed: twice as
	// long after each more in a row, up to MaxBackOff, and then each time a random
	// part between a half and all of that. Meanwhile those for whom there is no
	// connection get ErrBackOff. After it, one dial at a time is tried until one
	// succeeds. 0: 100 ms, and 30 s. Negative: not at all.
	BackOff, MaxBackOff time.Duration

	mu      sync.Mutex
	hosts   map[target]*poolHost
	purgeAt int                // how many hosts make it worth looking for useless ones
	open    map[Handle]*pooled // established, unless retired
	idle    list.List[*pooled] // all of them, the one that has not been used for longest first
	total   int                // sum of the hosts' conns
	counts  PoolCounts
	clock   func() time.Duration // the runtime's; nil: nobody has asked for anything yet
	closed  bool
	drained chan struct{} // closed when the pool is, and total 0; nil: nobody has asked
}

const (
	defaultMaxIdle     = 16
	defaultMaxWaiting  = 1024
	defaultIdleTimeout = 90 * time.Second
	defaultBackOff     = 100 * time.Millisecond
	defaultMaxBackOff  = 30 * time.Second
)

// or is v, and the default for 0; negative: none.
func or[T int | time.Duration](v, byDefault, none T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return none
	}
	return v
}

// Start asks for a connection, and returns at once: it may be called from a handler. When
// there is one, h has it and h.OnOpen is called, as for a new one; if there will be none,
// h.OnClose alone, with the error. cancel gives the place in the queue back: then h is
// told nothing, but that of a connection that it has been given already, which is reset,
// unless it has been given back. With an
// error h is not called. There is no TryGet, since whether an idle connection is still open
// is asked on its worker.
func (p *Pool) Start(network, addr string, h Handler) (cancel func(), err error) {
	f := p.GetFuture(network, addr, h)
	g, err := p.Dialer.group()
	if err != nil {
		return nil, err
	}
	f.refuse = func(err error) {
		_, _ = g.DialWith(&conn.DialConfig{Target: f.to, Find: func(found func([]net.Addr, error)) func() {
			found(nil, err)
			return nil
		}}, h)
	}
	if err := p.ask(f); err != nil {
		return nil, err
	}
	return f.Cancel, nil
}

// Get gives h a connection, and awaits that, in a stackful task. When it returns a
// handle, h.OnOpen has been called. With an error h is not called; but if the task is
// aborted when h has just been given a connection, that is reset.
func (p *Pool) Get(cx *sched.Context, network, addr string, h Handler) (Handle, error) {
	return sched.Await(cx, p.GetFuture(network, addr, h))
}

// GetContext is Get for ordinary goroutines, until ctx ends.
func (p *Pool) GetContext(ctx context.Context, network, addr string, h Handler) (Handle, error) {
	g, err := p.Dialer.group()
	if err != nil {
		return Handle{}, err
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	handle, err := sched.Block(ctx, g.Runtime(), p.GetFuture(network, addr, h))
	return handle, p.Dialer.ended(network, addr, err)
}

// GetFuture is Get as a future, for one connection. Its place in the queue is from its
// first poll.
func (p *Pool) GetFuture(network, addr string, h Handler) *GetFuture {
	f := &GetFuture{pool: p, to: target{network, addr}, handler: h}
	f.node.Value = f
	return f
}

// Put gives back a connection that the pool has given out. It is for the connection's
// handler, while a method of that runs, which then is told of nothing any more; others
// say handle.Do(pool.Put). What was written is still sent. A connection with bytes that
// are unread, or that is not open in both directions, is closed. Put panics if the pool
// has not given the connection out.
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
	if c.Buffered() == 0 && c.Unsent() <= poolUnsent && !(limited && left <= 0) && c.HandOver(pc) == nil {
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

// poolUnsent is what may be unsent of a connection that is kept, in bytes.
const poolUnsent = 64 << 10

// jittered is how long to leave an address alone that has failed so often.
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

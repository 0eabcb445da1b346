package server

import (
	"errors"
	"slices"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/saturate"
)

// A pooled is a connection of a pool. It is the connection's handler while no user has the
// connection.
type pooled struct {
	pool *Pool
	host *poolHost
	node list.Node[*pooled] // in the list of all idle connections
	born time.Duration      // when it was established; only the connection's task uses it

	state   poolState // the pool's mu guards this field and those below
	handle  Handle    // zero: not known yet
	wanted  *getFuture
	user    *getFuture // the request of its present user
	givenUp bool       // a dial that no request waits for
}

// A poolState is the state of a pooled connection. From each state it may end: retired.
//
//	dialing ─► inUse ─► returning ─► idle ─► leaving ─► inUse
//	   └─► idle                         ▲────────┘ its request was canceled
type poolState uint8

const (
	dialing   poolState = iota
	idle                // any holder of mu may take it
	leaving             // its task will give it to wanted
	inUse               // its user gives it back or ends it
	returning           // its task runs Put
	retired             // the pool has forgotten it
)

var _ conn.Handler = (*pooled)(nil)

// dial starts connecting.
func (p *Pool) dial(pc *pooled) {
	d := p.Dialer
	d.Near = nil
	handle, err := d.Start(pc.host.to.network, pc.host.to.addr, pc)
	if err != nil {
		pc.failed(err)
		return
	}
	p.mu.Lock()
	givenUp := pc.givenUp
	if pc.state == dialing {
		pc.handle = handle
	}
	p.mu.Unlock()
	if givenUp {
		_ = handle.Abort() // it may have ended
	}
}

// failed is called when a dial ends without a connection.
func (pc *pooled) failed(err error) {
	p, h := pc.pool, pc.host
	var do todo
	p.mu.Lock()
	if pc.state == dialing {
		p.counts.DialErrors++
		h.dialing = slices.DeleteFunc(h.dialing, func(o *pooled) bool { return o == pc })
		if p.BackOff >= 0 {
			h.failures++
			h.until, h.err = saturate.Add(p.now(), p.jittered(h.failures)), err
		}
		if h.waiting.Len() > 0 {
			p.answer(h.pop(), err, &do)
		}
		p.retire(pc, &do)
	}
	p.mu.Unlock()
	do.run(p)
}

// OnOpen is called when the connection has been dialed, and by Put.
func (pc *pooled) OnOpen(c *Conn) error {
	p, h := pc.pool, pc.host
	var do todo
	p.mu.Lock()
	switch pc.state {
	case returning:
		p.mu.Unlock()
		return nil
	case dialing:
	default: // canceled
		p.mu.Unlock()
		c.Abort()
		return nil
	}
	pc.born = p.now()
	pc.handle = c.Handle()
	p.open[pc.handle] = pc
	h.dialing = slices.DeleteFunc(h.dialing, func(o *pooled) bool { return o == pc })
	h.failures, h.until, h.err = 0, 0, nil
	c.NotifyClose(pc.ended)
	if h.waiting.Len() > 0 {
		f := h.pop()
		pc.state, pc.user, f.state, f.handle = inUse, f, granted, pc.handle
		p.serve(h, &do) // the address works again: more may be dialed
		p.mu.Unlock()
		do.run(p)
		pc.hand(c, f)
		return nil
	}
	pc.state = returning
	p.counts.Unused++
	p.mu.Unlock()
	pc.park(c)
	return nil
}

// give gives an idle connection to the request in wanted. It is a command to the connection's task.
func (pc *pooled) give(c *Conn) {
	p := pc.pool
	left, limited := pc.lifetime()
	good := c.Fresh() && !(limited && left <= 0) && (p.Check == nil || p.Check(c) == nil)
	var do todo
	p.mu.Lock()
	if pc.state != leaving {
		p.mu.Unlock()
		return
	}
	if pc.wanted == nil && pc.host.waiting.Len() > 0 {
		pc.wanted = pc.host.pop()
	}
	f := pc.wanted
	switch {
	case !good:
		p.counts.Stale++
		p.retire(pc, &do)
	case f == nil:
		pc.state = returning
	default:
		p.counts.Reused++
		pc.wanted = nil
		pc.state, pc.user, f.state, f.handle = inUse, f, granted, pc.handle
	}
	p.mu.Unlock()
	switch {
	case !good:
		c.Abort()
	case f == nil:
		pc.park(c)
	default:
		pc.hand(c, f)
	}
	do.run(p)
}

// hand gives the connection to a handler, and answers the request.
func (pc *pooled) hand(c *Conn, f *getFuture) {
	defer f.done() // also if OnOpen panics: then OnClose of the handler is called
	if err := c.PassTo(f.handler); err != nil {
		_ = c.SetHandler(f.handler) // cannot fail: the connection was just checked
		c.Abort()
	}
}

// park makes a connection idle for which no request waits. Its state is returning.
func (pc *pooled) park(c *Conn) {
	p := pc.pool
	pc.watch(c)
	var do todo
	p.mu.Lock()
	if pc.state == returning {
		if p.closed {
			p.retire(pc, &do)
			do.end = append(do.end, pc.handle)
		} else {
			pc.state = idle
			pc.host.idle = append(pc.host.idle, pc)
			p.idle.PushBack(&pc.node)
			p.serve(pc.host, &do)
			p.evict(pc.host, &do)
		}
	}
	p.mu.Unlock()
	do.run(p)
}

// watch sets the deadline for IdleTimeout and MaxLifetime, at which OnDeadline is called.
func (pc *pooled) watch(c *Conn) {
	left, limited := pc.lifetime()
	if d := or(pc.pool.IdleTimeout, defaultIdleTimeout, 0); d > 0 && (!limited || d < left) {
		left, limited = d, true
	}
	if limited {
		_ = c.SetReadDeadline(c.Now().Add(left)) // it is open
	}
}

// lifetime returns the rest of MaxLifetime.
func (pc *pooled) lifetime() (left time.Duration, limited bool) {
	p := pc.pool
	return p.MaxLifetime - (p.now() - pc.born), p.MaxLifetime > 0
}

// spoiled closes an idle connection that the peer or a time limit ended.
func (pc *pooled) spoiled(count *uint64) {
	p := pc.pool
	var do todo
	p.mu.Lock()
	if pc.state == idle || pc.state == leaving || pc.state == returning {
		*count++
		p.retire(pc, &do)
	}
	p.mu.Unlock()
	do.run(p)
}

// OnData closes the connection: no request is in progress, so no user could interpret the bytes.
func (pc *pooled) OnData(c *Conn) error {
	pc.spoiled(&pc.pool.counts.Stale)
	c.Abort()
	return nil
}

// OnEOF closes the connection: the peer has closed it.
func (pc *pooled) OnEOF(c *Conn) error {
	pc.spoiled(&pc.pool.counts.Stale)
	return c.Close()
}

// OnDeadline closes the connection, because IdleTimeout or MaxLifetime has passed. A connection
// that is about to be given out is checked then instead.
func (pc *pooled) OnDeadline(*Conn) error {
	p := pc.pool
	var do todo
	p.mu.Lock()
	if pc.state == idle {
		p.counts.Expired++
		p.retire(pc, &do)
	}
	p.mu.Unlock()
	do.run(p)
	return nil
}

// OnWritable does nothing.
func (pc *pooled) OnWritable(*Conn) error { return nil }

// OnDrain closes it.
func (pc *pooled) OnDrain(c *Conn) {
	pc.spoiled(&pc.pool.counts.Evicted)
	_ = c.Close()
}

// OnClose is called at the end of a dial or of an idle connection, which also calls ended.
func (pc *pooled) OnClose(_ *Conn, err error) {
	if err == nil {
		err = errors.New("server: pool: closed while it was being dialed")
	}
	pc.failed(err)
}

// Abandoned is called by package conn if the workers stop while the pool has the connection.
func (pc *pooled) Abandoned(err error) {
	pc.failed(err)
	pc.ended() // it was established
}

// ended is called when the connection has ended, in whatever state it was.
func (pc *pooled) ended() {
	p := pc.pool
	var do todo
	p.mu.Lock()
	p.retire(pc, &do)
	p.mu.Unlock()
	do.run(p)
}

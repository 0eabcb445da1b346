package server

import (
	"errors"
	"slices"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/saturate"
)

// A pooled is a connection of a pool, and its handler while nobody has it.
type pooled struct {
	pool *Pool
	host *poolHost
	node list.Node[*pooled] // among all idle ones
	born time.Duration      // when it was established; the connection's task's

	state   poolState // the pool's mu guards it, as what follows
	handle  Handle    // zero: not known yet
	wanted  *GetFuture
	user    *GetFuture // by which whoever has it got it
	givenUp bool       // a dial that nobody wants
}

// A poolState is what a pooled connection is doing. Its end, from wherever, is retired.
//
//	dialling ─► inUse ─► returning ─► idle ─► leaving ─► inUse
//	   └─► idle                         ▲────────┘ whom it was for has gone
type poolState uint8

const (
	dialling  poolState = iota
	idle                // it may be taken by whoever has mu
	leaving             // its task is to give it to wanted
	inUse               // whoever has it gives it back or ends it
	returning           // its task is in Put
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
	if pc.state == dialling {
		pc.handle = handle
	}
	p.mu.Unlock()
	if givenUp {
		_ = handle.Abort() // it may have ended
	}
}

// failed is the end of a dial without a connection.
func (pc *pooled) failed(err error) {
	p, h := pc.pool, pc.host
	var do todo
	p.mu.Lock()
	if pc.state == dialling {
		p.counts.DialErrors++
		h.dialling = slices.DeleteFunc(h.dialling, func(o *pooled) bool { return o == pc })
		if p.BackOff >= 0 {
			h.failures++
			h.until, h.err = saturate.Add(p.now(), p.jittered(h.failures)), err
		}
		if h.waiting.Len() > 0 {
			p.answer(h.pop(), Handle{}, err, &do)
		}
		p.retire(pc, &do)
	}
	p.mu.Unlock()
	do.run(p)
}

// OnOpen is called when it has been dialled, and by Put.
func (pc *pooled) OnOpen(c *Conn) error {
	p, h := pc.pool, pc.host
	var do todo
	p.mu.Lock()
	switch pc.state {
	case returning:
		p.mu.Unlock()
		return nil
	case dialling:
	default: // given up
		p.mu.Unlock()
		c.Abort()
		return nil
	}
	pc.born = p.now()
	pc.handle = c.Handle()
	p.open[pc.handle] = pc
	h.dialling = slices.DeleteFunc(h.dialling, func(o *pooled) bool { return o == pc })
	h.failures, h.until, h.err = 0, 0, nil
	c.NotifyClose(pc.ended)
	if h.waiting.Len() > 0 {
		f := h.pop()
		pc.state, pc.user, f.state, f.handle = inUse, f, granted, pc.handle
		p.serve(h, &do) // the address is well again: more may be dialled
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

// give gives an idle connection to whom it is for. It is a command to its task.
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

// hand makes the connection that of a handler, and tells who waits for that.
func (pc *pooled) hand(c *Conn, f *GetFuture) {
	defer f.done() // also if OnOpen panics: then the handler is told of the end
	if err := c.HandOver(f.handler); err != nil {
		_ = c.SetHandler(f.handler) // cannot be: it has just been looked at
		c.Abort()
	}
}

// park makes a connection idle that nobody wants. Its state is returning.
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

// watch has OnDeadline called when the connection has been idle, or there, for too long.
func (pc *pooled) watch(c *Conn) {
	left, limited := pc.lifetime()
	if d := or(pc.pool.IdleTimeout, defaultIdleTimeout, 0); d > 0 && (!limited || d < left) {
		left, limited = d, true
	}
	if limited {
		_ = c.SetReadDeadline(c.Now().Add(left)) // it is open
	}
}

// lifetime is what is left of MaxLifetime.
func (pc *pooled) lifetime() (left time.Duration, limited bool) {
	p := pc.pool
	return p.MaxLifetime - (p.now() - pc.born), p.MaxLifetime > 0
}

// spoiled is for an idle connection of which the peer, or time, makes an end.
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

// OnData: a peer that speaks unasked means something that nobody would understand.
func (pc *pooled) OnData(c *Conn) error {
	pc.spoiled(&pc.pool.counts.Stale)
	c.Abort()
	return nil
}

// OnEOF: the peer has closed it.
func (pc *pooled) OnEOF(c *Conn) error {
	pc.spoiled(&pc.pool.counts.Stale)
	return c.Close()
}

// OnDeadline: it has been idle, or there, for too long. One that is about to be given
// out is looked at then.
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

// OnClose is the end of a dial, or of an idle connection, of which ended is told as well.
func (pc *pooled) OnClose(_ *Conn, err error) {
	if err == nil {
		err = errors.New("server: pool: closed while it was being dialled")
	}
	pc.failed(err)
}

// ended is called when the connection has ended, whoever had it.
func (pc *pooled) ended() {
	p := pc.pool
	var do todo
	p.mu.Lock()
	p.retire(pc, &do)
	p.mu.Unlock()
	do.run(p)
}

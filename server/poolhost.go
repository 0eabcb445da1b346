package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/suiro-go/suiro/internal/list"
)

// A poolHost is the state of one address. The pool's mu guards it.
//
// Requests for a connection are in a queue. A connection that becomes free, given back or newly
// dialed, goes to the first of them. A dial starts only if fewer dials are in progress than
// requests are in the queue. The queue may get shorter afterwards. If a dial fails, its error goes
// to the first request, since the others may still get a connection. So no request waits in vain. A
// dial is in progress for it, or a back-off will end, or a connection in use will come back or end.
// The last is enough only if there may be no more connections. Every event that may change this
// calls serve.
type poolHost struct {
	to      target
	idle    []*pooled // the most recently used one is the last
	dialing []*pooled
	conns   int // connections in all states before retired
	waiting list.List[*getFuture]

	failures int           // failed dials in a row
	until    time.Duration // end of the back-off
	timed    bool          // serve is called then
	err      error         // of the last failed dial
}

// A todo is a list of actions for the time after mu is unlocked.
type todo struct {
	give   []*pooled
	dial   []*pooled
	end    []Handle // idle connections to be closed
	abort  []Handle // dials to be canceled
	answer []*getFuture
}

func (do *todo) run(p *Pool) {
	for _, h := range do.end {
		_ = h.Close() // it may have ended
	}
	for _, h := range do.abort {
		_ = h.Abort() // it may have ended
	}
	for _, f := range do.answer {
		f.tell()
	}
	for _, pc := range do.give {
		_ = pc.handle.Do(pc.give) // if it has ended, ended was called
	}
	for _, pc := range do.dial {
		p.dial(pc)
	}
}

// host returns the state of an address.
func (p *Pool) host(to target, now time.Duration) *poolHost {
	if h := p.hosts[to]; h != nil {
		return h
	}
	if p.hosts == nil {
		p.hosts, p.open = map[target]*poolHost{}, map[Handle]*pooled{}
	}
	if len(p.hosts) >= max(64, p.purgeAt) {
		for to, h := range p.hosts {
			if h.useless() && now >= h.until {
				delete(p.hosts, to)
			}
		}
		p.purgeAt = 2 * len(p.hosts)
	}
	h := &poolHost{to: to}
	p.hosts[to] = h
	return h
}

func (h *poolHost) useless() bool { return h.conns == 0 && h.waiting.Len() == 0 }

// serve assigns free connections to the queue and starts dials, as far as possible. mu is held.
func (p *Pool) serve(h *poolHost, do *todo) {
	for p.closed && h.waiting.Len() > 0 {
		p.answer(h.pop(), ErrPoolClosed, do)
	}
	for h.waiting.Len() > 0 && len(h.idle) > 0 {
		pc := h.idle[len(h.idle)-1]
		p.takeOut(pc)
		pc.state, pc.wanted = leaving, h.pop()
		do.give = append(do.give, pc)
	}
	if h.waiting.Len() == 0 {
		if h.useless() && h.failures == 0 && p.hosts[h.to] == h {
			delete(p.hosts, h.to)
		}
		return
	}
	if left := h.until - p.now(); left > 0 {
		if h.conns == 0 { // no connection will become free
			err := fmt.Errorf("%w, and is not dialed for %v: %w", ErrBackOff, left.Round(time.Millisecond), h.err)
			for h.waiting.Len() > 0 {
				p.answer(h.pop(), err, do)
			}
		} else if !h.timed {
			h.timed = true
			p.rt.AfterFunc(left, func() { p.backedOff(h) })
		}
		return
	}
	for len(h.dialing) < h.waiting.Len() && (p.MaxConns <= 0 || h.conns < p.MaxConns) && (h.failures == 0 || len(h.dialing) == 0) {
		pc := &pooled{pool: p, host: h}
		pc.node.Value = pc
		h.dialing = append(h.dialing, pc)
		h.conns++
		p.total++
		p.counts.Dials++
		do.dial = append(do.dial, pc)
	}
}

// backedOff is called at the end of a back-off in which requests wait for a connection in use.
func (p *Pool) backedOff(h *poolHost) {
	var do todo
	p.mu.Lock()
	h.timed = false
	p.serve(h, &do)
	p.mu.Unlock()
	do.run(p)
}

func (h *poolHost) pop() *getFuture {
	n := h.waiting.Front()
	h.waiting.Remove(n)
	return n.Value
}

// answer ends a request with an error. mu is held.
func (p *Pool) answer(f *getFuture, err error, do *todo) {
	f.state, f.err = answered, err
	do.answer = append(do.answer, f)
}

// trim cancels dials for which no request is left in the queue. mu is held.
func (p *Pool) trim(h *poolHost, do *todo) {
	for len(h.dialing) > h.waiting.Len() {
		last := len(h.dialing) - 1
		pc := h.dialing[last]
		h.dialing = h.dialing[:last]
		pc.givenUp = true
		p.retire(pc, do)
		if pc.handle != (Handle{}) {
			do.abort = append(do.abort, pc.handle)
		}
	}
}

// evict closes idle connections above the limits. mu is held.
func (p *Pool) evict(h *poolHost, do *todo) {
	for len(h.idle) > or(p.MaxIdle, defaultMaxIdle, 0) {
		p.counts.Evicted++
		p.retire(h.idle[0], do)
	}
	for p.MaxIdleTotal != 0 && p.idle.Len() > max(0, p.MaxIdleTotal) {
		p.counts.Evicted++
		p.retire(p.idle.Front().Value, do)
	}
}

// takeOut removes a connection from the idle ones. mu is held.
func (p *Pool) takeOut(pc *pooled) {
	p.idle.Remove(&pc.node)
	h := pc.host
	if i := slices.Index(h.idle, pc); i >= 0 {
		h.idle = slices.Delete(h.idle, i, i+1)
	}
}

// retire removes a connection from the pool. Its place becomes free. A request to which it was
// assigned goes to the front of the queue again. An idle connection will be closed. mu is held.
func (p *Pool) retire(pc *pooled, do *todo) {
	if pc.state == retired {
		return
	}
	h := pc.host
	if pc.state == idle {
		p.takeOut(pc)
		do.end = append(do.end, pc.handle)
	}
	if f := pc.wanted; f != nil {
		pc.wanted = nil
		f.queueAgain()
	}
	pc.state = retired
	delete(p.open, pc.handle)
	h.conns--
	p.total--
	p.serve(h, do)
	p.checkDrained()
}

func (p *Pool) checkDrained() {
	if p.closed && p.total == 0 && p.drained != nil {
		close(p.drained)
		p.drained = nil
	}
}

package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/suiro-go/suiro/internal/list"
)

// A poolHost is what a pool knows of one address. The pool's mu guards it.
//
// Those who want a connection are in a queue. A connection that becomes free, whether it
// was given back or has been dialled, is for the first of them. There are never more
// dials under way than there are in the queue, except that the queue may get shorter
// meanwhile; and a dial that fails is bad news for the first, since the others may still
// get theirs. So nobody stands in the queue for nothing: for each there is a dial, or
// connections in use that will come back or end; what may change that calls serve.
type poolHost struct {
	to       target
	idle     []*pooled // the one used last is the last
	dialling []*pooled
	conns    int // connections, in whatever state before retired
	waiting  list.List[*GetFuture]

	failures int           // dials that have failed in a row
	until    time.Duration // until when to leave the address alone
	err      error         // of the last
}

// A todo is what is to be done when mu is free again.
type todo struct {
	give   []*pooled
	dial   []*pooled
	end    []Handle // idle ones to be closed
	abort  []Handle // dials to be given up
	answer []*GetFuture
}

func (do *todo) run(p *Pool) {
	for _, h := range do.end {
		_ = h.Close() // it may have ended
	}
	for _, h := range do.abort {
		_ = h.Abort() // the same
	}
	for _, f := range do.answer {
		f.tell()
	}
	for _, pc := range do.give {
		_ = pc.handle.Do(pc.give) // if it has ended, that is told to ended
	}
	for _, pc := range do.dial {
		p.dial(pc)
	}
}

// host is what is known of an address.
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

// serve has everything done that can be for those in the queue. mu is held.
func (p *Pool) serve(h *poolHost, do *todo) {
	for p.closed && h.waiting.Len() > 0 {
		p.answer(h.pop(), Handle{}, ErrPoolClosed, do)
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
		if h.conns == 0 { // nothing will come
			err := fmt.Errorf("%w, and is not dialled for %v: %w", ErrBackOff, left.Round(time.Millisecond), h.err)
			for h.waiting.Len() > 0 {
				p.answer(h.pop(), Handle{}, err, do)
			}
		}
		return
	}
	for len(h.dialling) < h.waiting.Len() && (p.MaxConns <= 0 || h.conns < p.MaxConns) && (h.failures == 0 || len(h.dialling) == 0) {
		pc := &pooled{pool: p, host: h}
		pc.node.Value = pc
		h.dialling = append(h.dialling, pc)
		h.conns++
		p.total++
		p.counts.Dials++
		do.dial = append(do.dial, pc)
	}
}

func (h *poolHost) pop() *GetFuture {
	n := h.waiting.Front()
	h.waiting.Remove(n)
	return n.Value
}

// answer has a request end. mu is held.
func (p *Pool) answer(f *GetFuture, handle Handle, err error, do *todo) {
	f.state, f.handle, f.err = answered, handle, err
	do.answer = append(do.answer, f)
}

// trim gives up dials that nobody in the queue is left for. mu is held.
func (p *Pool) trim(h *poolHost, do *todo) {
	for len(h.dialling) > h.waiting.Len() {
		last := len(h.dialling) - 1
		pc := h.dialling[last]
		h.dialling = h.dialling[:last]
		pc.givenUp = true
		p.retire(pc, do)
		if pc.handle != (Handle{}) {
			do.abort = append(do.abort, pc.handle)
		}
	}
}

// evict closes idle connections that are too many. mu is held.
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

// takeOut takes a connection out of the idle ones. mu is held.
func (p *Pool) takeOut(pc *pooled) {
	p.idle.Remove(&pc.node)
	h := pc.host
	if i := slices.Index(h.idle, pc); i >= 0 {
		h.idle = slices.Delete(h.idle, i, i+1)
	}
}

// retire is the end of a connection as far as the pool is concerned: its place is
// free, and who was to have it is the first in the queue again. An idle one is to be
// closed. mu is held.
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

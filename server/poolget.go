package server

import (
	"time"

	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// A GetFuture is a connection that a Pool is asked for.
type GetFuture struct {
	pool    *Pool
	to      target
	handler Handler
	refuse  func(error) // of Start: tells the handler; nil: somebody polls

	node   list.Node[*GetFuture] // in the host's queue; the pool's mu guards it, as what follows
	state  getState
	handle Handle
	err    error
	waker  sched.Waker
}

// A getState is how far a request has come.
type getState uint8

const (
	asking    getState = iota // not in the queue yet
	queued                    // in the queue, or promised a connection that may still prove bad
	granted                   // the handler has a connection, and its OnOpen is called
	answered                  // and was, or there is an error
	cancelled                 // nobody wants to know
)

var (
	_ sched.Future[Handle] = (*GetFuture)(nil)
	_ sched.Canceler       = (*GetFuture)(nil)
)

// Poll is the handle, once OnOpen has been called, or the error.
func (f *GetFuture) Poll(cx *sched.Context) (Handle, error) {
	p := f.pool
	p.mu.Lock()
	if f.state == asking {
		f.waker = cx.Waker()
		p.mu.Unlock()
		if err := p.ask(f); err != nil {
			return Handle{}, err
		}
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	switch {
	case f.state != answered:
		f.waker = cx.Waker()
		return Handle{}, sched.ErrPending
	case f.err != nil:
		return Handle{}, f.err
	}
	return f.handle, nil
}

// Cancel gives the place in the queue back. A connection that the handler has been given
// is reset, unless it has given that back.
func (f *GetFuture) Cancel() {
	p := f.pool
	var do todo
	p.mu.Lock()
	was := f.state
	f.state = cancelled
	f.waker = sched.Waker{}
	if was == queued {
		h := p.hosts[f.to]
		if h.waiting.Remove(&f.node) {
			p.trim(h, &do)
			p.serve(h, &do) // it may be of no use any more
		} else {
			for _, pc := range p.open { // rare, so a search will do
				if pc.wanted == f {
					pc.wanted = nil // give finds somebody else
				}
			}
		}
	}
	use := Lease{f, f.handle}
	p.mu.Unlock()
	do.run(p)
	if was == granted || was == answered {
		_ = use.Abort() // it may have ended, or been given back
	}
}

// ask puts a request into the queue.
func (p *Pool) ask(f *GetFuture) error {
	g, err := p.Dialer.group()
	if err != nil {
		return err
	}
	var do todo
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrPoolClosed
	}
	if p.clock == nil {
		p.clock = g.Runtime().Now
	}
	h := p.host(f.to, p.now())
	f.state = queued
	h.waiting.PushBack(&f.node)
	p.serve(h, &do)
	if f.node.Listed() && h.waiting.Len()-len(h.dialling) > or(p.MaxWaiting, defaultMaxWaiting, 0) {
		h.waiting.Remove(&f.node)
		f.state = asking
		p.mu.Unlock()
		do.run(p)
		return ErrPoolFull
	}
	p.mu.Unlock()
	do.run(p)
	return nil
}

// now is the runtime's time.
func (p *Pool) now() time.Duration { return p.clock() }

// queueAgain puts a request before the others: it was promised a connection that has
// proved bad. mu is held.
func (f *GetFuture) queueAgain() {
	w := &f.pool.hosts[f.to].waiting
	n := w.Len()
	w.PushBack(&f.node)
	for range n { // few wait while there are idle connections
		first := w.Front()
		w.Remove(first)
		w.PushBack(first)
	}
}

// done is called when OnOpen was.
func (f *GetFuture) done() {
	p := f.pool
	p.mu.Lock()
	if f.state == granted {
		f.state = answered
	}
	w := f.waker
	f.waker = sched.Waker{}
	p.mu.Unlock()
	w.Wake()
}

// tell passes an error on.
func (f *GetFuture) tell() {
	if f.refuse != nil {
		f.refuse(f.err)
		return
	}
	f.done()
}

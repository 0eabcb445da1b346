package server

import (
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// A getFuture is a request to a Pool for a connection.
type getFuture struct {
	pool    *Pool
	to      target
	handler Handler
	refuse  func(error) // calls the handler's OnClose, for Start; nil: a caller polls

	node   list.Node[*getFuture] // in the host's queue; the pool's mu guards this field and those below
	state  getState
	handle Handle
	err    error
	waker  sched.Waker
}

// A getState is the state of a request.
type getState uint8

const (
	asking   getState = iota // not in the queue yet
	queued                   // in the queue, or assigned a connection that may still prove closed
	granted                  // the handler has a connection, and its OnOpen is called
	answered                 // OnOpen has returned, or there is an error
	canceled                 // the caller has canceled
)

var (
	_ sched.Future[Handle] = (*getFuture)(nil)
	_ sched.Canceler       = (*getFuture)(nil)
	_ sched.Undoer         = (*getFuture)(nil)
)

// Poll returns the handle, once OnOpen has been called, or the error.
func (f *getFuture) Poll(cx *sched.Context) (Handle, error) {
	p := f.pool
	p.mu.Lock()
	if f.state == asking {
		f.waker = cx.Waker()
		p.mu.Unlock()
		if err := p.ask(f); err != nil {
			return Handle{}, f.failed(err)
		}
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	switch {
	case f.state != answered:
		f.waker = cx.Waker()
		return Handle{}, sched.ErrPending
	case f.err != nil:
		return Handle{}, f.failed(f.err)
	}
	return f.handle, nil
}

// failed gives an error of the request the form of a Dialer's error.
func (f *getFuture) failed(err error) error {
	return f.pool.Dialer.ended(f.to.network, f.to.addr, err)
}

// Cancel leaves the queue. If the handler has got a connection and not given it back, the
// connection is reset.
func (f *getFuture) Cancel() {
	p := f.pool
	var do todo
	p.mu.Lock()
	was := f.state
	f.state = canceled
	f.waker = sched.Waker{}
	if was == queued {
		h := p.hosts[f.to]
		if h.waiting.Remove(&f.node) {
			p.trim(h, &do)
			p.serve(h, &do) // a dial may be useless now
		} else {
			for _, pc := range p.open { // rare, so a search will do
				if pc.wanted == f {
					pc.wanted = nil // give looks for another request
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

// Undo implements sched.Undoer: nobody takes the handle.
func (f *getFuture) Undo() { f.Cancel() }

// ask puts a request into the queue.
func (p *Pool) ask(f *getFuture) error {
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
	if isClosed(g.Runtime().Done()) {
		p.mu.Unlock()
		return groupError(sched.ErrClosed)
	}
	if p.rt == nil {
		p.rt = g.Runtime()
	}
	h := p.host(f.to, p.now())
	f.state = queued
	h.waiting.PushBack(&f.node)
	p.serve(h, &do)
	if f.node.Listed() && h.waiting.Len()-len(h.dialing) > or(p.MaxWaiting, defaultMaxWaiting, 0) {
		h.waiting.Remove(&f.node)
		f.state = asking
		p.mu.Unlock()
		do.run(p)
		return ErrPoolFull
	}
	if h.waiting.Len() > len(h.dialing) {
		p.watch(g)
	}
	p.mu.Unlock()
	do.run(p)
	return nil
}

// watch answers all requests if the workers of g stop before Close: no connection in use comes back
// then. mu is held.
func (p *Pool) watch(g *conn.Group) {
	if p.watched == g {
		return
	}
	p.watched = g
	if p.shut == nil {
		p.shut = bubble.Chan[struct{}](0)
	}
	over := p.shut
	bubble.Go(func() {
		select {
		case <-g.Runtime().Done():
			p.abandon(g)
		case <-over:
		}
	})
}

// abandon answers all requests, because the workers of g have stopped.
func (p *Pool) abandon(g *conn.Group) {
	var do todo
	p.mu.Lock()
	for _, h := range p.hosts {
		for p.watched == g && h.waiting.Len() > 0 {
			p.answer(h.pop(), groupError(sched.ErrClosed), &do)
		}
	}
	p.mu.Unlock()
	do.run(p)
}

// now returns the runtime's time.
func (p *Pool) now() time.Duration { return p.rt.Now() }

// queueAgain puts a request at the front of the queue: the connection assigned to it has proved
// closed. mu is held.
func (f *getFuture) queueAgain() {
	w := &f.pool.hosts[f.to].waiting
	n := w.Len()
	w.PushBack(&f.node)
	for range n { // the queue is short while there are idle connections
		first := w.Front()
		w.Remove(first)
		w.PushBack(first)
	}
}

// done is called after OnOpen.
func (f *getFuture) done() {
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

// tell reports an error to the handler or to the waiting caller.
func (f *getFuture) tell() {
	if f.refuse != nil {
		f.refuse(f.err)
		return
	}
	f.done()
}

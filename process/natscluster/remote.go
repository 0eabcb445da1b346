package natscluster

import (
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A remote is what the System uses of the Cluster.
type remote struct{ c *Cluster }

var _ process.Remote = remote{}

// A call waits for an answer from another node.
type call struct {
	p       *peer
	t       *messageType
	request any
}

// Send implements process.Remote.
func (r remote) Send(to process.PID, message any) error {
	c := r.c
	p, _ := c.find(to.Node(), false)
	if p == nil {
		return ErrNodeLost
	}
	e := entry{kind: entrySend, target: to}
	t, body, err := c.encode(message, &e)
	if err != nil {
		return err
	}
	defer bodies.Put(body)
	if t.accept == nil {
		return p.add(&e, t.delivery == AtLeastOnce)
	}
	e.kind, e.id = entryRequest, c.lastID.Add(1)
	c.callsMu.Lock() // first: the answer may come at once
	c.calls[e.id] = &call{p, t, message}
	c.requests[message] = e.id
	c.callsMu.Unlock()
	if err = p.add(&e, true); err != nil {
		c.forget(message)
	}
	return err
}

// AwaitRoom implements process.Remote.
func (r remote) AwaitRoom(to process.PID, w sched.Waker) bool {
	p, _ := r.c.find(to.Node(), false)
	return p != nil && p.awaitRoom(w)
}

// Forget implements process.Remote.
func (r remote) Forget(request any) {
	if p, id := r.c.forget(request); p != nil {
		_ = p.add(&entry{kind: entryForget, id: id}, true) // a node that is lost has forgotten it
	}
}

// forget removes a call. p is nil if it has its answer.
func (c *Cluster) forget(request any) (p *peer, id uint64) {
	c.callsMu.Lock()
	defer c.callsMu.Unlock()
	id, ok := c.requests[request]
	if !ok {
		return nil, 0
	}
	p = c.calls[id].p
	delete(c.requests, request)
	delete(c.calls, id)
	return p, id
}

// Monitor implements process.Remote.
func (r remote) Monitor(pid process.PID, ended func(reason error)) (stop func()) {
	p, _ := r.c.find(pid.Node(), false)
	if p == nil {
		ended(ErrNodeLost)
		return func() {}
	}
	id := r.c.lastID.Add(1)
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		ended(ErrNodeLost)
		return func() {}
	}
	if p.monitors == nil {
		p.monitors = make(map[uint64]func(error))
	}
	p.monitors[id] = ended
	_ = p.addLocked(&entry{kind: entryMonitor, id: id, target: pid}, true) // it needs no room
	p.mu.Unlock()
	p.nudge()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, waits := p.monitors[id]; waits {
			delete(p.monitors, id)
			_ = p.addLocked(&entry{kind: entryDemonitor, id: id}, true)
			p.nudge()
		}
	}
}

// answered gives a call its answer. If the call was given up, the answer is released.
func (c *Cluster) answered(e *entry) {
	c.callsMu.Lock()
	waits := c.calls[e.id]
	if waits != nil {
		delete(c.calls, e.id)
		delete(c.requests, waits.request)
	}
	c.callsMu.Unlock()
	body, err := e.body, decodeError(e.body)
	if err == nil {
		body = body[1:]
	}
	if waits != nil {
		c.complete(waits, body, err)
	} else if t := c.cfg.Types.withHash(e.hash); err == nil && t != nil && t.release != nil {
		c.try("an answer that came late", func() { t.release(c.cfg.Codec, body) })
	}
}

// complete gives a call its answer.
func (c *Cluster) complete(waits *call, body []byte, err error) {
	c.try("an answer", func() { waits.t.complete(c.cfg.Codec, waits.request, body, err) })
}

// failCalls ends the calls that wait for a node.
func (c *Cluster) failCalls(p *peer, err error) {
	var all []*call
	c.callsMu.Lock()
	for id, waits := range c.calls {
		if waits.p == p {
			all = append(all, waits)
			delete(c.calls, id)
			delete(c.requests, waits.request)
		}
	}
	c.callsMu.Unlock()
	for _, waits := range all {
		apart(func() { c.complete(waits, nil, err) })
	}
}

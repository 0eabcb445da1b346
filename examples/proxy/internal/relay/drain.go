package relay

import (
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/packet"
)

// A drain is the end of a listening UDP socket: sessions whose client has got an answer to each
// datagram end at once, others once they have. Then the socket closes.
//
// No session is overlooked. The task of the listening socket stores on and then loads a session's
// pending. The task of the session's socket stores pending and then loads on.
type drain struct {
	on atomic.Bool // only the task of the listening socket sets it

	mu   sync.Mutex
	over []*packet.Session // have their answers; a call of endAnswered is on its way if there are any
}

// beginDrain begins the drain.
func (p *Packets) beginDrain(c *packet.Conn) {
	p.drain.on.Store(true)
	for s, e := range p.open {
		if e == nil || e.pending.Load() <= 0 {
			s.Close()
		}
	}
	p.closeDrained(c)
}

// closeDrained closes the listening socket if a drain has begun and no session is left.
func (p *Packets) closeDrained(c *packet.Conn) {
	if p.drain.on.Load() && len(p.open) == 0 {
		_ = c.Close() // it may be closed
	}
}

// answered notes that a session's socket has passed on answers to that many datagrams, or more. An
// answer may have several datagrams.
func (p *Packets) answered(h *answers, n int) {
	pending := &h.peer.pending
	was := pending.Load()
	for !pending.CompareAndSwap(was, max(0, was-int64(n))) {
		was = pending.Load()
	}
	if !p.drain.on.Load() || was > int64(n) {
		return
	}
	p.drain.mu.Lock()
	p.drain.over = append(p.drain.over, h.session)
	first := len(p.drain.over) == 1
	p.drain.mu.Unlock()
	if first {
		_ = h.to.Do(p.endAnswered) // behind the answers; with an error the socket has ended
	}
}

// endAnswered ends the sessions that have their answers.
func (p *Packets) endAnswered(*packet.Conn) {
	p.drain.mu.Lock()
	over := p.drain.over
	p.drain.over = nil
	p.drain.mu.Unlock()
	for _, s := range over {
		if e := p.open[s]; e != nil && e.pending.Load() <= 0 {
			s.Close()
		}
	}
}

package natscluster

import (
	"slices"

	"github.com/suiro-go/suiro/internal/wakers"
	"github.com/suiro-go/suiro/sched"
)

// An epochEnd has the frames, monitors, calls and waiters of an epoch that has ended.
type epochEnd struct {
	frames   []*frame
	monitors map[uint64]func(reason error)
	watched  map[uint64]func()
	serving  map[uint64]*served
	waiters  wakers.Set[sched.Waker]
	flushed  []flush
}

// reset begins an epoch, if it is a later one: all of the earlier one is reported as lost.
func (p *peer) reset(epoch uint64) {
	p.mu.Lock()
	if p.ended || epoch <= p.epoch {
		p.mu.Unlock()
		return
	}
	end := p.begins(epoch, false)
	p.mu.Unlock()
	p.c.announce(p)
	p.lost(end)
}

// begins begins an epoch. ended says that the node is lost. The lock is held. The caller gives the
// result to lost without the lock.
func (p *peer) begins(epoch uint64, ended bool) epochEnd {
	p.epoch, p.ended = epoch, ended
	end := epochEnd{slices.Concat(p.unreceived, p.queue), p.monitors, p.watched, p.serving, p.waiters, p.flushed}
	for _, l := range p.waiting { // they deliver all that they have, and no longer count
		l.detached = true
	}
	p.open, p.queue, p.unreceived, p.resend, p.probe, p.receipt = nil, nil, nil, false, false, false
	p.seq, p.sent, p.freed, p.retained, p.progress, p.resentAt = 0, 0, 0, 0, 0, 0
	p.waiters, p.flushed, p.monitors, p.interest = wakers.Set[sched.Waker]{}, nil, nil, nil
	p.received, p.processed, p.parked, p.told, p.toldSeq, p.missing = 0, 0, 0, 0, 0, false
	p.watched, p.serving, p.waiting = nil, nil, nil
	p.nudge() // run may have to end
	return end
}

// lost reports what an epoch had under way.
func (p *peer) lost(end epochEnd) {
	for _, stop := range end.watched {
		stop()
	}
	for _, s := range end.serving {
		s.end()
	}
	p.c.failCalls(p, ErrNodeLost)
	for _, ended := range end.monitors {
		ended(ErrNodeLost)
	}
	end.waiters.Each(sched.Waker.Wake)
	for _, f := range end.flushed {
		close(f.done)
	}
	p.reportLost(end.frames)
}

// reportLost gives the messages of numbered frames to Config.Process.Dropped.
func (p *peer) reportLost(frames []*frame) {
	if p.c.cfg.Process.Dropped == nil {
		return
	}
	for _, f := range frames {
		if f.head.kind != frameNumbered {
			continue
		}
		for b := f.b[frameHeader:]; len(b) > 0; {
			e, rest, ok := nextEntry(b)
			if !ok {
				break
			}
			b = rest
			if t := p.c.cfg.Types.withHash(e.hash); e.kind == entrySend && t != nil && t.delivery == AtLeastOnce {
				apart(func() {
					if m, ok := p.c.decode(t, e.body); ok {
						p.c.drop(e.target, m, ErrNodeLost)
					}
				})
			}
		}
	}
}

// awaitRoom registers a sender for one wake-up. false: there is room, or the node is lost.
func (p *peer) awaitRoom(w sched.Waker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.hasRoom() {
		return false
	}
	p.waiters.Add(w)
	return true
}

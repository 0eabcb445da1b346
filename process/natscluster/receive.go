package natscluster

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/suiro-go/suiro/process"
)

// receive handles a frame for this node. NATS calls it from one goroutine. It never waits: a
// message that finds a mailbox full is put into a line.
func (c *Cluster) receive(m *nats.Msg) {
	c.receiving.Lock()
	defer c.receiving.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	h, entries, ok := c.parse(m.Data, framePlain, frameReceipt)
	if !ok {
		return
	}
	p := c.heard(h.node)
	if p == nil {
		return
	}
	p.reset(h.epoch)
	switch h.kind {
	case framePlain, frameNumbered:
		if !p.arrived(&h) {
			return
		}
		p.handleAll(&h, entries)
	case frameProbe:
		p.probed(&h)
	case frameReceipt:
		p.confirmed(&h)
	}
}

// handleAll handles the entries of a frame. If the Codec exits the goroutine meanwhile, the rest is
// handled all the same.
func (p *peer) handleAll(h *header, entries []byte) {
	defer func() {
		if entries != nil {
			p.handleAll(h, entries)
		}
	}()
	for len(entries) > 0 {
		e, rest, ok := nextEntry(entries)
		if entries = rest; !ok {
			p.c.malformed(h.node)
			break
		}
		p.handle(&e, h.epoch)
	}
	entries = nil
	p.handled(h)
}

// arrived reports whether a frame's entries are to be handled.
func (p *peer) arrived(h *header) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	accept := h.epoch == p.epoch && !p.ended
	if accept && h.kind == frameNumbered {
		switch {
		case h.seq == p.received+1:
			p.received++
		case h.seq > p.received:
			p.missing, accept = true, false
		default:
			accept = false
		}
	}
	if !accept { // the receipt tells the epoch, that a frame is missing, or that this one had arrived
		p.receipt = true
		p.nudge()
	}
	return accept
}

// handled notes that a frame's entries have left the window, except for those in lines.
func (p *peer) handled(h *header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.epoch != p.epoch {
		return
	}
	p.processed = max(p.processed, h.position+uint64(h.cost))
	p.mayConfirm()
}

// mayConfirm sends a receipt if there is enough to confirm. The lock is held.
func (p *peer) mayConfirm() {
	if p.left() >= p.told+p.c.window/4 || p.received >= p.toldSeq+receiptEvery {
		p.receipt = true
		p.nudge()
	}
}

// left is the cost of the entries that have left the window. Entries may wait for room before their
// frame counts as processed.
func (p *peer) left() uint64 { return max(p.processed, p.parked) - p.parked }

// receiptEvery is the largest number of numbered frames without a receipt.
const receiptEvery = 64

// probed answers a probe. All frames before it have arrived or are lost.
func (p *peer) probed(h *header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.epoch == p.epoch {
		p.processed = max(p.processed, h.position)
		p.missing = h.seq > p.received
	}
	p.receipt = true
	p.nudge()
}

// handle handles one entry.
func (p *peer) handle(e *entry, epoch uint64) {
	c := p.c
	switch e.kind {
	case entrySend:
		t := c.cfg.Types.withHash(e.hash)
		if t == nil {
			c.unknownType(p.node, e.hash)
			return
		}
		m, ok := c.decode(t, e.body)
		if !ok {
			return
		}
		p.deliver(delivery{e.target, m, t.delivery == AtLeastOnce, uint64(e.cost())}, epoch)
	case entryRequest:
		p.serve(e, epoch)
	case entryPublish:
		p.published(e)
	case entryAnswer:
		c.answered(e)
	case entryForget:
		p.mu.Lock()
		s := p.serving[e.id]
		p.mu.Unlock()
		if s != nil {
			s.end()
		}
	case entryMonitor:
		p.watch(e.id, e.target, epoch)
	case entryDemonitor:
		p.mu.Lock()
		stop := p.watched[e.id]
		delete(p.watched, e.id)
		p.mu.Unlock()
		if stop != nil {
			stop()
		}
	case entryDown:
		p.mu.Lock()
		ended := p.monitors[e.id]
		delete(p.monitors, e.id)
		p.mu.Unlock()
		if ended != nil {
			ended(decodeError(e.body))
		}
	case entryJoined, entryEmpty:
		p.mu.Lock()
		if p.interest == nil {
			p.interest = make(map[string]bool)
		}
		if e.kind == entryJoined {
			p.interest[string(e.body)] = true
		} else {
			delete(p.interest, string(e.body))
		}
		p.mu.Unlock()
	default:
		c.malformed(p.node)
	}
}

// A delivery is a message for a process of this node.
type delivery struct {
	to      process.PID
	message any
	must    bool // wait for room whatever the Overflow is
	cost    uint64
}

// A line has the deliveries to one process whose mailbox was full, in their order.
type line struct {
	p        *peer
	to       process.PID
	all      []delivery // the peer's lock guards it
	detached bool       // of an earlier epoch: the costs no longer count
}

// deliver puts a message into a mailbox, or into the line before it.
func (p *peer) deliver(d delivery, epoch uint64) {
	p.mu.Lock()
	l := p.waiting[d.to]
	p.mu.Unlock()
	var err error
	if l == nil {
		if err = p.c.sys.TrySend(d.to, d.message); err != process.ErrMailboxFull {
			p.c.delivered(d, err)
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l = p.waiting[d.to]; l == nil {
		l = &line{p: p, to: d.to, detached: epoch != p.epoch}
		if !l.detached {
			if p.waiting == nil {
				p.waiting = make(map[process.PID]*line)
			}
			p.waiting[d.to] = l
		}
		p.c.running.Add(1)
		go l.run(p.c.ctx)
	}
	l.all = append(l.all, d)
	if !l.detached {
		p.parked += d.cost
	}
}

// run waits for room for each of the deliveries.
func (l *line) run(ctx context.Context) {
	p := l.p
	defer p.c.running.Done()
	for {
		p.mu.Lock()
		if len(l.all) == 0 {
			if !l.detached {
				delete(p.waiting, l.to) // of this epoch it is the only one
			}
			p.mu.Unlock()
			return
		}
		d := l.all[0]
		l.all = l.all[1:]
		p.mu.Unlock()
		send := p.c.sys.Send
		if d.must {
			send = p.c.sys.Deliver
		}
		p.c.delivered(d, send(ctx, d.to, d.message))
		p.mu.Lock()
		if !l.detached {
			p.parked -= d.cost
			p.mayConfirm()
		}
		p.mu.Unlock()
	}
}

// delivered reports a message that no mailbox has accepted.
func (c *Cluster) delivered(d delivery, err error) {
	if err == nil {
		return
	}
	if r, ok := d.message.(interface{ Fail(error) }); ok {
		r.Fail(err)
	}
	c.drop(d.to, d.message, err)
}

func (c *Cluster) unknownType(node uint64, hash uint32) {
	c.cfg.Logger.Warn("natscluster: a message has an unknown type", "node", node, "hash", hash)
}

// drop gives a message to Config.Process.Dropped.
func (c *Cluster) drop(to process.PID, message any, why error) {
	if c.cfg.Process.Dropped != nil {
		c.tryApart("Dropped", func() { c.cfg.Process.Dropped(to, message, why) })
	}
}

// watch monitors a process for the node.
func (p *peer) watch(id uint64, target process.PID, epoch uint64) {
	p.mu.Lock()
	if epoch != p.epoch || p.ended {
		p.mu.Unlock()
		return
	}
	if p.watched == nil {
		p.watched = make(map[uint64]func())
	}
	p.watched[id] = func() {} // until stop is known; gone if the process ends first
	p.mu.Unlock()
	down := func(reason error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if epoch != p.epoch || p.ended {
			return
		}
		delete(p.watched, id)
		_ = p.addLocked(&entry{kind: entryDown, id: id, body: encodeError(reason)}, true) // it needs no room
		p.nudge()
	}
	stop, ok := p.c.sys.OnEnd(target, down)
	if !ok {
		down(process.ErrNoProcess)
		return
	}
	p.mu.Lock()
	if _, waits := p.watched[id]; waits && epoch == p.epoch {
		p.watched[id], stop = stop, nil
	}
	p.mu.Unlock()
	if stop != nil {
		stop()
	}
}

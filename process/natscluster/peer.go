package natscluster

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/wakers"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A peer is another node, and the frames to and from it.
//
// Both nodes of a pair are in an epoch, which begins with no frames, calls and monitors. A node
// that loses the other one begins the next epoch. A node that hears of a later epoch begins that
// one. Frames of earlier epochs are dropped.
type peer struct {
	c       *Cluster
	node    uint64
	subject string
	seen    atomic.Int64  // when the node was last heard, by the cluster's clock
	wake    chan struct{} // there may be something to send
	heard   bool          // has sent something; the lock of the cluster's peers guards it

	mu    sync.Mutex
	epoch uint64
	ended bool // the node is lost

	// To the node.
	open       *frame                  // the last of queue, if entries may be added to it
	queue      []*frame                // to be sent
	unreceived []*frame                // numbered frames that were sent, and not yet confirmed
	resend     bool                    // send unreceived again, before queue
	probe      bool                    // send a probe after queue
	receipt    bool                    // send a receipt
	seq        uint64                  // of the last numbered frame
	sent       uint64                  // the cost of all entries
	freed      uint64                  // the part of sent that has left the window, as the node says
	retained   uint64                  // the cost of numbered frames in queue and unreceived
	progress   uint64                  // the sum of all confirmations, as of the last tick
	waiters    wakers.Set[sched.Waker] // senders that wait for room; those that give up do not say so
	flushed    []flush
	monitors   map[uint64]func(reason error)
	interest   map[string]bool // groups that have members there
	resentAt   time.Duration

	// From the node.
	received  uint64 // the last numbered frame
	processed uint64 // the highest position
	parked    uint64 // the cost of entries that wait for room in mailboxes
	told      uint64 // processed - parked of the last receipt
	toldSeq   uint64
	missing   bool // a frame is missing, which the next receipt says
	watched   map[uint64]func()
	serving   map[uint64]*served    // calls from the node, by id
	waiting   map[process.PID]*line // by target
}

// A frame that is sealed does not change.
type frame struct {
	b      []byte
	head   header
	copied bool // unreceived has a copy
}

// A flush waits until the numbered frames up to seq are confirmed.
type flush struct {
	seq  uint64
	done chan struct{} // closed then
}

const (
	frameRoom  = 32 << 10 // a frame that has reached it gets no more entries
	frameSpare = frameRoom + 4<<10

	// frameCharge is what a numbered frame counts for, besides its entries, until it is confirmed.
	frameCharge = 128
)

var framePool = sync.Pool{New: func() any { return &frame{b: make([]byte, frameHeader, frameSpare)} }}

func newPeer(c *Cluster, node, epoch uint64) *peer {
	p := &peer{c: c, node: node, subject: c.subject(node), epoch: epoch, wake: make(chan struct{}, 1)}
	p.seen.Store(int64(c.now()))
	return p
}

// nudge makes run look for work.
func (p *peer) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// add appends an entry to the frames. It never waits.
func (p *peer) add(e *entry, numbered bool) error {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return ErrNodeLost
	}
	if err := p.addLocked(e, numbered); err != nil {
		p.mu.Unlock()
		return err
	}
	p.mu.Unlock()
	p.nudge()
	return nil
}

func (p *peer) addLocked(e *entry, numbered bool) error {
	room := int(p.c.maxFrame.Load())
	if frameHeader+entryHeader+len(e.body) > room { // it would block all numbered frames after it
		return ErrTooLarge
	}
	cost := e.cost()
	if cost > 0 && !p.hasRoom() {
		return process.ErrMailboxFull
	}
	f := p.open
	if f == nil || numbered && f.head.kind == framePlain || len(f.b)+entryHeader+len(e.body) > room {
		f = p.begin(numbered)
	}
	f.b = e.append(f.b)
	f.head.cost += cost
	p.sent += uint64(cost)
	if f.head.kind == frameNumbered {
		p.retained += uint64(cost)
	}
	if len(f.b) >= frameRoom {
		p.open = nil
	}
	return nil
}

// hasRoom reports whether the window has room. The last message may exceed it.
func (p *peer) hasRoom() bool {
	return p.sent-p.freed < p.c.window && p.retained < p.c.window
}

// begin appends a new frame to the queue.
func (p *peer) begin(numbered bool) *frame {
	f := framePool.Get().(*frame)
	f.b, f.copied = f.b[:frameHeader], false
	kind := byte(framePlain)
	if numbered {
		kind = frameNumbered
		p.seq++
		p.retained += frameCharge
	}
	f.head = header{kind: kind, node: p.c.node, epoch: p.epoch, seq: p.seq, position: p.sent}
	p.queue = append(p.queue, f)
	p.open = f
	return f
}

// run sends frames until the node is lost. It is the only goroutine that sends to the node.
func (p *peer) run() {
	defer p.c.running.Done()
	var batch []*frame
	var control []byte
	for {
		select {
		case <-p.wake:
		case <-p.c.ctx.Done():
			return
		}
		if !p.c.awaitConnected() {
			return
		}
		for {
			var ended bool
			batch, control, ended = p.take(batch[:0], control[:0])
			if ended {
				return
			}
			if len(batch) == 0 && len(control) == 0 {
				break
			}
			for i, f := range batch {
				p.c.publish(p.subject, f.b)
				if (f.head.kind == framePlain || f.copied) && cap(f.b) <= 2*frameSpare {
					framePool.Put(f)
				}
				batch[i] = nil
			}
			for b := control; len(b) > 0; b = b[frameHeader:] {
				p.c.publish(p.subject, b[:frameHeader])
			}
		}
	}
}

// take takes all that is to be sent now.
func (p *peer) take(batch []*frame, control []byte) ([]*frame, []byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resend {
		p.resend = false
		batch = append(batch, p.unreceived...)
	}
	for i, f := range p.queue {
		f.head.put(f.b)
		if f.head.kind == frameNumbered {
			p.unreceived = append(p.unreceived, f.toKeep())
		}
		batch = append(batch, f)
		p.queue[i] = nil
	}
	p.queue, p.open = p.queue[:0], nil
	if p.probe {
		p.probe = false
		h := header{kind: frameProbe, node: p.c.node, epoch: p.epoch, seq: p.seq, position: p.sent}
		control = append(control, make([]byte, frameHeader)...)
		h.put(control[len(control)-frameHeader:])
	}
	if p.receipt {
		h := header{kind: frameReceipt, node: p.c.node, epoch: p.epoch, seq: p.received, position: p.left()}
		if p.missing {
			h.cost = 1
		}
		p.receipt, p.missing = false, false
		p.told, p.toldSeq = h.position, h.seq
		control = append(control, make([]byte, frameHeader)...)
		h.put(control[len(control)-frameHeader:])
	}
	return batch, control, p.ended
}

// toKeep is a frame to be kept until it is confirmed: f, or a copy if f has much more room than it
// uses.
func (f *frame) toKeep() *frame {
	if cap(f.b) <= 2*len(f.b) {
		return f
	}
	f.copied = true
	return &frame{b: append(make([]byte, 0, len(f.b)), f.b...), head: f.head}
}

// confirmed handles a receipt of the node.
func (p *peer) confirmed(h *header) {
	p.mu.Lock()
	if p.ended || h.epoch != p.epoch {
		p.mu.Unlock()
		return
	}
	n := 0
	for n < len(p.unreceived) && p.unreceived[n].head.seq <= h.seq {
		p.retained -= uint64(p.unreceived[n].head.cost) + frameCharge
		n++
	}
	if n > 0 {
		left := copy(p.unreceived, p.unreceived[n:])
		clear(p.unreceived[left:])
		p.unreceived = p.unreceived[:left]
	}
	p.freed = max(p.freed, min(h.position, p.sent))
	if h.cost != 0 && len(p.unreceived) > 0 && p.c.now()-p.resentAt > resendPause {
		p.resend, p.resentAt = true, p.c.now()
	}
	resend := p.resend
	var waiters wakers.Set[sched.Waker]
	if p.hasRoom() {
		waiters, p.waiters = p.waiters, waiters
	}
	var flushed []flush
	for first := p.unconfirmed(); len(p.flushed) > 0 && p.flushed[0].seq < first; p.flushed = p.flushed[1:] {
		flushed = append(flushed, p.flushed[0])
	}
	p.mu.Unlock()
	waiters.Each(sched.Waker.Wake)
	for _, f := range flushed {
		close(f.done)
	}
	if resend {
		p.nudge()
	}
}

// unconfirmed is the number of the first frame that the node has not confirmed.
func (p *peer) unconfirmed() uint64 {
	if len(p.unreceived) > 0 {
		return p.unreceived[0].head.seq
	}
	for _, f := range p.queue {
		if f.head.kind == frameNumbered {
			return f.head.seq
		}
	}
	return p.seq + 1
}

// tick asks for a receipt if the last tick has seen the same, and something is under way.
func (p *peer) tick() {
	p.mu.Lock()
	now := p.freed + p.seq - uint64(len(p.unreceived))
	stalled := now == p.progress && (p.freed != p.sent || len(p.unreceived) > 0)
	p.progress = now
	if stalled {
		p.probe = true
	}
	p.mu.Unlock()
	if stalled {
		p.nudge()
	}
}

const resendPause = 10 * time.Millisecond

//go:build linux || windows

package reactor

import (
	"sync"
	"sync/atomic"
	"time"
)

// A readiness backend emulates completion: it remembers what a selector said that
// descriptors are ready for, makes the system call itself, and reports the outcome.
//
// Any goroutine may submit and release, so a mutex guards what an operation
// touches. Poll and Rescue, which exclude each other by the contract, hold it
// too, except while the selector waits. The events it gets lie untouched until they have
// it again; what was submitted meanwhile is met by them as by any later edge,
// and what was closed meanwhile has another sequence number.
type readiness struct {
	cfg      Config
	kernel   kernel
	selector selector
	armed    armed // the selector, if it is one; else nil
	closed   atomic.Bool

	mu      sync.Mutex
	waiting bool // Poll waits: what gets in line or done has to wake it
	table   fdTable
	done    completionQueue // outcomes known, not yet handed out
	ready   []readyFD       // descriptors an edge promised something for
	next    []readyFD       // the same for the next Poll; swapped with ready

	mem     *pool     // but for drop
	packets *packets  // nil before the first RecvFrom
	filling int32     // the buffer being filled, or -1
	whole   []uint16  // buffers to fill next; the last released is the warmest
	starved []readyFD // wait for a buffer
	got     int       // bytes received by this Poll
}

// A selector says what descriptors are ready for. Of all but wait, wake and name the
// backend's mutex is held; wait and news are Poll's and Rescue's.
type selector interface {
	name() string

	// add has what becomes of a descriptor told with this number. A descriptor that is
	// known already gets another number.
	add(fd int, seq uint32) error

	// remove comes before the descriptor is closed.
	remove(fd int)

	// wait waits as Poll does, and keeps the events it gets.
	wait(wait time.Duration, hold bool) (events int, err error)

	// news tells r.edge of those events. A wake-up among them is used up, unless this
	// is a rescue.
	news(r *readiness, events int, rescue bool)

	// wake is Reactor.Wake. Any goroutine, at any time.
	wake() error

	close()
}

// An armed selector tells of what it was asked for, once, where others tell of every
// edge. What it is asked for may be there already. Its methods are called with the
// backend's mutex held.
type armed interface {
	selector

	// await has the next edge told, in each direction in which an operation is in flight that
	// is not ready. It may find at once that one is, and set f.in or f.out.
	await(fd int, f *fdState)

	// cancelled says that an operation is no longer in flight: nothing may be done for it
	// that cannot be undone.
	cancelled(fd int, k Kind)
}

// maxReceive is how much one Poll receives, about, before handlers have a turn: what
// they are given should still be in the cache. The rest has its turn with the next one.
const maxReceive = 128 << 10

// minReceive is the least room worth a read: below it the next buffer is taken.
const minReceive = 2048

// maxAccepts bounds the connections one listener accepts in one Poll.
const maxAccepts = 64

func openReadiness(cfg *Config, k kernel, s selector) (_ Reactor, err error) {
	r := &readiness{cfg: *cfg, kernel: k, selector: s, filling: -1}
	r.armed, _ = s.(armed)
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	if r.mem, err = newPool(cfg.Buffers, cfg.BufferSize); err != nil {
		return nil, err
	}
	for id := cfg.Buffers - 1; id >= 0; id-- {
		r.whole = append(r.whole, uint16(id))
	}
	return r, nil
}

func (r *readiness) Name() string { return r.selector.name() }

func (r *readiness) Carrier(Reactor) Reactor { return r }

func (r *readiness) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Swap(true) {
		return ErrClosed
	}
	r.selector.close()
	if r.packets != nil {
		_ = r.packets.mem.close()
	}
	if r.mem != nil {
		return r.mem.close()
	}
	return nil
}

func (r *readiness) Wake() error { return r.selector.wake() }

func (r *readiness) Release(b Buffer) {
	if b.packet {
		r.releasePacket(b)
		return
	}
	if r.closed.Load() || !r.mem.drop(b.id) {
		return
	}
	r.mu.Lock()
	defer r.unlock()
	r.whole = append(r.whole, b.id)
	r.feedStarved()
}

// feedStarved puts what waits for a buffer back in line.
func (r *readiness) feedStarved() {
	for _, s := range r.starved {
		if f := r.table.get(s.fd); f.seq == s.seq {
			f.starved = false
			r.enqueue(s.fd, f)
		}
	}
	r.starved = r.starved[:0]
}

// unlock ends a Submit or a Release, which may have left Poll something to do.
// The owner's own never finds it waiting.
func (r *readiness) unlock() {
	wake := r.waiting && (len(r.ready) > 0 || !r.done.empty())
	r.mu.Unlock()
	if wake {
		_ = r.selector.wake() // which does not fail on what is ours
	}
}

func (r *readiness) Poll(out []Completion, wait time.Duration, hold bool) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() {
		return 0, ErrClosed
	}
	n := r.done.take(out)
	if n > 0 && wait != 0 || n == len(out) {
		return n, nil // there is something to do; new events can wait for the next call
	}
	if len(r.ready) > 0 {
		wait = 0
	}
	r.waiting = wait != 0
	if r.waiting {
		r.mu.Unlock()
	}
	events, err := r.selector.wait(wait, hold)
	if r.waiting { // only Poll writes it
		r.mu.Lock()
		r.waiting = false
	}
	if err != nil {
		return n, err
	}
	r.selector.news(r, events, false)
	return r.serve(out, n), nil
}

// Rescue leaves wake-ups alone.
func (r *readiness) Rescue(out []Completion) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() {
		return 0, ErrClosed
	}
	n := r.done.take(out)
	if n == len(out) {
		return n, nil
	}
	events, err := r.selector.wait(0, false)
	if err != nil {
		return n, err
	}
	r.selector.news(r, events, true)
	return r.serve(out, n), nil
}

// edge notes what an event promises: input, output, or that a short read will not have
// emptied the socket, because there is an end or an error behind what it gets.
func (r *readiness) edge(fd int, seq uint32, in, out, ahead bool) {
	f := r.table.get(fd)
	if f == nil || !f.added || f.seq != seq {
		return // closed, or closed and opened again, since the kernel queued this
	}
	f.in, f.out, f.ahead = f.in || in, f.out || out, f.ahead || ahead
	r.enqueue(fd, f)
}

// enqueue puts a descriptor in line for the next serve, if an edge and an
// operation meet there.
func (r *readiness) enqueue(fd int, f *fdState) {
	if r.armed != nil {
		r.armed.await(fd, f)
	}
	in := f.in && f.inKind != 0 && !f.starved
	if f.queued || !in && !(f.out && f.outKind != 0) {
		return
	}
	f.queued = true
	r.ready = append(r.ready, readyFD{fd: fd, seq: f.seq})
}

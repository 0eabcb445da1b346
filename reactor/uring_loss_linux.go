package reactor

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// The kernel may drop completions: the ring is full, and there is no memory to keep them elsewhere.
// It counts the drops in the ring, and io_uring_enter returns EBADR when it would wait.
//
// The dropped completions are unknown. Bytes of a stream may be among them, so no later bytes of a
// stream may be delivered. The kernel counts a drop before it posts later completions, and collect
// reads the queue's end before the count. So all completions behind a drop are still in the ring
// when the reactor sees the drop. From then on only salvage takes completions.
//
// salvage runs in the owner's next Poll. It ends all operations in the kernel, as Close does, and
// delivers the results that survive, except those of a Recv. Then it completes every operation that
// is still in flight by the reactor's own records. A Watch goes on instead. No operation uses the
// receive memory then, so the buffer rings are emptied and filled again.
//
// An accepted descriptor stays open if its completion is dropped, because its number is unknown. A
// descriptor in the ring's own table (IORING_FILE_INDEX_ALLOC) would end with the ring, but each
// accepted connection would need one more operation to get an ordinary descriptor.

// A loss is the state of the handling of drops. Owner only, except ended.
type loss struct {
	noted     uint32 // drops that were handled
	salvaging bool
	survivors []Completion // taken out of the ring since the last drop

	ended []uint64 // user data of operations that Rescue has seen end
}

// rescued notes completions that Rescue has taken.
func (l *loss) rescued(cs []Completion) {
	for i := range cs {
		if c := &cs[i]; !c.More {
			l.ended = append(l.ended, userData(c.Kind, c.Token))
		}
	}
}

// settleRescued notes the operations that Rescue has seen end. Poll only.
func (r *uringReactor) settleRescued() {
	for _, data := range r.loss.ended {
		kind, token := splitUserData(data)
		r.flying.over(kind, token)
	}
	r.loss.ended = r.loss.ended[:0]
}

// dropped returns the number of dropped completions.
func (r *uringReactor) dropped() uint32 {
	n := r.ring.Dropped()
	if r.faults != nil {
		n += r.faults.dropped.Load()
	}
	return n
}

// losing reports whether there are drops that salvage has not handled.
func (r *uringReactor) losing() bool { return r.dropped() != r.loss.noted }

// salvage ends all operations after a drop. Poll only.
func (r *uringReactor) salvage() error {
	r.loss.salvaging = true
	defer func() { r.loss.salvaging = false }()
	if !r.quiesce(r.survive) {
		return fmt.Errorf("the kernel lacked memory, dropped completions and did not cancel the operations; "+
			"raise the memory limit, or use the epoll backend (%s=epoll): %w", EnvBackend, unix.EBADR)
	}
	r.taking.Lock()
	defer r.taking.Unlock()
	for i := range r.loss.survivors {
		r.survived(&r.loss.survivors[i])
	}
	r.loss.survivors = nil
	ended := 0
	r.lapsed.take() // they are in flight by the reactor's records
	var watched []Token
	r.flying.land(func(kind Kind, token Token) {
		if kind == Watch {
			watched = append(watched, token)
			return
		}
		r.stash.push(Completion{Token: token, Kind: kind, Res: lostResult(kind)})
		ended++
	})
	for _, token := range watched {
		r.flying.begun(Watch, token)
		r.lapsed.add(token)
	}
	for _, f := range r.batches.abandon(unix.ENOMEM) {
		r.stash.push(Completion{Token: f.token, Kind: SendTo, Res: f.batch.Len()})
		ended++
	}
	r.wakeArmed, r.woken, r.holdArmed = false, true, false
	r.waker.noticed() // the read may have been dropped
	if err := r.refill(); err != nil {
		return err
	}
	n := r.dropped() - r.loss.noted
	r.loss.noted += n
	if r.cfg.OnLoss != nil {
		r.cfg.OnLoss(int(n), ended)
	}
	return nil
}

// survive keeps all completions of the ring.
func (r *uringReactor) survive() {
	for n := r.collect(r.spare[:], true); n > 0; n = r.collect(r.spare[:], true) {
		r.loss.survivors = append(r.loss.survivors, r.spare[:n]...)
	}
}

// survived delivers a completion that was behind a drop. A Recv is not delivered: bytes before it
// may be lost. Nor is ECANCELED: quiesce has canceled that operation.
func (r *uringReactor) survived(c *Completion) {
	switch {
	case c.Kind == Recv && c.Res > 0:
		r.Release(c.Buf)
	case c.Kind == Recv, c.Errno() == unix.ECANCELED:
	default:
		r.flying.ended(c)
		r.stash.push(*c)
	}
}

// lostResult returns the result for an operation whose real result is unknown: see Reactor.Poll.
func lostResult(kind Kind) int {
	switch kind {
	case RecvFrom, Hangup:
		return -int(unix.EAGAIN)
	case Readable, Writable:
		return 0 // it may be spurious
	}
	return -int(unix.ENOMEM)
}

// refill gives the kernel all receive memory that is not in use. How much of it the kernel had used
// is unknown.
func (r *uringReactor) refill() error {
	if err := resetGroup(r.bufs); err != nil {
		return err
	}
	r.free.Store(0)
	for _, id := range r.mem.shut() {
		r.provide(id)
	}
	r.bufs.Advance()
	p := r.packets.Load()
	if p == nil {
		return nil
	}
	if p.byHand != nil {
		p.mu.Lock()
		clear(p.polled)
		p.mu.Unlock()
		return nil
	}
	if err := resetGroup(p.bufs); err != nil {
		return err
	}
	p.free.Store(0)
	for _, id := range p.mem.shut() {
		p.provide(id, r.cfg.DatagramSize)
	}
	p.bufs.Advance()
	return nil
}

// resetGroup empties a group of buffers. It tries again if the kernel lacks memory for that.
func resetGroup(b *uring.BufRing) (err error) {
	for range 64 {
		if err = b.Reset(); !errors.Is(err, unix.ENOMEM) {
			return err
		}
		time.Sleep(maxShortage)
	}
	return err
}

package reactor

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// A batchTable holds the batches in flight. Each datagram of a batch is its own entry in the ring's
// queues, and the last of their completions completes the batch. An entry's user data has the
// batch's slot, where other operations have a token, and the index of the datagram. A slot is
// reused only when all of its entries have completed, so it cannot be mistaken for another batch.
//
// The owner adds and cancels, and a taker finds completed batches: the mutex is between them.
type batchTable struct {
	mu    sync.Mutex
	slots []flight
	free  []uint32
}

type flight struct {
	batch *Batch
	fd    int
	token Token
	left  int // entries that have not completed
}

func sendToData(slot uint32, index int) uint64 {
	return userData(SendTo, MakeToken(slot, uint32(index)))
}

func (t *batchTable) add(f flight) (slot uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.free); n > 0 {
		slot, t.free = t.free[n-1], t.free[:n-1]
		t.slots[slot] = f
		return slot
	}
	t.slots = append(t.slots, f)
	return uint32(len(t.slots) - 1)
}

// landed notes the result of one datagram. With the last one it returns the flight of the batch.
func (t *batchTable) landed(slot uint32, index int, res int32) (f flight, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.slots[slot]
	p.batch.raw.parts[index].done = true
	if res < 0 {
		p.batch.fail(index, unix.Errno(-res))
	}
	if p.left--; p.left > 0 {
		return flight{}, false
	}
	f, *p = *p, flight{}
	t.free = append(t.free, slot)
	return f, true
}

// abandon ends all flights. Datagrams without a result have failed.
func (t *batchTable) abandon(errno syscall.Errno) (ended []flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for slot := range t.slots {
		f := &t.slots[slot]
		if f.batch == nil {
			continue
		}
		for i := range f.batch.raw.parts {
			if !f.batch.raw.parts[i].done {
				f.batch.fail(i, errno)
			}
		}
		ended = append(ended, *f)
		*f = flight{}
		t.free = append(t.free, uint32(slot))
	}
	return ended
}

// open lists the operations in flight for a token. Owner only.
func (t *batchTable) open(token Token) (data []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for slot := range t.slots {
		f := &t.slots[slot]
		if f.batch == nil || f.token != token {
			continue
		}
		for i := range f.batch.raw.parts {
			if !f.batch.raw.parts[i].done {
				data = append(data, sendToData(uint32(slot), i))
			}
		}
	}
	return data
}

// sendTo queues a batch's datagrams for the next submit. Where their order needs it, it first sends
// as many as there is room for. Owner only.
func (r *uringReactor) sendTo(op *Op) {
	b := op.Batch
	b.prepare()
	n := b.Len()
	if b.needsOrder() {
		if b.transmit(r.waker.kernel, op.FD) {
			op.Sent = n
			return
		}
		if w := &b.raw; w.segment > 0 { // no entry sends the rest of a datagram
			b.skipAll(unix.ENOBUFS, w.next+1)
			if w.next == n {
				op.Sent = n
				return
			}
		}
	}
	first := b.raw.next
	for i := range first {
		b.raw.parts[i].done = true
	}
	slot := r.batches.add(flight{batch: b, fd: op.FD, token: op.Token, left: n - first})
	for i := first; i < n; i++ { // b stays unchanged until its last entry, which is queued here, completes
		e := r.entry()
		e.PrepSendMsg(op.FD, &b.raw.msgs[i].hdr, unix.MSG_NOSIGNAL)
		r.ready(e, SendTo, MakeToken(slot, uint32(i)))
		if op.NoWait {
			r.datagrams++
		}
	}
}

func (r *uringReactor) cancelSendTo(op *Op) {
	for _, target := range r.batches.open(op.Token) {
		r.cancelOne(target)
	}
}

// sentOne processes the end of one datagram. It returns true if the whole batch has ended. Taker
// only.
func (r *uringReactor) sentOne(e *uring.CQE, c *Completion) bool {
	_, which := splitUserData(e.UserData)
	res := e.Res
	if r.loss.salvaging && res == -int32(unix.ECANCELED) {
		res = -int32(unix.ENOMEM) // the user has not canceled it
	}
	f, last := r.batches.landed(which.Index(), int(which.Generation()), res)
	if last {
		if !r.loss.salvaging && !r.closed.Load() { // else a datagram may have been sent
			f.batch.retry(r.waker.kernel, f.fd)
		}
		*c = Completion{Token: f.token, Kind: SendTo, Res: f.batch.Len()}
	}
	return last
}

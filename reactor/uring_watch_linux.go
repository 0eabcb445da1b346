package reactor

import (
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// A Watch is a multishot poll, which is edge-triggered and reports the whole state at first.
//
// The kernel ends such a poll when its next completion finds the queue full. That is no end for the
// user: the completion is delivered as an edge, and the owner submits the poll again, which reports
// the state. It does so too after a loss of completions. A Cancel that arrives meanwhile finds no
// poll in the kernel, so it is noted with the descriptor, and the owner ends the Watch.

// watches has each Watch by the index of its token. It is separate from flying so that only workers
// with Watches have it. Owner only.
type watches struct{ chunks []*watchesChunk }

type watchesChunk [256]watched

// A watched is twice a descriptor, and 1 more if room is reported; ^ of that once the Watch is
// canceled.
type watched int32

func makeWatched(fd int, room bool) watched {
	w := watched(fd) << 1
	if room {
		w |= 1
	}
	return w
}

func (w watched) canceled() bool { return w < 0 }
func (w watched) fd() int        { return int(w >> 1) }
func (w watched) room() bool     { return w&1 != 0 }

// mask is the events of the poll. Errors and the end of both directions are always reported.
func (w watched) mask() uint32 {
	if w.room() {
		return unix.POLLIN | unix.POLLRDHUP | unix.POLLOUT
	}
	return unix.POLLIN | unix.POLLRDHUP
}

func (w *watches) at(token Token) *watched {
	i := int(token.Index())
	chunk := i / len(watchesChunk{})
	for chunk >= len(w.chunks) {
		w.chunks = append(w.chunks, nil)
	}
	if w.chunks[chunk] == nil {
		w.chunks[chunk] = new(watchesChunk)
	}
	return &w.chunks[chunk][i%len(watchesChunk{})]
}

func (r *uringReactor) watch(op *Op) {
	w := makeWatched(op.FD, op.Edge != EdgeIn)
	*r.watches.at(op.Token) = w
	e := r.entry()
	e.PrepPollAdd(op.FD, w.mask(), true)
	r.ready(e, Watch, op.Token)
	if r.faults != nil {
		r.faults.watches(op.FD, op.Token)
	}
}

// edge turns an entry of a Watch's poll into a completion. Taker only.
func (r *uringReactor) edge(e *uring.CQE, c *Completion) {
	_, token := splitUserData(e.UserData)
	*c = Completion{Token: token, Kind: Watch, More: e.More(), Res: int(e.Res)}
	if e.Res < 0 {
		return
	}
	c.Res = int(edgesOf(e.Res))
	if !c.More {
		c.More = true
		r.lapsed.add(token)
	}
}

func edgesOf(mask int32) (e Edge) {
	if mask&(unix.POLLIN|unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0 {
		e |= EdgeIn
	}
	if mask&(unix.POLLOUT|unix.POLLHUP|unix.POLLERR) != 0 {
		e |= EdgeOut
	}
	if mask&(unix.POLLRDHUP|unix.POLLHUP) != 0 {
		e |= EdgeEnd
	}
	if mask&unix.POLLERR != 0 {
		e |= EdgeError
	}
	return e
}

// watchAgain submits polls that the kernel has ended. Owner only.
func (r *uringReactor) watchAgain() {
	if r.faults != nil {
		r.tellRenewed()
	}
	for _, token := range r.lapsed.take() {
		w := *r.watches.at(token)
		op := Op{FD: w.fd(), Token: token, Edge: EdgeIn}
		if w.room() {
			op.Edge |= EdgeOut
		}
		r.flying.over(Watch, token)
		if !w.canceled() {
			r.watch(&op)
			continue
		}
		r.taking.Lock()
		r.stash.push(Completion{Token: token, Kind: Watch, Res: -int(unix.ECANCELED)})
		r.taking.Unlock()
	}
}

// rewatch is a Rewatch. Any goroutine may call it.
func (r *uringReactor) rewatch(op *Op) error {
	if op.Edge&EdgeOut == 0 {
		return nil // reported anyway
	}
	r.widened.add(op.Token)
	return r.waker.wake()
}

// widen adds room to what Watches report. A poll that is about to report is tried again in the next
// Poll, see complete. One that the kernel has ended is submitted again with the new mask. Owner
// only.
func (r *uringReactor) widen() {
	for _, token := range r.widened.take() {
		if !r.flying.has(Watch, token) {
			continue
		}
		w := r.watches.at(token)
		if w.canceled() {
			continue
		}
		*w |= 1
		e := r.entry()
		e.PrepPollUpdate(userData(Watch, token), w.mask())
		e.UserData = userData(Rewatch, token)
	}
}

// unwatch is a Cancel, or a Close, of a Watch. A Watch that has ended, and whose index is another
// token's by now, stays untouched. Owner only.
func (r *uringReactor) unwatch(op *Op) {
	if r.flying.latest(op.Token) {
		if w := r.watches.at(op.Token); !w.canceled() {
			*w = ^*w
		}
	}
	r.cancelOne(userData(Watch, op.Token))
	if op.Kind == Close {
		r.closing = append(r.closing, *op)
	}
}

// cancelNow cancels what other goroutines have canceled, for an owner that is stuck. A Watch stays
// in the list, so that the owner notes its end.
func (r *uringReactor) cancelNow() {
	var closing []Op
	r.cancels.sift(func(op *Op) bool {
		if op.Target == SendTo || r.faults.next(faults.SyncCancel) != 0 || r.ring.SyncCancel(userData(op.Target, op.Token)) != nil {
			return false
		}
		if op.Kind == Close {
			closing = append(closing, *op)
			op.Kind = Cancel
		}
		return op.Target != Watch
	})
	for i := range closing { // the kernel has the poll, so no entry of the queue refers to the number
		closeOp(&closing[i])
	}
}

// closeWatchedBy is a Close that names a Watch. Any goroutine may call it.
func (r *uringReactor) closeWatchedBy(op *Op) error {
	r.cancels.add(*op)
	if r.closed.Load() { // perhaps Close did not see it
		r.closeListed()
	}
	return r.waker.wake()
}

// closeAll closes the descriptors that are still to be closed, for Close.
func (r *uringReactor) closeAll() {
	for i := range r.closing {
		closeOp(&r.closing[i])
	}
	r.closeListed()
}

func (r *uringReactor) closeListed() {
	r.cancels.sift(func(op *Op) bool {
		if op.Kind == Close {
			closeOp(op)
		}
		return true
	})
}

// closeWatched closes descriptors whose Watches were canceled. No entry of the queue refers to
// their numbers any more. Owner only.
func (r *uringReactor) closeWatched() {
	if r.ring.Prepared() > 0 {
		return
	}
	for i := range r.closing {
		closeOp(&r.closing[i])
	}
	r.closing = r.closing[:0]
}

package reactor

import (
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// maxStops bounds the attempts to end everything: an operation that runs in a
// thread of the kernel may outlast some.
const maxStops = 64

// quiesce submits what is queued, ends what is in flight, and returns when the
// kernel holds none of the reactor's memory and sockets any more; false: it may. Closing the
// ring ends everything as well, but some time after it has returned. take empties the ring.
func (r *uringReactor) quiesce(take func()) bool {
	for range maxStops {
		e := r.entry()
		e.PrepCancel(0, uring.IORING_ASYNC_CANCEL_ANY|uring.IORING_ASYNC_CANCEL_ALL)
		e.UserData = userData(kindStop, 0)
		dropped := r.dropped() // if it changes, the answer may be lost
		for r.stopped = -1; r.stopped < 0 && dropped == r.dropped(); take() {
			if r.enter(-1, false) != nil {
				return false // not a ring any more
			}
		}
		if r.stopped == 0 {
			return true
		}
	}
	return false
}

// discard takes all completions. Connections that were accepted and now will
// not be seen are closed, and what was received is not out.
func (r *uringReactor) discard() {
	r.forget(r.loss.survivors)
	r.loss.survivors = nil
	for n := r.stash.take(r.spare[:]); n > 0; n = r.stash.take(r.spare[:]) {
		r.forget(r.spare[:n])
	}
	for n := r.collect(r.spare[:], true); n > 0; n = r.collect(r.spare[:], true) {
		r.forget(r.spare[:n])
	}
}

func (r *uringReactor) forget(cs []Completion) {
	for _, c := range cs {
		switch {
		case c.Kind == Accept && c.Res >= 0:
			_ = unix.Close(c.Res)
		case c.Kind == Recv && c.Res > 0:
			r.mem.drop(c.Buf.id)
		case c.Kind == RecvFrom && c.Res >= 0:
			r.packets.Load().mem.drop(c.Buf.id)
		}
	}
}

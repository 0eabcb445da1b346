package reactor

import (
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// maxStops bounds the attempts to end all operations: an operation in a kernel thread may outlast
// some of them.
const maxStops = 64

// quiesce submits the queue, ends all operations, and returns when the kernel uses none of the
// reactor's memory and sockets any more. It returns false if the kernel may still use some. Closing
// the ring also ends all operations, but only some time after the close has returned. take empties
// the ring.
func (r *uringReactor) quiesce(take func()) bool {
	for range maxStops {
		e := r.entry()
		e.PrepCancel(0, uring.IORING_ASYNC_CANCEL_ANY|uring.IORING_ASYNC_CANCEL_ALL)
		e.UserData = userData(kindStop, 0)
		dropped := r.dropped() // if it changes, the answer may be lost
		for r.stopped = -1; r.stopped < 0 && dropped == r.dropped(); take() {
			if r.enter(-1, false) != nil {
				return false // the ring is unusable
			}
		}
		if r.stopped == 0 {
			return true
		}
	}
	return false
}

// discard takes all completions. It closes accepted connections, which no user will get, and drops
// received buffers.
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

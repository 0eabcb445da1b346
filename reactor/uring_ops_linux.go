package reactor

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

func (r *uringReactor) Submit(op *Op) error {
	if r.closed.Load() {
		return ErrClosed
	}
	if op.Kind < Cancel || op.Kind == Watch {
		r.takeCancels() // those submitted before must not end this operation
	}
	switch op.Kind {
	case Accept:
		e := r.entry()
		e.PrepAccept(op.FD, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, r.has.multishotAccept && !op.One)
		r.ready(e, Accept, op.Token)
	case Recv:
		r.recv(op)
	case Send:
		e, flags := r.entry(), uint32(unix.MSG_NOSIGNAL)
		if op.NoWait {
			flags |= unix.MSG_DONTWAIT
			r.sends++
		}
		e.PrepSend(op.FD, op.Buf, flags)
		r.ready(e, Send, op.Token)
		op.Sent = 0
	case Connect:
		sa := new(rawSockaddr)
		if err := sa.set(op.Addr); err != nil {
			return err
		}
		e := r.entry() // before sa is kept: a full ring submits, and drops the kept addresses
		r.addrs = append(r.addrs, sa)
		e.PrepConnect(op.FD, unsafe.Pointer(&sa.buf), sa.len)
		r.ready(e, Connect, op.Token)
	case RecvFrom:
		return r.recvFrom(op)
	case SendTo:
		op.Sent = 0
		r.sendTo(op)
	case Readable, Writable:
		mask := uint32(unix.POLLIN)
		if op.Kind == Writable {
			mask = unix.POLLOUT
		}
		e := r.entry()
		e.PrepPollAdd(op.FD, mask, false)
		r.ready(e, op.Kind, op.Token)
	case Hangup:
		// Multishot: the kernel adds POLLRDHUP to any mask, so a FIN would end a single-shot poll.
		e := r.entry()
		e.PrepPollAdd(op.FD, 0, true)
		r.ready(e, Hangup, op.Token)
	case Watch:
		r.watch(op)
	case Cancel:
		// The calling goroutine cannot be identified cheaply, and a cancel is rare. So even the
		// owner's goes through the list, and wakes the owner once in vain.
		r.cancels.add(*op)
		return r.waker.wake()
	case Close:
		if op.Target == Watch {
			return r.closeWatchedBy(op)
		}
		closeOp(op)
	case Rewatch:
		return r.rewatch(op)
	default:
		return fmt.Errorf("reactor: cannot submit %v: %w", op.Kind, syscall.EINVAL)
	}
	return nil
}

// recv arms a receive, or keeps it until there is a buffer: armed without a buffer it would only
// end with ENOBUFS.
//
// It never makes the kernel poll before the first attempt (IORING_RECVSEND_POLL_FIRST): Linux 6.18
// then misses, for a multishot receive, a reset that arrives while it is armed. It may also miss an
// end that arrives together with bytes: see internal/engine/doubts.go.
func (r *uringReactor) recv(op *Op) {
	if r.free.Load() == 0 || r.starved.active.Load() {
		r.starved.add(op)
		return
	}
	r.arm(op)
}

func (r *uringReactor) arm(op *Op) {
	e := r.entry()
	e.PrepRecv(op.FD, bufferGroup, r.has.multishotRecv && !op.One)
	r.ready(e, Recv, op.Token)
}

// takeCancels queues the cancels that were submitted. Owner only.
func (r *uringReactor) takeCancels() {
	for _, op := range r.cancels.take() {
		r.cancel(&op)
	}
}

func (r *uringReactor) cancel(op *Op) {
	switch p := r.packets.Load(); {
	case op.Target == Recv && r.starved.cancel(op.Token), op.Target == RecvFrom && p != nil && p.starved.cancel(op.Token):
		r.taking.Lock()
		r.stash.push(Completion{Token: op.Token, Kind: op.Target, Res: -int(unix.ECANCELED)})
		r.taking.Unlock()
	case op.Target == SendTo:
		r.cancelSendTo(op)
	case op.Target == Watch:
		r.unwatch(op)
	default:
		r.cancelOne(userData(op.Target, op.Token))
	}
}

func (r *uringReactor) cancelOne(target uint64) {
	e := r.entry()
	e.PrepCancel(target, 0)
	e.UserData = userData(Cancel, 0)
	if r.has.skipSuccess { // the result is not read
		e.Flags |= uring.IOSQE_CQE_SKIP_SUCCESS
	}
}

// ready ends the preparation of an entry.
func (r *uringReactor) ready(e *uring.SQE, kind Kind, token Token) {
	e.UserData = userData(kind, token)
	r.flying.begun(kind, token)
	if r.faults != nil {
		r.faults.tamper(kind, e)
	}
}

// makeRoom empties places of the completion queue. r.taking is held.
func (r *uringReactor) makeRoom() {
	n := r.reap(r.spare[:])
	for _, c := range r.spare[:n] {
		r.stash.push(c)
	}
	if r.losing() {
		n = r.collect(r.spare[:], true)
		r.loss.survivors = append(r.loss.survivors, r.spare[:n]...)
	}
}

// entry returns the next free entry of the submission queue. A full queue is submitted at once. If
// the kernel refuses that because completions have piled up, they are first taken out of the ring
// and kept in order.
func (r *uringReactor) entry() *uring.SQE {
	for {
		if e := r.ring.NextSQE(); e != nil {
			return e
		}
		if r.shortage.pause > 0 {
			r.shortage.over(-1) // the entry needs a free place, which only a submit makes
		}
		if err := r.enter(0, true); err != nil {
			panic(err) // EBADF, EFAULT, EINVAL: the ring is unusable
		}
		if r.ring.Prepared() == r.ring.SQEntries() {
			r.taking.Lock()
			r.makeRoom()
			r.taking.Unlock()
		}
	}
}

//go:build unix || windows

package reactor

import (
	"fmt"
	"syscall"
)

func (r *readiness) Submit(op *Op) error {
	if r.closed.Load() {
		return ErrClosed
	}
	var tried syscall.Errno // the error of a send that was tried
	switch op.Kind {
	case Rewatch:
		if !Rewatches && op.Edge&EdgeOut == 0 {
			return nil // reported anyway
		}
	case Close:
		r.forget(op.FD)
		closeOp(op) // the close also ends the watch, if it was the socket's last descriptor
		return nil
	case Send:
		// Try now, and not when an edge promises room: there nearly always is room, and the edge
		// would have cost a system call. Try without the lock, so that workers that send do not
		// wait for each other: no output operation is in flight, so no other goroutine writes to
		// this descriptor.
		n, errno := r.kernel.send(op.FD, op.Buf)
		if errno == 0 {
			op.Sent = n
			return nil
		}
		op.Sent, tried = 0, errno
	case SendTo: // tried without the lock, like Send
		if op.Sent = 0; op.Batch.transmit(r.kernel, op.FD) {
			op.Sent = op.Batch.Len()
			return nil
		}
	}
	r.mu.Lock()
	defer r.unlock()
	if r.closed.Load() { // checked again: its descriptor may have been reused by now
		return ErrClosed
	}
	switch op.Kind {
	case Cancel:
		r.cancel(op)
		return nil
	case Watch:
		return r.watch(op)
	case Rewatch:
		r.rewatch(op)
		return nil
	case Connect:
		return r.connect(op)
	case Accept, Recv, Send, SendTo, Readable, Writable, Hangup:
	case RecvFrom:
		if err := r.openPackets(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("reactor: cannot submit %v: %w", op.Kind, syscall.EINVAL)
	}
	f, err := r.register(op)
	if err != nil {
		return err
	}
	if f.inKind == Watch {
		return busy(Watch, op.FD)
	}
	switch op.Kind {
	case Readable, Writable:
		if err := r.awaitReady(f, op); err != nil {
			return err
		}
	case Hangup:
		if err := r.awaitHangup(f, op); err != nil {
			return err
		}
	case Accept, Recv, RecvFrom:
		if f.inKind != 0 {
			return busy(f.inKind, op.FD)
		}
		f.inKind, f.inTok = op.Kind, op.Token
		if f.traits &^= forOne; op.One {
			f.traits |= forOne
		}
	case Send:
		if f.outKind != 0 {
			return busy(f.outKind, op.FD)
		}
		r.send(f, op, tried)
	case SendTo:
		if f.outKind != 0 {
			return busy(f.outKind, op.FD)
		}
		f.outKind, f.outTok = SendTo, op.Token
		r.keepUnsent(f, outgoing{batch: op.Batch})
		r.sendToOn(op.FD, f)
	}
	r.enqueue(op.FD, f)
	return nil
}

// forget drops the state of a descriptor that is about to be closed. After the close its number may
// be registered anew at any moment.
func (r *readiness) forget(fd int) {
	r.mu.Lock()
	if f := r.table.get(fd); f != nil && f.watched {
		if f.inKind == Watch {
			r.endWatch(f, syscall.ECANCELED)
		}
		r.poller.forget(fd, f)
		r.dropHangup(fd, f)
		*f = fdState{seq: f.seq + 1} // invalidates events and queue entries
	}
	r.unlock()
}

func closeOp(op *Op) {
	if op.NoWait {
		closeNow(op.FD)
	} else {
		closeFD(op.FD)
	}
}

func busy(k Kind, fd int) error {
	return fmt.Errorf("reactor: %v is already in flight on descriptor %d: %w", k, fd, syscall.EALREADY)
}

// register watches the descriptor of an operation, unless it is watched already.
func (r *readiness) register(op *Op) (*fdState, error) {
	room := op.Kind == Connect || op.Kind == Send || op.Kind == SendTo || op.Kind == Writable
	f := r.table.get(op.FD)
	switch {
	case f == nil || !f.watched:
	case room && f.traits&forRoom == 0:
		if err := r.poller.widen(op.FD, f); err != nil {
			return nil, err
		}
		f.traits |= forRoom
		return f, nil
	default:
		return f, nil
	}
	var is traits
	if room {
		is |= forRoom
	}
	if !op.TCP {
		unixSocket, errno := isUnix(op.FD)
		if errno == syscall.EBADF { // its number may also be far too high for the table
			return nil, fmt.Errorf("reactor: descriptor %d: %w", op.FD, errno)
		}
		if unixSocket {
			is |= ofUnix
		}
	}
	f = r.table.make(op.FD)
	f.traits = is
	if err := r.poller.watch(op.FD, f); err != nil {
		return nil, err
	}
	f.watched = true
	return f, nil
}

func (r *readiness) connect(op *Op) error {
	if f := r.table.get(op.FD); f != nil && f.outKind != 0 {
		return busy(f.outKind, op.FD)
	}
	var sa rawSockaddr
	if err := sa.set(op.Addr); err != nil {
		return err
	}
	errno := r.kernel.connect(op.FD, &sa)
	// Not before connect: a socket that is not connecting reports a hang-up, and would then be read
	// twice each time.
	f, err := r.register(op)
	if err != nil {
		return err
	}
	f.in, f.out, f.ahead, f.left = false, false, false, 0
	f.outKind, f.outTok = Connect, op.Token
	switch errno {
	case syscall.EINPROGRESS, syscall.EINTR, syscall.EALREADY: // an edge will report the result; an interrupted connect goes on
		r.enqueue(op.FD, f)
	default: // connected or refused at once
		r.finishOut(f, -int(errno))
	}
	return nil
}

// send stores a send that has not succeeded. If it lacked room, it is tried once more under the
// lock: then no edge can come between the result and the store.
func (r *readiness) send(f *fdState, op *Op, errno syscall.Errno) {
	f.outKind, f.outTok = Send, op.Token
	r.keepUnsent(f, outgoing{buf: op.Buf})
	if errno == syscall.EAGAIN {
		r.sendOn(op.FD, f)
	} else {
		r.finishOut(f, -int(errno))
	}
}

// sendOn continues a send that had to wait for room.
func (r *readiness) sendOn(fd int, f *fdState) {
	switch n, errno := r.kernel.send(fd, f.unsent.buf); errno {
	case 0:
		r.finishOut(f, n)
	case syscall.EAGAIN:
		f.out = false
	default:
		r.finishOut(f, -int(errno))
	}
}

func (r *readiness) finishOut(f *fdState, res int) {
	r.done.push(Completion{Token: f.outTok, Kind: f.outKind, Res: res})
	f.outKind = 0
	if o := f.unsent; o != nil {
		*o, f.unsent = outgoing{}, nil
		r.spare = append(r.spare, o)
	}
}

// keepUnsent keeps an output operation until finishOut.
func (r *readiness) keepUnsent(f *fdState, o outgoing) {
	if n := len(r.spare); n > 0 {
		f.unsent, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		f.unsent = new(outgoing)
	}
	*f.unsent = o
}

func (r *readiness) cancel(op *Op) {
	f := r.table.get(op.FD)
	if f == nil || !f.watched {
		return
	}
	switch {
	case op.Target == Watch:
		if f.watches(op.Token) {
			r.cancelWatch(op.FD, f)
		}
	case op.Target == Hangup:
		if f.traits&forHangup != 0 && r.hangups[op.FD] == op.Token {
			r.endHangup(op.FD, f, -int(syscall.ECANCELED))
		}
	case f.inKind == op.Target && f.inTok == op.Token:
		r.dropped(op)
		f.inKind = 0
		r.done.push(Completion{Token: op.Token, Kind: op.Target, Res: -int(syscall.ECANCELED)})
	case f.outKind == op.Target && f.outTok == op.Token:
		if f.outKind == SendTo {
			r.cancelSendTo(f)
			return
		}
		r.dropped(op)
		r.finishOut(f, -int(syscall.ECANCELED))
	}
}

// dropped tells an armed poller of an operation that a cancel has ended.
func (r *readiness) dropped(op *Op) {
	if r.armed != nil {
		r.armed.canceled(op.FD, op.Target)
	}
}

// serve makes the system calls for descriptors that have a promise and an operation, one after the
// other and at most one buffer each. It ends when out is full, when maxServed descriptors were
// served, or when maxReceive was reached. out[:n] is taken.
func (r *readiness) serve(out []Completion, n int) int {
	turn := r.ready
	r.ready = r.next[:0]
	i := 0
	r.got = 0
	for ; i < min(len(turn), maxServed) && n < len(out) && r.got < maxReceive; i++ {
		f := r.table.get(turn[i].fd)
		if f.seq != turn[i].seq {
			continue // closed since it was queued
		}
		f.line &^= inReady
		if f.inKind == Watch {
			if f.in {
				out[n] = f.takeEdges()
				n++
			}
			continue
		}
		if f.out && f.outKind != 0 {
			r.serveOut(turn[i].fd, f)
		}
		if f.in && f.inKind == Readable {
			r.done.push(Completion{Token: f.inTok, Kind: Readable})
			f.inKind = 0
		}
		if f.in && f.inKind == Accept {
			n = r.accept(turn[i].fd, f, out, n)
		}
		if f.in && f.inKind == Recv && f.line&inStarved == 0 {
			n = r.recv(turn[i].fd, f, out, n)
		}
		if f.in && f.inKind == RecvFrom && f.line&inStarved == 0 {
			n = r.recvFrom(turn[i].fd, f, out, n)
		}
		r.enqueue(turn[i].fd, f)
	}
	again := r.ready // behind those that were not served yet
	turn = append(turn[:copy(turn, turn[i:])], again...)
	r.ready = turn
	r.next = again[:0]
	return n + r.done.take(out[n:])
}

func (r *readiness) serveOut(fd int, f *fdState) {
	switch f.outKind {
	case Send:
		r.sendOn(fd, f)
		return
	case SendTo:
		r.sendToOn(fd, f)
		return
	case Writable:
		r.finishOut(f, 0)
		return
	}
	switch errno := r.kernel.socketError(fd); {
	case errno != 0:
		r.finishOut(f, -int(errno))
	case !connected(fd): // the edge is from before the connect
		f.out = false
	default:
		r.finishOut(f, 0)
	}
}

// accept takes connections as long as there are any. A try without success is expensive, since the
// kernel makes a socket and its file before it looks. So, where possible, it queries the number of
// connections. A connection that arrives after the query makes its own edge. The poller keeps that
// until this Poll has cleared the last promise, so none is missed.
func (r *readiness) accept(fd int, f *fdState, out []Completion, n int) int {
	there := 1 // at least one, as the edge reported
	for range min(maxAccepts, len(out)-n) {
		if there == 0 {
			if there = backlogged(fd); there == 0 {
				f.in = false
				return n
			}
		}
		conn, peer, errno := r.kernel.accept(fd)
		switch errno {
		case 0:
			out[n] = Completion{Token: f.inTok, Kind: Accept, More: true, Res: conn, Peer: peer}
			n++
			there--
			if f.traits&forOne != 0 {
				out[n-1].More = false
				f.inKind = 0
				return n
			}
		case syscall.EAGAIN:
			f.in = false
			return n
		case syscall.ECONNABORTED: // the peer gave up in the backlog: not reported
		default:
			out[n] = Completion{Token: f.inTok, Kind: Accept, Res: -int(errno)}
			f.inKind = 0
			return n + 1
		}
	}
	return n
}

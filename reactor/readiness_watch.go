//go:build unix || windows

package reactor

import (
	"errors"
	"syscall"
)

// watch is Watch. The kernel reports the whole state of the descriptor when it is registered. An
// earlier operation may have registered it: then it is registered once more for that.
//
// The state has the token and the edges that were not taken yet, and no promise: the owner makes
// the calls. So an edge costs neither a system call nor memory.
func (r *readiness) watch(op *Op) error {
	f := r.table.get(op.FD)
	if f == nil {
		if _, errno := isUnix(op.FD); errno == syscall.EBADF || op.FD < 0 { // its number may be far too high for the table
			r.done.push(Completion{Token: op.Token, Kind: Watch, Res: -int(syscall.EBADF)})
			return nil
		}
		f = r.table.make(op.FD)
	}
	if kind := f.busyWith(); kind != 0 {
		return busy(kind, op.FD)
	}
	*f = fdState{seq: f.seq, line: f.line & inReady, watched: true, inKind: Watch, inTok: op.Token}
	directions := op.Edge
	if directions == 0 {
		directions = EdgeIn | EdgeOut
	}
	if directions&EdgeOut != 0 {
		f.traits = forRoom
	}
	if err := r.poller.watch(op.FD, f); err != nil {
		errno := syscall.ENOMEM
		errors.As(err, &errno)
		r.endWatch(f, errno)
		f.watched = false
		return nil
	}
	if r.armed != nil {
		r.armed.rewatch(op.FD, directions)
		r.enqueue(op.FD, f)
	}
	return nil
}

// busyWith returns the kind of an operation in flight, or 0.
func (f *fdState) busyWith() Kind {
	if f.traits&forHangup != 0 {
		return Hangup
	}
	if f.inKind != 0 {
		return f.inKind
	}
	return f.outKind
}

// rewatch is Rewatch. A Watch that has ended is not asked any more.
func (r *readiness) rewatch(op *Op) {
	f := r.table.get(op.FD)
	switch {
	case !f.watches(op.Token):
	case r.armed != nil:
		r.armed.rewatch(op.FD, op.Edge)
		r.enqueue(op.FD, f)
	case op.Edge&EdgeOut != 0 && f.traits&forRoom == 0:
		f.traits |= forRoom
		if err := r.poller.widen(op.FD, f); err != nil {
			errno := syscall.ENOMEM
			errors.As(err, &errno)
			r.endWatch(f, errno)
		}
	}
}

func (f *fdState) watches(token Token) bool {
	return f != nil && f.inKind == Watch && f.inTok == token
}

// keepEdges keeps the edges of a Watch until they are taken.
func (f *fdState) keepEdges(e Edge) {
	f.left |= int32(e)
	f.in = f.left != 0
}

// takeEdges returns the completion that hands the edges out.
func (f *fdState) takeEdges() Completion {
	c := Completion{Token: f.inTok, Kind: Watch, More: true, Res: int(f.left)}
	f.in, f.left = false, 0
	return c
}

func (p *promise) edges() (e Edge) {
	if p.in {
		e |= EdgeIn
	}
	if p.out {
		e |= EdgeOut
	}
	if p.ended {
		e |= EdgeEnd
	}
	if p.urgent {
		e |= EdgeUrgent
	}
	if p.hung {
		e |= EdgeError
	}
	return e
}

// cancelWatch removes the descriptor from the kernel's watch as well: others may use it from now
// on, and close it without a notice.
func (r *readiness) cancelWatch(fd int, f *fdState) {
	r.endWatch(f, syscall.ECANCELED)
	if r.poller.unwatch(fd, f) {
		*f = fdState{seq: f.seq + 1}
	}
}

func (r *readiness) endWatch(f *fdState, errno syscall.Errno) {
	r.done.push(Completion{Token: f.inTok, Kind: Watch, Res: -int(errno)})
	f.inKind, f.in, f.left = 0, false, 0
}

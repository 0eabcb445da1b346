package core

import (
	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// An Outlet is a connection as other goroutines and other workers send on it. Its methods use
// fields that never change and fields that the mutex guards. Beside these the holder of the right
// may use the descriptor alone.
type Outlet Conn

// An outbox is the output of a connection that others than its task use, under the mutex.
type outbox struct {
	// The send in flight lies here, not with the task, so that its end can be dealt with where it
	// is noticed. Nearly always all of it was sent and nothing waits for it. Then the task need not
	// run.
	flight []byte // nil: none
	sent   int    // how much of it the kernel has taken; 0 when there is none
	// where it went, if that was not by the task, see Pass; nil: Conn.outgoing
	flightBy *engine.Driver

	// bytes in Conn.Out.Queued, behind it and held by TLS, as far as other goroutines need to know
	queued int
	files  int // the same of files
	excess int // the part of waits that the group's excess counts

	// its MadeRoom is called when nothing is left of what it waits for; nil: nobody waits for room
	waiter *duplex.Duplex
}

// fly makes b the flight, which a driver carries, or the task's own if that is nil.
func (o *outbox) fly(b []byte, by *engine.Driver) { o.flight, o.sent, o.flightBy = b, 0, by }

// unsent is how much of the send in flight the kernel has not taken.
func (o *outbox) unsent() int { return len(o.flight) - o.sent }

// idle reports whether nothing is sent, and nobody waits.
func (o *outbox) idle() bool {
	return o.flight == nil && o.queued == 0 && o.files == 0 && o.waiter == nil
}

// landed notes that n bytes of the flight are dealt with. If that was all, the hold is over, and
// told and waiter must be woken once the mutex is released.
func (in *inbox) landed(d *Driver, n int) (over bool, told sending.Told, waiter *duplex.Duplex) {
	o := in.Rest()
	if o.sent += n; o.sent < len(o.flight) {
		in.Right.Took(n)
		return false, told, nil
	}
	told, waiter = in.dropFlight(d, n)
	return true, told, waiter
}

// dropFlight ends the hold of the flight after n more bytes of it were sent.
func (in *inbox) dropFlight(d *Driver, n int) (told sending.Told, waiter *duplex.Duplex) {
	o := in.Rest()
	d.Buffers.Put(o.flight)
	o.fly(nil, nil)
	in.reckon(d.Group)
	told = in.Right.GiveUp(n, 0)
	waiter = in.roomFor(told.Waiter)
	in.spare(d)
	return told, waiter
}

// roomFor is the Duplex whose MadeRoom is to be called if it waits for room; nil: none.
func (in *inbox) roomFor(waits bool) (waiter *duplex.Duplex) {
	if o := in.Rest(); waits && o != nil {
		waiter, o.waiter = o.waiter, nil
	}
	return waiter
}

// awaitRoom notes that a Duplex waits for room. It returns what the right must learn.
func (in *inbox) awaitRoom(d *duplex.Duplex) uint64 {
	in.Need(nil).waiter = d
	return sending.Waits
}

// madeRoom is for the end of a hold that has reported a waiter.
func (o *Outlet) madeRoom() {
	o.Mu.Lock()
	waiter := o.Inbox.roomFor(true)
	o.Mu.Unlock()
	if waiter != nil {
		waiter.MadeRoom()
	}
}

// done ends the hold of a call of a goroutine that is not the task, in which n bytes were sent.
func (o *Outlet) done(n int) {
	told := o.Inbox.Right.GiveUp(n, 0)
	if told.Task {
		o.closeOrphan()
		o.Task.Wake()
	}
	if told.Waiter {
		o.madeRoom()
	}
}

// closeOrphan is for a hold whose end wakes the task. That is so if the workers have ended
// meanwhile: Conn.closeAbandoned closes the right before it leaves the descriptor to the holder.
func (o *Outlet) closeOrphan() {
	o.Mu.Lock()
	(*Conn)(o).closeOrphan()
	o.Mu.Unlock()
}

// carry gives the rest of the flight to a reactor, on the worker of driver d. Some backends know
// the result at once. Others may deliver it on another worker before Submit returns, so the flight
// must not be touched after Submit. At most left bytes are in flight.
func (o *Outlet) carry(d *Driver, to *engine.Driver, rest []byte, noWait bool) (left int, err error) {
	for len(rest) > 0 {
		if err = d.Submit(to, reactor.Op{Kind: reactor.Send, FD: o.Endpoint.FD, Token: o.Endpoint.Token, Buf: rest, TCP: (*Conn)(o).overTCP(), NoWait: noWait}); err != nil {
			o.land(d, 0, true)
			return 0, err
		}
		if d.Op.Sent == 0 {
			break
		}
		o.land(d, d.Op.Sent, false)
		rest = rest[d.Op.Sent:]
	}
	return len(rest), nil
}

// land notes that n bytes of the flight were sent, and wakes the waiters. If the rest is refused,
// the flight has ended.
func (o *Outlet) land(d *Driver, n int, refused bool) {
	var told sending.Told
	var waiter *duplex.Duplex
	o.Mu.Lock()
	if refused {
		told, waiter = o.Inbox.dropFlight(d, n)
	} else {
		_, told, waiter = o.Inbox.landed(d, n)
	}
	o.Mu.Unlock()
	if told.Task {
		d.Cx.Wake(o.Task.Waker())
	}
	if waiter != nil {
		waiter.MadeRoom()
	}
}

// Pass sends bytes that arrived on another connection, whose worker and task d belongs to, without
// a run of this one's task. It returns how much of p it has dealt with.
//
// The order is kept: the inbox says, as it does to Write, whether everything before has left from
// here. The descriptor stays open, as in Write, or as for any flight. An error is the caller's to
// deal with, since the kernel reports it once.
func (o *Outlet) Pass(d *Driver, p []byte) (n int, err error) {
	g := d.Group
	if g.Completes && len(p) < atOnce { // io_uring: the worker's next call submits it with all others
		if g.Bounded() { // the memory budget counts only the bytes of that task
			return 0, nil
		}
		return o.launch(d, p)
	}
	if !o.Inbox.Right.Try() {
		return 0, nil
	}
	n, errno := g.SendNow(o.Endpoint.FD, nil, p)
	told := o.Inbox.Right.GiveUp(n, 0)
	if told.Task {
		o.closeOrphan()
	}
	if errno != 0 && !IsTemporary(errno) {
		err = sock.Error("send", errno) // the caller wakes the task
	} else if told.Task {
		d.Cx.Wake(o.Task.Waker())
	}
	if told.Waiter {
		o.madeRoom()
	}
	return n, err
}

// launch makes a copy of p the flight, unless the right is taken, and returns how much of p it is.
// The mutex is held until the hold is an Operation's, and its flight is noted. tearDown may cancel
// that operation before it is submitted, and does not cancel it again. So it must not wait: one
// that waited for room would keep the connection from its end.
func (o *Outlet) launch(d *Driver, p []byte) (int, error) {
	o.Mu.Lock()
	in := &o.Inbox
	if !in.Right.Try() {
		o.Mu.Unlock()
		return 0, nil
	}
	in.Right.Pass(sending.Operation)
	own := append(d.Buffers.Get(len(p)), p...)
	in.Need(&d.freeQueues).fly(own, d.Engine())
	o.Mu.Unlock()
	_, err := o.carry(d, d.Engine(), own, true)
	return len(p), err
}

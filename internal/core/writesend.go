package core

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sending"
)

// send starts a send if something is queued and nobody holds the right. It returns the number of
// bytes that are unsent. If that is not zero, the task runs again when the present hold ends and
// more is to be sent. With tell it runs again in any case. The end comes either before the lock is
// taken here, and is seen, or after, and wakes the task.
func (w *writer) send(tell bool) int {
	c := w.c
	if c.Is(SendFailed) {
		w.dropOutput()
		return 0
	}
	if !tell && c.Group.SendsFirst && w.sendQueue() {
		return 0
	}
	memory, files := w.Pending()
	if memory > 0 || files > 0 {
		w.fetch()
		memory, files = w.Pending()
	}
	f, r := c.Filter(), c.Spliced()
	sealed := f.seal(c)
	tell = tell || !sealed || memory > 0 || files > 0 || r != nil && r.Asked
	awaited := tell // so the worker's Poll is to return with the send's end
	c.Mu.Lock()
	in := &c.Inbox
	var start []byte
	early := f.early()
	if len(w.Out.Queued) > 0 || memory > 0 || files > 0 || early > 0 {
		in.Need(&c.Driver.freeQueues)
	}
	tell = tell || in.Commands() > 0
	o := in.Rest()
	if len(w.Out.Queued) > 0 && sealed && in.Right.Take(sending.Operation, tell) {
		start = w.Out.Take()
		o.fly(start, nil)
		awaited = awaited || o.waiter != nil
	} else if tell || len(w.Out.Queued) > 0 {
		in.Right.Want()
	}
	coming := 0 // from Outlet.Write, and takeOver is about to run
	if c.Is(WriteClosed | Closing) {
		coming = in.Shut()
	}
	if o != nil {
		o.queued, o.files = len(w.Out.Queued)+memory+early+w.toWrite, clampInt(files)
		in.reckon(c.Group)
	}
	var waiter *duplex.Duplex
	switch {
	case o != nil && o.queued+o.files+in.Bytes() > 0:
		in.Right.Queue(0)
	case in.Right.IsQueued():
		waiter = in.roomFor(in.Right.Drained())
	}
	w.InFlight = in.sending()
	in.spare(c.Driver)
	c.Mu.Unlock()
	if waiter != nil {
		waiter.MadeRoom()
	}
	if start != nil {
		w.transmit(start, len(start) < atOnce && !awaited)
	}
	if !sealed {
		return max(1, c.Unsent()) // there may be a close-notify to be sent
	}
	return c.Unsent() + coming
}

// progress is how much is unsent and how much the kernel has taken in all, as of one moment. Bytes
// that wait for a handshake are unsent.
func (w *writer) progress() (unsent int, taken uint64) {
	memory, files := w.Pending()
	c := w.c
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(w.Out.Queued) + c.Inbox.unsent() + memory + c.Filter().early() + clampInt(files), c.Inbox.Right.Sent()
}

// wantsToSeal reports whether a send is in flight. Then the task runs at its end. Else last reports
// whether the bytes that are to be sealed are the last ones, if the task says so: the inbox takes
// no bytes after that, and those that Outlet.Write has queued come before.
func (w *writer) wantsToSeal(bye bool) (flying, last bool) {
	c := w.c
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.Inbox.Right.Want() {
		return true, bye
	}
	return false, bye && c.Inbox.Shut() == 0
}

// roomCame ends a wait for room.
func (w *writer) roomCame() {
	w.c.Mu.Lock()
	defer w.c.Mu.Unlock()
	w.c.Inbox.Right.RoomCame()
}

// resend goes on with a send that ended before all was sent.
func (w *writer) resend() {
	c := w.c
	c.Mu.Lock()
	o := c.Inbox.Rest()
	rest := o.flight[o.sent:]
	o.flightBy = nil
	c.Mu.Unlock()
	w.transmit(rest, false)
}

// sendEnd deals with a send that ended before all was sent.
func (w *writer) sendEnd(errno syscall.Errno) {
	c := w.c
	switch errno {
	case 0, syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		if !c.Is(Broken | SendFailed) {
			w.resend()
			return
		}
	case syscall.ECANCELED:
	default:
		c.FailSend(c.SysError("write", "send", errno))
	}
	c.Set(Reset) // the rest of the flight is not sent
	c.Mu.Lock()
	o := c.Inbox.Rest()
	c.Driver.Buffers.Put(o.flight)
	o.fly(nil, nil)
	w.InFlight = 0
	c.Inbox.Right.GiveUp(0, 0)
	c.Mu.Unlock()
}

// carrier is the driver that takes a Connect or Send. There is one of either in
// flight at a time, so that the order is kept whichever reactor carries it.
func (w *writer) carrier() *engine.Driver {
	c := w.c
	c.outgoing = c.Driver.Via(c.Home)
	if c.Home == nil {
		c.Home = c.outgoing
	}
	return c.outgoing
}

// transmit gives the kernel the rest of the flight. With noWait there is probably room for it, so
// the send need not wait for room. If there is none, resend makes it wait. A Poll does not return
// for the end of a send with noWait, so nothing may wait for it.
func (w *writer) transmit(rest []byte, noWait bool) {
	c := w.c
	left, err := (*Outlet)(c).carry(c.Driver, w.carrier(), rest, noWait)
	w.InFlight = left
	if err != nil {
		c.FailWrite(c.OpError("write", err))
	}
}

// SendBefore tells Outlet.Write of queued bytes, which it would overtake.
func (w *writer) SendBefore() {
	if len(w.Out.Queued) > 0 || w.Out.Files() > 0 {
		w.send(false)
	}
}

package core

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// atOnce is the size from which on a write is sent before it returns. A copy of that many bytes
// costs more than the system call that it would save.
const atOnce = 16 << 10

// A direct call is a system call by which the task itself sends: of a large write, of the queue, of
// a file, of a splice's pipe or buffers. The task holds the right from Begin on, until Done or
// AwaitRoom.

// Begin takes the right for a direct call. If it reports false, the task runs again when the
// present hold ends.
func (w *writer) Begin() bool { return w.c.Inbox.Right.Take(sending.Call, false) }

// Done ends the hold of a direct call, in which the kernel took n bytes.
func (w *writer) Done(n int) {
	// the task need not be woken: it runs
	if told := w.c.Inbox.Right.GiveUp(n, 0); told.Waiter {
		(*Outlet)(w.c).madeRoom()
	}
}

// AwaitRoom is done for a call that has found too little room: the hold goes on until there is more
// room, and the task runs then.
func (w *writer) AwaitRoom(n int) {
	c := w.c
	c.Inbox.Right.Took(n)
	c.Inbox.Right.Pass(sending.Room)
	c.submit(w.carrier(), reactor.Op{Kind: reactor.Writable, FD: c.Endpoint.FD, Token: c.Endpoint.Token})
	if c.Is(Broken) {
		w.roomCame()
	}
}

// writeNow sends a large write, and the queue ahead of it, straight from where they lie, as far as
// the socket takes them. It does nothing while anybody sends. It returns how much of p the kernel
// has taken; the caller queues the rest. An error ends the connection, since the kernel reports it
// once.
func (w *writer) writeNow(p []byte) int {
	c := w.c
	if !c.Is(Opened) || c.Is(SendFailed) || c.Filter() != nil || w.InFlight > 0 {
		return 0
	}
	if memory, files := w.Pending(); memory > 0 || files > 0 || !w.Begin() {
		return 0
	}
	n, errno := c.Group.SendNow(c.Endpoint.FD, w.Out.Queued, p)
	if errno != 0 {
		if n = 0; !IsTemporary(errno) {
			c.FailSend(c.SysError("write", "send", errno))
		}
	}
	w.Done(n)
	if n == 0 {
		return 0
	}
	if left := len(w.Out.Queued) - n; left > 0 {
		w.Out.Queued = w.Out.Queued[:copy(w.Out.Queued, w.Out.Queued[n:])]
		return 0
	}
	n -= len(w.Out.Queued)
	if n < len(p) {
		w.Out.Queued = w.Out.Queued[:0] // not given back: p may lie in it (see AvailableBuffer)
		return n
	}
	c.Driver.Buffers.Put(w.Out.Queued)
	w.Out.Queued = nil
	return n
}

// sendQueue sends the queued bytes. It is for backends that would make the same call at once. It
// reports whether nothing is left to be sent: nearly always the socket takes all of it. Nobody can
// have noticed the queue, so it takes no lock and leaves the outbox alone. It does nothing while
// anybody sends, and if there is more to be sent than the queue.
func (w *writer) sendQueue() bool {
	c := w.c
	if len(w.Out.Queued) == 0 || w.Out.Files() > 0 || c.Is(WriteClosed|Closing) || c.Filter() != nil || c.Spliced() != nil || !c.Inbox.Right.Try() {
		return false
	}
	n, errno := c.Group.SendNow(c.Endpoint.FD, w.Out.Queued, nil)
	w.Done(n)
	w.InFlight = 0
	if errno != 0 && !IsTemporary(errno) {
		c.FailSend(c.SysError("write", "send", errno))
		return true
	}
	return w.sent(n)
}

// sent forgets the first n bytes of the queue. It reports whether that was all.
func (w *writer) sent(n int) bool {
	if n < len(w.Out.Queued) {
		w.Out.Queued = w.Out.Queued[:copy(w.Out.Queued, w.Out.Queued[n:])]
		return false
	}
	w.c.Driver.Buffers.Put(w.Out.Take())
	return true
}

// SendNow sends as much of first and second as the socket takes, in whole segments, as
// reactor.Calls.TrySend does. An error that is not temporary may come with some bytes.
func (g *Group) SendNow(fd int, first, second []byte) (sent int, errno syscall.Errno) {
	if n := len(first) + len(second); 0 < n && n <= sock.CallSize {
		return g.Calls.TrySend(fd, first, second)
	}
	for calls := sock.CallsOf(fd, first, second); calls.More(); {
		n, errno := g.Calls.TrySend(fd, calls.First, calls.Second)
		switch {
		case errno == 0:
		case sent > 0 && IsTemporary(errno):
			return sent, 0
		default:
			return sent, errno
		}
		sent += n
		calls.Took(n)
	}
	return sent, 0
}

// IsTemporary reports whether a call is worth another try.
func IsTemporary(errno syscall.Errno) bool {
	return errno == syscall.EAGAIN || errno == syscall.EINTR || errno == syscall.ENOBUFS
}

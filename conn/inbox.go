package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/reactor"
)

// An inbox is where everything that concerns a connection waits for its task:
// the kernel's completions and other goroutines' commands. Completions are put
// in by the worker that takes them from a reactor (see Driver), perhaps while
// the task runs on another; the task takes everything out. Nothing else of a
// connection is touched by both.
type inbox struct {
	chunks   []reactor.Buffer // received, in order, all of them at home
	commands []command
	bytes    int  // of the commands' data
	queued   int  // bytes in Conn.queued, as far as other goroutines need to know
	shed     bool // it is to make room for others
	closed   bool // commands are refused: the connection is about to be gone

	recvEnded, sendEnded, connectEnded bool
	recvErrno, sendErrno, connectErrno syscall.Errno

	// The send in flight lies here, not with the task, so that its end can be
	// dealt with where it is noticed: nearly always everything was sent and
	// nothing waits for it, and then the task need not run.
	flight []byte // nil: none
	sent   int    // how much of it the kernel has taken; 0 when there is none
	taken  uint64 // bytes the kernel has taken in all

	received uint64 // bytes that came in all
	tellEnd  bool   // the task wants to run when it ends

	direct bool    // a goroutine is about to send, in put: as if something were in flight
	waiter *Socket // whoever writes to it is told when something was sent; nil: nobody
}

// A command is what another goroutine asks of a connection.
type command struct {
	kind commandKind
	data []byte
	do   func(*Conn)
}

type commandKind uint8

const (
	cmdSend commandKind = iota
	cmdPut              // the same, of put: data is a buffer of the pools
	cmdDo
	cmdClose
	cmdAbort
	cmdDrain
	cmdShed
)

// deliver puts a completion into the inbox and wakes the task, which by then
// may have seen the completion, and be over: waking it does nothing then.
func (c *Conn) deliver(d *Driver, e *reactor.Completion) {
	c.mu.Lock()
	in := &c.inbox
	wake := true
	var waiter *Socket
	switch e.Kind {
	case reactor.Recv:
		if e.Res > 0 {
			if in.chunks == nil {
				in.chunks = d.chunkList()
			}
			in.chunks = append(in.chunks, e.Buf)
			in.received += uint64(e.Res)
		}
		if !e.More {
			in.recvEnded, in.recvErrno = true, e.Errno()
			if e.Res > 0 {
				in.recvErrno = syscall.EAGAIN // ended without a reason: arm again
			}
		}
	case reactor.Send:
		if c.group.bounded() {
			c.book(c.charge.unsent-max(0, e.Res), c.charge.unread)
		}
		in.sent += max(0, e.Res)
		in.taken += uint64(max(0, e.Res))
		if in.sent == len(in.flight) {
			d.buffers.put(in.flight)
			in.flight, in.sent = nil, 0
			wake = in.tellEnd
			waiter, in.waiter = in.waiter, nil
		} else {
			in.sendEnded, in.sendErrno = true, e.Errno()
		}
	case reactor.Connect:
		in.connectEnded, in.connectErrno = true, e.Errno()
	}
	c.mu.Unlock()
	if wake {
		d.cx.Wake(c.task.Waker())
	}
	if waiter != nil {
		waiter.madeRoom()
	}
	if e.Kind == reactor.Send && c.group.bounded() {
		c.group.passOn()
	}
}

// tell puts a command into the inbox. It returns net.ErrClosed when the
// connection is gone and ErrWriteQueueFull when too much data waits.
func (c *Conn) tell(cmd command) error {
	c.mu.Lock()
	in := &c.inbox
	switch {
	case in.closed:
		c.mu.Unlock()
		return errGone
	case len(cmd.data) > 0 && in.bytes+in.queued+len(in.flight)-in.sent >= c.group.cfg.MaxWrite:
		c.mu.Unlock()
		return ErrWriteQueueFull
	}
	in.commands = append(in.commands, cmd)
	in.bytes += len(cmd.data)
	c.mu.Unlock()
	c.task.Wake()
	return nil
}

// news is what a run of the task has to deal with.
type news struct {
	chunks                             []reactor.Buffer
	next                               int // the first chunk not yet dealt with
	commands                           []command
	recvEnded, connectEnded, sendEnded bool
	recvErrno, connectErrno, sendErrno syscall.Errno
	unsent                             int // bytes in flight, 1 at least while put sends
}

// collect empties the inbox.
func (c *Conn) collect(n *news) {
	c.mu.Lock()
	in := &c.inbox
	n.chunks, in.chunks = in.chunks, nil
	n.commands, in.commands = in.commands, nil
	in.queued, in.bytes = in.queued+in.bytes, 0 // send sets queued right again
	n.recvEnded, n.recvErrno, in.recvEnded = in.recvEnded, in.recvErrno, false
	n.sendEnded, n.sendErrno, in.sendEnded = in.sendEnded, in.sendErrno, false
	n.connectEnded, n.connectErrno, in.connectEnded = in.connectEnded, in.connectErrno, false
	n.unsent = in.unsent()
	c.mu.Unlock()
}

// unsent is how much is in flight, as far as is known. What put is sending counts 1.
// The lock is held.
func (in *inbox) unsent() int {
	if in.direct {
		return 1
	}
	return len(in.flight) - in.sent
}

// taken is how many bytes the kernel has taken in all.
func (c *Conn) taken() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inbox.taken
}

// progress is how much is unsent, and how much the kernel has taken in all, as of one
// moment.
func (c *Conn) progress() (unsent int, taken uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queued) + len(c.inbox.flight) - c.inbox.sent, c.inbox.taken
}

// putBack returns what has not been dealt with to the inbox, before what came
// meanwhile: chunks alone, since with the end of the receive none comes.
func (c *Conn) putBack(n *news) {
	rest := n.chunks[:copy(n.chunks, n.chunks[n.next:])]
	n.chunks, n.next = nil, 0
	c.mu.Lock()
	in := &c.inbox
	came := in.chunks
	in.chunks = append(rest, came...)
	if n.recvEnded {
		n.recvEnded = false
		in.recvEnded, in.recvErrno = true, n.recvErrno
	}
	c.mu.Unlock()
	c.driver.recycle(came)
}

package core

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/inline"
	"github.com/suiro-go/suiro/internal/mailbox"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/reactor"
)

// An inbox is where the kernel's completions and other goroutines' commands wait for a connection's
// task. The worker that takes completions from a reactor puts them in (see Driver), perhaps while
// the task runs on another worker. The task takes everything out. Nothing else of a connection is
// used by both.
type inbox struct {
	box
	// who sends, and the bytes the kernel has taken in all
	Right    sending.Right
	received uint64 // bytes that came in all
}

type (
	box        = mailbox.Box[reactor.Buffer, Command, queueRest]
	freeQueues = mailbox.FreeQueues[reactor.Buffer, Command, queueRest]
)

// The signs of a connection, beside the ends of receives and sends. The end of a Connect is that
// of a send while connecting, when nothing is sent.
const (
	readable   mailbox.Signs = mailbox.SendEnded << (1 + iota) // a Readable has ended
	writable                                                   // a Writable has ended
	watchHung                                                  // the peer has reset the connection
	watchOver                                                  // the Hangup has ended
	watchEnded                                                 // the receive may have missed something: see doubt

	unstarted    mailbox.Signs = 1 << 13 // startDialed is going to wake the task
	endAsked     mailbox.Signs = 1 << 14 // a command was accepted that ends the connection; for good
	watchDoubted mailbox.Signs = 1 << 15 // a worker is going to look, see doubt
)

// queueRest is the part of the queue that concerns the output and few connections.
type queueRest struct {
	outbox

	duplicates int  // of the descriptor that functions of a RawConn have
	calls      int  // functions of Handle.Do that have not been called
	orphaned   bool // the holder of the right is to close the descriptor: the workers have ended
}

// spare gives the queue back if nothing is in it. The mutex is held.
func (in *inbox) spare(d *Driver) {
	if o := in.Rest(); o != nil && o.idle() && o.calls == 0 && o.duplicates == 0 {
		if o.excess != 0 {
			in.reckon(d.Group)
		}
		in.Spare(&d.freeQueues, o.excess == 0)
	}
}

// unsent is how much of the send in flight the kernel has not taken.
func (in *inbox) unsent() int {
	if o := in.Rest(); o != nil {
		return o.unsent()
	}
	return 0
}

// sending is unsent, or 1 while a call sends: something is, and nobody knows how much.
func (in *inbox) sending() int {
	if in.Right.Holder() == sending.Call {
		return 1
	}
	return in.unsent()
}

// waits is how much has been written, by the handler or others, that the kernel has not taken.
func (in *inbox) waits() int {
	if o := in.Rest(); o != nil {
		return o.queued + in.Bytes() + o.unsent()
	}
	return 0
}

// A Command is what another goroutine asks of a connection.
type Command struct {
	Kind    commandKind
	counted bool // in queueRest.calls
	Data    []byte
	What    any // a function, or of CmdSplice a Joiner
}

type commandKind uint8

const (
	CmdSend  commandKind = iota
	cmdWrite             // the same, of Outlet.Write: data is a buffer of the pools
	CmdDo
	CmdClose
	CmdAbort
	cmdDrain
	cmdStage // a stage of Group.Shutdown has begun
	CmdSplice
	cmdRaw   // data, before or beneath the handler's bytes
	CmdInner // do, of this package: it does not wait for the handshake
	CmdFile  // the same, and do queues a file
)

// ends reports whether the command closes the connection, or aborts it.
func (cmd *Command) ends() bool { return cmd.Kind == CmdClose || cmd.Kind == CmdAbort }

// cause is why the connection ends by the command.
func (cmd *Command) cause() error {
	if cmd.Kind == CmdAbort {
		return errAborted
	}
	return nil
}

// Deliver implements engine.Target. It puts a completion into the inbox and wakes the task. The
// task may have seen the completion by then, and be over: waking it does nothing then.
func (t *connTarget) Deliver(by *engine.Driver, e *reactor.Completion) {
	c, d := (*Conn)(t), DriverOf(by)
	if d.KeepLocal && e.Kind == reactor.Recv && e.Res > 0 && e.More && inline.Enter(d.Cx, &c.Task) {
		over := through(c, d, e)
		inline.Leave(d.Cx, &c.Task)
		if over {
			return
		}
	}
	c.Mu.Lock()
	in := &c.Inbox
	wake := true
	var waiter *duplex.Duplex
	switch e.Kind {
	case reactor.Recv:
		if e.Res > 0 {
			in.Arrived(&d.freeQueues, d, e.Buf)
			in.received += uint64(e.Res)
			in.doubt(c, d)
		}
		if !e.More {
			errno := e.Errno()
			if e.Res > 0 {
				errno = syscall.EAGAIN // ended without a reason: arm again
			}
			in.RecvEnd(uint32(errno))
		}
	case reactor.Send:
		if c.Group.Bounded() {
			c.Group.Budget.Sent(&c.Extras.Usage, max(0, e.Res))
		}
		var over bool
		var told sending.Told
		// the next run of the task asks again if it needs to run at the end of the next hold
		if over, told, waiter = in.landed(d, max(0, e.Res)); over {
			wake = told.Task
		} else {
			in.SendEnd(uint32(e.Errno()))
		}
	case reactor.Readable:
		in.Sign(readable)
	case reactor.Writable:
		in.Sign(writable)
	case reactor.Hangup:
		if e.Res == 0 {
			in.Sign(watchHung)
		}
		if !e.More {
			in.Sign(watchOver)
		}
	case reactor.Connect:
		in.SendEnd(uint32(e.Errno()))
	}
	c.Mu.Unlock()
	if wake {
		d.Cx.Wake(c.Task.Waker())
	}
	if waiter != nil {
		waiter.MadeRoom()
	}
	if e.Kind == reactor.Send && c.Group.Bounded() {
		c.Group.MemoryFreed()
	}
}

// Tell puts a command into the inbox. It returns net.ErrClosed when the
// connection is gone and ErrWriteQueueFull when too much data waits.
func (c *Conn) Tell(cmd Command) error {
	c.Mu.Lock()
	in := &c.Inbox
	switch {
	// a handshake's own bytes (cmdRaw) are always taken
	case cmd.Kind == CmdSend && len(cmd.Data) > 0 && !in.Closed() && !c.Group.mayQueue(in.waits()):
		c.Mu.Unlock()
		return ErrWriteQueueFull
	case cmd.counted && in.Rest() != nil && !in.Closed() && in.Rest().calls >= engine.MaxPendingCalls:
		c.Mu.Unlock()
		return ErrTooManyCalls
	case !in.Tell(cmd, len(cmd.Data)):
		c.Mu.Unlock()
		return ErrGone
	}
	if cmd.ends() {
		in.Sign(endAsked)
	}
	if len(cmd.Data) > 0 || cmd.Kind == CmdFile {
		in.Right.Queue(0) // the wake-up below is for all commands
	}
	in.reckon(c.Group)
	if cmd.counted {
		in.Rest().calls++
	}
	waits := in.Signs().Is(unstarted)
	c.Mu.Unlock()
	if !waits {
		c.Task.Wake()
	}
	if cmd.ends() { // the task may be within the call that its context is to end
		c.EndContext(cmd.cause())
	}
	return nil
}

// runInput is the input of a run of the task.
type runInput struct {
	mailbox.Batch[reactor.Buffer, Command]
	next         int // the first chunk not yet dealt with
	told         int // the first command not yet executed
	connectEnded bool
	unsent       int // bytes in flight, 1 at least while Outlet.Write sends
}

// collect empties the inbox.
func (n *runInput) collect(c *Conn) {
	c.Mu.Lock()
	in := &c.Inbox
	in.Take(&n.Batch)
	if n.Signs.Is(writable) {
		in.Right.RoomCame()
	}
	if o := in.Rest(); o != nil {
		o.queued += n.Bytes // send sets queued right again
	}
	c.toWrite = n.Bytes
	if c.Is(connecting) && n.Signs.Is(mailbox.SendEnded) {
		n.connectEnded = true
		n.Signs &^= mailbox.SendEnded
	}
	n.unsent = in.sending()
	if c.Group.SendsFirst || c.Spliced() != nil {
		in.spare(c.Driver) // send may have nothing to do
	}
	c.Mu.Unlock()
}

// putBack returns the unused rest to the inbox, before anything that arrived meanwhile.
func (n *runInput) putBack(c *Conn) {
	rest := n.Chunks[:copy(n.Chunks, n.Chunks[n.next:])]
	n.Chunks, n.next = nil, 0
	c.Mu.Lock()
	came := c.Inbox.PutBack(&c.Driver.freeQueues, rest, &n.Batch)
	c.Mu.Unlock()
	c.Driver.Recycle(came)
}

// drop gives back the part of a run's input that a panic or an exit left undone.
func (n *runInput) drop(c *Conn) {
	for ; n.next < len(n.Chunks); n.next++ {
		c.Home.R.Release(n.Chunks[n.next])
	}
	if n.Signs.Is(mailbox.RecvEnded) { // nothing is left to be canceled
		n.Signs &^= mailbox.RecvEnded
		c.Reading.Clear(receiving | stopping)
	}
	for n.told < len(n.Commands) { // a splice has another end
		n.told++
		if cmd := &n.Commands[n.told-1]; cmd.Kind == CmdSplice {
			cmd.What.(Joiner).Join(c)
		}
	}
	c.Driver.Recycle(n.Chunks)
	n.Chunks, n.next = nil, 0
}

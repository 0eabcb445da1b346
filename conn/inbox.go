package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/reactor"
)

// An inbox is where the kernel's completions and other goroutines' commands wait for a connection's
// task. The worker that takes completions from a reactor puts them in (see driver), perhaps while
// the task runs on another worker. The task takes everything out. Nothing else of a connection is
// used by both.
type inbox struct {
	*mail // nil: there is none
	// who sends, and the bytes the kernel has taken in all; it changes under the mutex
	right    sending.Right
	received uint64 // bytes that came in all

	takes intake

	recvEnded, sendEnded bool // sendEnded: of a Connect while connecting, when nothing is sent
	readable, writable   bool // a Readable or Writable has ended
	watch                watchNews
	recvErrno, sendErrno uint32
}

// An intake says what other goroutines may still put in.
type intake uint8

const (
	takesAll intake = iota
	// goroutines' writes are refused: the FIN is sent after the bytes written before
	takesNoPut
	takesNothing // commands are: the connection is about to be gone
)

// closed reports that no command is taken any more.
func (in *inbox) closed() bool { return in.takes == takesNothing }

// watchNews is the news of a Hangup or a look. One byte keeps an idle Conn small.
type watchNews uint8

const (
	watchHung    watchNews = 1 << iota // the peer has reset the connection
	watchOver                          // the Hangup has ended
	watchDoubted                       // a worker is going to look, see doubt
	watchEnded                         // it has, and the receive may never report the end
)

// mail is the part of an inbox that is needed only at times. An idle connection's inbox has none,
// so that many of them are cheap.
type mail struct {
	chunks   []reactor.Buffer // received, in order, all of them at home
	commands []command
	bytes    int // of the commands' data
	// bytes in Conn.out.Queued, behind it and held by TLS, as far as other goroutines need to know
	queued int
	excess int // the part of waits that the group's excess counts
	files  int // the same of files

	// The send in flight lies here, not with the task, so that its end can be dealt with where it
	// is noticed. Nearly always all of it was sent and nothing waits for it. Then the task need not
	// run.
	flight []byte // nil: none
	sent   int    // how much of it the kernel has taken; 0 when there is none
	// where it went, if that was not by the task, see passNow; nil: Conn.outgoing
	lent *engine.Driver

	// its MadeRoom is called when the flight or the hold ends; nil: nobody waits for room
	waiter *duplex.Duplex

	duplicates int // of the descriptor that functions of a RawConn have
	calls      int // functions of Handle.Do that have not been called
}

// need sees to it that there is mail to write to.
func (in *inbox) need(d *driver) {
	if in.mail == nil {
		in.mail = d.mails.Get()
	}
}

// spare gives the mail back if nothing is in it. Both need the connection's mutex.
func (in *inbox) spare(d *driver) {
	if m := in.mail; m != nil && m.flight == nil && m.chunks == nil && m.commands == nil && m.queued == 0 && m.files == 0 && m.waiter == nil && m.calls == 0 && m.duplicates == 0 {
		in.reckon(d.group)
		in.mail = nil
		d.mails.Put(m)
	}
}

// unsent is how much of the send in flight the kernel has not taken.
func (in *inbox) unsent() int {
	if in.mail == nil {
		return 0
	}
	return len(in.flight) - in.sent
}

// sending is unsent, or 1 while a call sends: something is, and nobody knows how much.
func (in *inbox) sending() int {
	if in.right.Held() == sending.Call {
		return 1
	}
	return in.unsent()
}

// waits is how much has been written, by the handler or others, that the kernel has not taken.
func (in *inbox) waits() int {
	if in.mail == nil {
		return 0
	}
	return in.queued + in.bytes + in.unsent()
}

// A command is what another goroutine asks of a connection.
type command struct {
	kind    commandKind
	counted bool // in inbox.calls
	data    []byte
	do      func(*Conn)

	splice *Spliced
}

type commandKind uint8

const (
	cmdSend commandKind = iota
	cmdPut              // the same, of put: data is a buffer of the pools
	cmdDo
	cmdClose
	cmdAbort
	cmdDrain
	cmdStage // a stage of Group.Shutdown has begun
	cmdShed
	cmdSplice
	cmdRaw   // data, before or beneath the handler's bytes
	cmdInner // do, of this package: it does not wait for the handshake
)

// deliver puts a completion into the inbox and wakes the task. The task may have seen the
// completion by then, and be over: waking it does nothing then.
func (c *Conn) deliver(d *driver, e *reactor.Completion) {
	if d.Keeps && e.Kind == reactor.Recv && e.Res > 0 && e.More && d.Cx.Enter(&c.task) {
		over := c.through(d, e)
		d.Cx.Leave(&c.task)
		if over {
			return
		}
	}
	c.mu.Lock()
	in := &c.inbox
	wake := true
	var waiter *duplex.Duplex
	switch e.Kind {
	case reactor.Recv:
		if e.Res > 0 {
			in.need(d)
			if in.chunks == nil {
				in.chunks = d.ChunkList()
			}
			in.chunks = append(in.chunks, e.Buf)
			in.received += uint64(e.Res)
			c.doubt(d)
		}
		if !e.More {
			in.recvEnded, in.recvErrno = true, uint32(e.Errno())
			if e.Res > 0 {
				in.recvErrno = uint32(syscall.EAGAIN) // ended without a reason: arm again
			}
		}
	case reactor.Send:
		if c.group.bounded() {
			c.group.ledger.Sent(&c.extras.charge, max(0, e.Res))
		}
		n := max(0, e.Res)
		if in.sent += n; in.sent == len(in.flight) {
			d.buffers.Put(in.flight)
			in.flight, in.sent = nil, 0
			in.reckon(c.group)
			// the next run of the task asks again if it needs to run at the end of the next hold
			wake = in.right.GiveUp(n, 0).Task
			waiter, in.waiter = in.waiter, nil
			in.spare(d)
		} else {
			in.right.Took(n)
			in.sendEnded, in.sendErrno = true, uint32(e.Errno())
		}
	case reactor.Readable:
		in.readable = true
	case reactor.Writable:
		in.writable = true
	case reactor.Hangup:
		if e.Res == 0 {
			in.watch |= watchHung
		}
		if !e.More {
			in.watch |= watchOver
		}
	case reactor.Connect:
		in.sendEnded, in.sendErrno = true, uint32(e.Errno())
	}
	c.mu.Unlock()
	if wake {
		d.Cx.Wake(c.task.Waker())
	}
	if waiter != nil {
		waiter.MadeRoom()
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
	case in.closed():
		c.mu.Unlock()
		return errGone
	// a handshake's own bytes (cmdRaw) are always taken
	case cmd.kind == cmdSend && len(cmd.data) > 0 && !c.group.mayQueue(in.waits()):
		c.mu.Unlock()
		return ErrWriteQueueFull
	case cmd.counted && in.mail != nil && in.calls >= engine.MaxPendingCalls:
		c.mu.Unlock()
		return ErrTooManyCalls
	}
	if in.mail == nil {
		in.mail = new(mail) // some driver's from then on
	}
	in.commands = append(in.commands, cmd)
	if in.bytes += len(cmd.data); len(cmd.data) > 0 {
		in.right.Queue(0) // the wake-up below is for all commands
	}
	in.reckon(c.group)
	if cmd.counted {
		in.calls++
	}
	c.mu.Unlock()
	c.task.Wake()
	return nil
}

// news is the input of a run of the task.
type news struct {
	chunks                             []reactor.Buffer
	next                               int // the first chunk not yet dealt with
	told                               int // the first command not yet executed
	commands                           []command
	recvEnded, connectEnded, sendEnded bool
	recvErrno, connectErrno, sendErrno syscall.Errno
	readable, writable                 bool
	hung, watchEnded, overlooked       bool
	unsent                             int // bytes in flight, 1 at least while put sends
}

// collect empties the inbox.
func (c *Conn) collect(n *news) {
	c.mu.Lock()
	in := &c.inbox
	c.toWrite = 0
	if in.mail != nil {
		n.chunks, in.chunks = in.chunks, nil
		n.commands, in.commands = in.commands, nil
		c.toWrite = in.bytes
		in.queued, in.bytes = in.queued+in.bytes, 0 // send sets queued right again
	}
	n.recvEnded, n.recvErrno, in.recvEnded = in.recvEnded, syscall.Errno(in.recvErrno), false
	n.sendEnded, n.sendErrno, in.sendEnded = in.sendEnded, syscall.Errno(in.sendErrno), false
	if c.is(connecting) {
		n.connectEnded, n.connectErrno, n.sendEnded = n.sendEnded, n.sendErrno, false
	}
	n.readable, in.readable = in.readable, false
	n.writable, in.writable = in.writable, false
	n.hung, n.watchEnded, n.overlooked = in.watch&watchHung != 0, in.watch&watchOver != 0, in.watch&watchEnded != 0
	in.watch &= watchDoubted
	n.unsent = in.sending()
	if c.spliced() != nil {
		in.spare(c.driver) // send may have nothing to do
	}
	c.mu.Unlock()
}

// taken is how many bytes the kernel has taken in all.
func (c *Conn) taken() uint64 { return c.inbox.right.Sent() + c.passedOut() }

// progress is how much is unsent and how much the kernel has taken in all, as of one moment. Bytes
// that wait for a handshake are unsent.
func (c *Conn) progress() (unsent int, taken uint64) {
	memory, files := c.pending()
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.out.Queued) + c.inbox.unsent() + memory + c.filter().early() + clampInt(files), c.taken()
}

// putBack returns the unused rest to the inbox, before anything that arrived meanwhile. That can
// only be chunks, since after the end of the receive none arrives.
func (c *Conn) putBack(n *news) {
	rest := n.chunks[:copy(n.chunks, n.chunks[n.next:])]
	n.chunks, n.next = nil, 0
	c.mu.Lock()
	in := &c.inbox
	in.need(c.driver)
	came := in.chunks
	in.chunks = append(rest, came...)
	if n.recvEnded {
		n.recvEnded = false
		in.recvEnded, in.recvErrno = true, uint32(n.recvErrno)
	}
	c.mu.Unlock()
	c.driver.Recycle(came)
}

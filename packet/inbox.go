package packet

import (
	"net/netip"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// An inbox has the completions and commands that wait for a Conn's task.
type inbox struct {
	chunks   []reactor.Buffer // received, in order, all of them at home
	commands []command
	bytes    int  // cost of the datagrams among the commands
	queued   int  // cost of Conn.out, for other goroutines; Conn.send sets it
	ending   bool // sends are refused: Close or Abort was called, or an error ends the socket
	closed   bool // commands are refused: the socket is about to be gone
	gone     bool // the task closes or has closed the descriptor
	calls    int  // number of Handle.Do's functions among the commands

	syscalls int  // number of other goroutines' system calls in progress; the descriptor stays open
	severed  bool // the descriptor is an inert one
	dead     bool // the workers have stopped: the task runs no more

	recvEnded bool
	recvErrno syscall.Errno

	// flight is the batch in flight. If all of it was sent without an error, the task need not run
	// at its end. Else the batch becomes failed.
	flight    *reactor.Batch
	failed    *reactor.Batch
	wakeAtEnd bool // the task runs when the batch in flight ends
	patient   bool // the reactor of the batch in flight may hold beyond its end

	noSegments bool // the kernel has refused segments as such
}

// A command is a request of another goroutine to a packet socket's task.
type command struct {
	kind commandKind
	data []byte
	from netip.Addr // invalid: the kernel chooses
	to   netip.AddrPort
	do   func(*Conn)
}

type commandKind uint8

const (
	cmdSend commandKind = iota
	cmdDo
	cmdClose
	cmdAbort
	cmdDrain
	cmdStage   // a stage of the group's end has begun
	cmdSession // do ends a session; it also runs when the socket is broken
)

// cost is the number of bytes that a datagram counts for in addition to its data.
const cost = 64

func costOf(b *reactor.Batch) int {
	if b == nil {
		return 0
	}
	return b.Size() + cost*b.Len()
}

// deliver puts a completion into the inbox and wakes the task.
func (c *Conn) deliver(d *engine.Driver, e *reactor.Completion) {
	wake := true
	c.mu.Lock()
	in := &c.inbox
	switch e.Kind {
	case reactor.RecvFrom:
		if e.Res >= 0 {
			if in.chunks == nil {
				in.chunks = d.ChunkList()
			}
			wake = len(in.chunks) == 0 || !e.More // else the first chunk has woken the task, which has not run since
			in.chunks = append(in.chunks, e.Buf)
		}
		if !e.More {
			in.recvEnded, in.recvErrno = true, e.Errno()
		}
	case reactor.SendTo:
		wake = in.endFlight(d, c.from)
	}
	c.mu.Unlock()
	if wake {
		d.Cx.Wake(c.task.Waker())
	}
}

// endFlight is called when the batch in flight has ended. It reports whether the task must run.
// c.mu is held.
func (in *inbox) endFlight(d *engine.Driver, from *engine.Origin) (wake bool) {
	countSent(from.Part(d.Worker), in.flight)
	in.noSegments = in.noSegments || in.flight.NoSegments
	if len(in.flight.Failed)+len(in.flight.Earlier) > 0 {
		in.failed, in.flight = in.flight, nil
		return true
	}
	localOf(d).putBatch(in.flight)
	in.flight = nil
	return in.wakeAtEnd
}

// enqueue puts a command into the inbox and wakes the task.
func (c *Conn) enqueue(cmd command) error {
	c.mu.Lock()
	in := &c.inbox
	switch {
	case in.closed, in.ending && cmd.kind == cmdSend:
		c.mu.Unlock()
		return engine.ErrGone
	case cmd.kind == cmdSend && in.bytes+in.queued+costOf(in.flight) >= c.group.MaxWrite:
		c.mu.Unlock()
		c.from.Outside.Dropped[engine.QueueFull].Add(1)
		return ErrWriteQueueFull
	case cmd.kind == cmdDo && in.calls >= engine.MaxPendingCalls:
		c.mu.Unlock()
		return ErrTooManyCalls
	}
	in.commands = append(in.commands, cmd)
	switch cmd.kind {
	case cmdSend:
		in.bytes += len(cmd.data) + cost
	case cmdDo:
		in.calls++
	case cmdClose, cmdAbort:
		in.ending = true
	}
	c.mu.Unlock()
	c.task.Wake()
	return nil
}

// events are the completions and commands that one run of the task handles.
type events struct {
	chunks    []reactor.Buffer
	next      int // the first chunk that is not released
	commands  []command
	recvEnded bool
	recvErrno syscall.Errno
	failed    *reactor.Batch
}

// collect empties the inbox.
func (c *Conn) collect(ev *events) {
	c.mu.Lock()
	in := &c.inbox
	ev.chunks, in.chunks = in.chunks, nil
	ev.commands, in.commands, in.calls = in.commands, nil, 0
	in.queued, in.bytes = in.queued+in.bytes, 0 // send corrects queued
	ev.recvEnded, ev.recvErrno, in.recvEnded = in.recvEnded, in.recvErrno, false
	ev.failed, in.failed = in.failed, nil
	c.kind.NoSegments = c.kind.NoSegments || in.noSegments
	c.inFlight = costOf(in.flight)
	c.mu.Unlock()
}

// A local has a worker's memory for the packet sockets whose tasks it runs.
type local struct {
	batches []*reactor.Batch // empty, to be used again
	packets []Packet         // the memory of OnPackets' batch
}

func localOf(d *engine.Driver) *local {
	l, ok := d.Packets.(*local)
	if !ok {
		l = new(local)
		d.Packets = l
	}
	return l
}

// batch returns an empty batch.
func (d *local) batch(k sock.Kind) *reactor.Batch {
	var b *reactor.Batch
	if n := len(d.batches); n > 0 {
		b, d.batches[n-1] = d.batches[n-1], nil
		d.batches = d.batches[:n-1]
	} else {
		b = new(reactor.Batch)
	}
	b.Wide, b.NoSegments, b.Join = k.Wide, k.NoSegments, true
	return b
}

const (
	keepBatches   = 64
	keepBatchSize = 256 << 10
	keepBatchLen  = 4096
)

// putBatch keeps a batch that has been sent, to be used again.
func (d *local) putBatch(b *reactor.Batch) {
	if b.Cap() <= keepBatchSize && b.Len() <= keepBatchLen && len(d.batches) < keepBatches {
		b.Reset()
		d.batches = append(d.batches, b)
	}
}

// A target is a Conn as the reactors and the group see it.
type target Conn

var (
	_ engine.Target    = (*target)(nil)
	_ engine.Ordered   = (*target)(nil)
	_ engine.Abandoned = (*target)(nil)
)

// Deliver implements engine.Target.
func (t *target) Deliver(d *engine.Driver, e *reactor.Completion) {
	(*Conn)(t).deliver(d, e)
}

// Obey implements engine.Ordered.
func (t *target) Obey(o engine.Order) {
	kind := cmdAbort
	switch o {
	case engine.Sever:
		(*Conn)(t).sever()
		return
	case engine.Drain:
		kind = cmdDrain
	case engine.Stage:
		kind = cmdStage
	}
	_ = (*Conn)(t).enqueue(command{kind: kind}) // a socket that has ended needs no command
}

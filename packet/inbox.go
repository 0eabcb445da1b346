package packet

import (
	"net/netip"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// An inbox is where everything that concerns a Conn waits for its task.
type inbox struct {
	chunks   []reactor.Buffer // received, in order, all of them at home
	commands []command
	bytes    int  // cost of the commands' data
	queued   int  // cost of Conn.out, as far as other goroutines need to know
	closed   bool // commands are refused: the socket is about to be gone
	gone     bool // the descriptor is closed, or is about to be
	calls    int  // functions of Handle.Do among the commands

	recvEnded bool
	recvErrno syscall.Errno

	// The batch in flight. If all of it went well and nobody asked, its end needs
	// no run of the task; else it becomes landed.
	flight      *reactor.Batch
	flightNotes []note
	landed      *reactor.Batch
	landedNotes []note
	tellEnd     bool // the task wants to run when it ends
}

// A command is what another goroutine asks of a packet socket.
type command struct {
	kind commandKind
	data []byte
	size int // of what is to be sent
	to   netip.AddrPort
	asks asker // cmdSend: who has the data, and is told what became of it; nobody: OnError is told of an error
	do   func(*Conn)
}

type commandKind uint8

const (
	cmdSend commandKind = iota
	cmdDo
	cmdClose
	cmdAbort
	cmdDrain
	cmdStage // a stage of the group's end has begun
)

// cost is what a datagram counts for beside its bytes.
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
			wake = len(in.chunks) == 0 || !e.More // else the one before has woken it, and it has not looked since
			in.chunks = append(in.chunks, e.Buf)
		}
		if !e.More {
			in.recvEnded, in.recvErrno = true, e.Errno()
		}
	case reactor.SendTo:
		wake = in.land(d)
	}
	c.mu.Unlock()
	if wake {
		d.Cx.Wake(c.task.Waker())
	}
}

// land ends the flight, and reports whether the task is to run. c.mu is held.
func (in *inbox) land(d *engine.Driver) (wake bool) {
	if len(in.flight.Failed) > 0 || len(in.flightNotes) > 0 {
		in.landed, in.landedNotes = in.flight, in.flightNotes
		in.flight, in.flightNotes = nil, nil
		return true
	}
	localOf(d).putBatch(in.flight)
	in.flight = nil
	return in.tellEnd
}

// tell puts a command into the inbox, as Conn.tell does.
func (c *Conn) tell(cmd command) error {
	c.mu.Lock()
	in := &c.inbox
	switch {
	case in.closed:
		c.mu.Unlock()
		return engine.ErrGone
	case cmd.kind == cmdSend && in.bytes+in.queued+costOf(in.flight) >= c.group.MaxWrite:
		c.mu.Unlock()
		return ErrWriteQueueFull
	case cmd.kind == cmdDo && in.calls >= engine.MaxPendingCalls:
		c.mu.Unlock()
		return ErrTooManyCalls
	}
	in.commands = append(in.commands, cmd)
	switch cmd.kind {
	case cmdSend:
		in.bytes += cmd.size + cost
	case cmdDo:
		in.calls++
	}
	c.mu.Unlock()
	c.task.Wake()
	return nil
}

// news is what a run of the task has to deal with.
type news struct {
	chunks      []reactor.Buffer
	next        int // the first chunk that is not released
	commands    []command
	recvEnded   bool
	recvErrno   syscall.Errno
	landed      *reactor.Batch
	landedNotes []note
}

// collect empties the inbox.
func (c *Conn) collect(n *news) {
	c.mu.Lock()
	in := &c.inbox
	n.chunks, in.chunks = in.chunks, nil
	n.commands, in.commands, in.calls = in.commands, nil, 0
	in.queued, in.bytes = in.queued+in.bytes, 0 // send sets queued right again
	n.recvEnded, n.recvErrno, in.recvEnded = in.recvEnded, in.recvErrno, false
	n.landed, n.landedNotes = in.landed, in.landedNotes
	in.landed, in.landedNotes = nil, nil
	c.inFlight = costOf(in.flight)
	c.mu.Unlock()
}

// A local is what a worker has for the packet sockets whose tasks it runs.
type local struct {
	batches []*reactor.Batch // empty ones
	packets []Packet         // what a packet handler is given
}

func localOf(d *engine.Driver) *local {
	l, ok := d.Packets.(*local)
	if !ok {
		l = new(local)
		d.Packets = l
	}
	return l
}

// batch is an empty batch.
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

// putBatch takes a batch that has been sent.
func (d *local) putBatch(b *reactor.Batch) {
	if b.Cap() <= keepBatchSize && b.Len() <= keepBatchLen && len(d.batches) < keepBatches {
		b.Reset()
		d.batches = append(d.batches, b)
	}
}

// A target is what reactors and the group tell a Conn.
type target Conn

var (
	_ engine.Target  = (*target)(nil)
	_ engine.Ordered = (*target)(nil)
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
	_ = (*Conn)(t).tell(command{kind: kind}) // one that has ended needs no telling
}

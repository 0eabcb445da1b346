package core

import (
	"math"

	"github.com/suiro-go/suiro/internal/receive"
	"github.com/suiro-go/suiro/reactor"
)

// A Consumer is a handler that takes part in the runs of its connection's task. A Stream, a
// Socket and a splice are consumers: the core, which serves all connections, knows them by
// this interface alone. Every other handler has the parts of plain. All methods are the task's.
type Consumer interface {
	// Hear begins the consumer's part of a run: it learns of others' changes since the last run.
	Hear(c *Conn)
	// Came takes a chunk that has arrived.
	Came(c *Conn, b reactor.Buffer)
	// Policy says who receives, and how large reads are.
	Policy(g *Group) *receive.Policy
	// MayRead reports whether the task may receive itself. If so it does from now on.
	MayRead(c *Conn) bool
	// Readable says that the task is to read, and that there is something to be read.
	Readable(c *Conn)

	// A turn follows the input of a run: begin, then resume and end in turn until begin or end
	// reports false. Run itself calls them: the processor predicts wrongly the returns that
	// follow a switch of stacks, so few frames may lie between.
	Begin() bool
	Resume()
	End() bool

	// Settled ends a run that has not ended the connection.
	Settled(c *Conn)
	// Departs reports whether the connection may end. The task runs again until it does.
	Departs(c *Conn) bool

	// Calm reports that this run leaves nothing to be sent, and nobody to be woken.
	Calm(c *Conn) bool
	// WantsRoom reports whether the task is to run once less is unsent.
	WantsRoom() bool
	// ReadCapacity is how many more bytes the consumer takes now.
	ReadCapacity() int
	// Hungry reports whether a goroutine waits for bytes and has memory for them.
	Hungry() bool
	// HasUnread reports whether bytes that the consumer has taken wait for a reader.
	HasUnread() bool
	// CountsMemory reports whether the consumer itself counts the bytes that it keeps in the memory
	// budget, and those left unread in the connection.
	CountsMemory(unread int) bool
	// Sips reports whether a receive is to end with its first bytes. A multishot receive of
	// io_uring takes up to all buffers of its reactor, 2 MiB, before the connection can pause it.
	// They would be kept for a goroutine that may not want them.
	Sips() bool
	// Paces reports whether the consumer itself decides when reading pauses, and how the task
	// reads. Bytes that are unsent here do not matter to it.
	Paces() bool
	// ReadsOn reports whether reading goes on while more than Config.HighWater bytes are unsent.
	ReadsOn() bool
	// ReadsBeforeReset reports whether the consumer gets the bytes that arrived before a reset.
	// Then a paused connection need not notice a reset.
	ReadsBeforeReset() bool
	// SendFailed says why nothing more is sent. Bytes that have arrived can still be read. It is
	// not called for a splice, nor without ReadsBeforeReset.
	SendFailed(err error)
	// KeepsAll reports whether the consumer takes bytes also while reading is paused.
	KeepsAll() bool
	// OfStream reports whether the functions of a Stream serve the connection.
	OfStream() bool
	// EndAsked reports whether another goroutine has asked the Stream for the connection's end.
	EndAsked() bool
	// EndGathering queues the small writes of tasks that were gathered, before the connection takes
	// no more bytes.
	EndGathering()
	// Abandoned ends the waits for a connection whose task runs no more. Any goroutine may call it,
	// but none while a worker runs.
	Abandoned(c *Conn, err error)
	// Hung says that the peer has reset a paused connection. It reports whether the receive is to
	// end it later.
	Hung() bool
}

// Plain is the part in a run of a handler that is no consumer. Consumers embed it.
type Plain struct{}

func (*Plain) Hear(*Conn) {}

func (*Plain) Came(c *Conn, b reactor.Buffer) {
	c.AddChunk(b)
	c.Offer()
}

func (*Plain) Policy(g *Group) *receive.Policy { return &g.Reads }

// MayRead implements Consumer: all that arrives is for TLS to decrypt.
func (*Plain) MayRead(c *Conn) bool { return c.Filter() == nil }

func (*Plain) Readable(c *Conn)       { c.readNow(c.Group.Reads.Size(c.Reading.State())) }
func (*Plain) Begin() bool            { return false }
func (*Plain) Resume()                {}
func (*Plain) End() bool              { return false }
func (*Plain) Settled(*Conn)          {}
func (*Plain) Departs(*Conn) bool     { return true }
func (*Plain) Calm(*Conn) bool        { return false }
func (*Plain) WantsRoom() bool        { return false }
func (*Plain) ReadCapacity() int      { return math.MaxInt }
func (*Plain) Hungry() bool           { return false }
func (*Plain) HasUnread() bool        { return false }
func (*Plain) CountsMemory(int) bool  { return false }
func (*Plain) Sips() bool             { return false }
func (*Plain) Paces() bool            { return false }
func (*Plain) ReadsOn() bool          { return false }
func (*Plain) ReadsBeforeReset() bool { return false }
func (*Plain) SendFailed(error)       {}
func (*Plain) KeepsAll() bool         { return false }
func (*Plain) OfStream() bool         { return false }
func (*Plain) EndAsked() bool         { return false }
func (*Plain) EndGathering()          {}
func (*Plain) Hung() bool             { return false }

// Abandoned implements Consumer.
func (*Plain) Abandoned(c *Conn, err error) { c.Group.Events.Abandoned(c, err) }

// consumerOf is the handler's part in runs. A run asks once, see pendingWork.
func consumerOf(c *Conn) Consumer {
	if c.Is(consumed) {
		return c.Handler.(Consumer)
	}
	return &Plain{}
}

// Install makes h the connection's handler.
func (c *Conn) Install(h any) {
	c.Mu.Lock()
	c.Handler = h
	c.Mu.Unlock()
	if _, ok := h.(Consumer); ok {
		c.Set(consumed)
	} else {
		c.clear(consumed)
	}
	if c.pendingWork != nil && c.reader.c != nil { // in a run: noPendingWork is not written to
		c.consumer = consumerOf(c)
	}
}

// Replace makes h the user's handler. The end of a splice stays around it, since it must learn of
// the connection's end.
func (c *Conn) Replace(h any) {
	if p, ok := c.Handler.(Passer); ok {
		p.Wraps(h)
	} else {
		c.Install(h)
	}
}

// Spliced is the connection's end of a splice; nil: it is not spliced. The caller holds the mutex
// or is the task.
func (c *Conn) Spliced() *Link {
	if c.Extras == nil {
		return nil
	}
	return c.Extras.Link
}

// OfStream reports whether the functions of a Stream serve the connection.
func (c *Conn) OfStream() bool { return c.Is(consumed) && consumerOf(c).OfStream() }

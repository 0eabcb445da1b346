package core

import (
	"math"

	"github.com/suiro-go/suiro/reactor"
)

// A Consumer is a handler that takes part in the runs of its connection's task: a Stream, a Socket,
// an end of a splice, a TLS handshake. The core, which serves all connections, knows them by this
// interface and three roles. A handler's Stream has Functions, a Socket has Readers, and a shared
// Stream has both. An end of a splice is a Passer, with the Functions of its Stream if there is
// one. Every other handler has the part of Plain. All methods are the task's.
type Consumer interface {
	// Came takes a chunk that has arrived.
	Came(c *Conn, b reactor.Buffer)
	// ReadCapacity is how many more bytes the consumer takes now.
	ReadCapacity() int
	// ReadsBeforeReset reports whether the consumer gets the bytes that arrived before a reset.
	// Then a paused connection need not notice a reset.
	ReadsBeforeReset() bool
	// SendFailed says why nothing more is sent. Bytes that have arrived can still be read. It is
	// not called for a splice, nor without ReadsBeforeReset.
	SendFailed(err error)
	// EndGathering queues the small writes of tasks that were gathered, before the connection takes
	// no more bytes.
	EndGathering()
	// Abandoned ends the waits for a connection whose task runs no more. Any goroutine may call it,
	// but none while a worker runs.
	Abandoned(c *Conn, err error)

	// Functions are those of a handler's Stream that serve the connection; nil: there are none.
	Functions() Functions
	// Readers are the goroutines and tasks that read from a Socket; nil: it has no Socket.
	Readers() Readers
}

// Functions are the functions of a handler's Stream. They have turns in the connection's task.
type Functions interface {
	// A turn follows the input of a run: Begin, then Resume and End in turn until Begin or End
	// reports false. Run itself calls them: the processor predicts wrongly the returns that
	// follow a switch of stacks, so few frames may lie between.
	Begin() bool
	Resume()
	End() bool
	// Departs reports whether the connection may end. The task runs again until it does.
	Departs(c *Conn) bool
	// WantsRoom reports whether the task is to run once less is unsent.
	WantsRoom() bool
	// EndAsked reports whether another goroutine has asked the Stream for the connection's end.
	EndAsked() bool
}

// Readers are the users of a Socket, whose bytes it keeps. A receive for them ends with its first
// bytes: a multishot receive of io_uring takes up to all buffers of its reactor, 2 MiB, before the
// connection can pause it. They would be kept for a goroutine that may not want them. Bytes that
// have arrived are kept also while reading is paused.
type Readers interface {
	// Hungry reports whether a goroutine waits for bytes and has memory for them.
	Hungry() bool
	// HasUnread reports whether kept bytes wait for a reader.
	HasUnread() bool
	// CountUnread counts the kept bytes in the memory budget, and those left unread in the
	// connection.
	CountUnread(inConnection int)
	// ReadsOn reports whether reading goes on while more than Config.HighWater bytes are unsent.
	ReadsOn() bool
	// Hung says that the peer has reset a paused connection. The receive is to end it later.
	Hung()
}

// Plain is the part in a run of a handler that is no consumer. Consumers embed it.
type Plain struct{}

// Came implements Consumer.
func (*Plain) Came(c *Conn, b reactor.Buffer) {
	c.AddChunk(b)
	c.Offer()
}

func (*Plain) ReadCapacity() int      { return math.MaxInt }
func (*Plain) ReadsBeforeReset() bool { return false }
func (*Plain) SendFailed(error)       {}
func (*Plain) EndGathering()          {}
func (*Plain) Functions() Functions   { return nil }
func (*Plain) Readers() Readers       { return nil }

// Abandoned implements Consumer.
func (*Plain) Abandoned(c *Conn, err error) { c.Group.Events.Abandoned(c, err) }

// consumerOf is the handler's part in runs. Runs have it in their roles.
func consumerOf(c *Conn) Consumer {
	if c.Is(consumed) {
		return c.Handler.(Consumer)
	}
	return &Plain{}
}

// roles are the parts that the handler plays in a run.
type roles struct {
	consumer  Consumer
	passer    Passer // nil: it is no end of a splice
	functions Functions
	readers   Readers
}

// rolesOf asks the handler once for a run.
func rolesOf(c *Conn) roles {
	if !c.Is(consumed) {
		return roles{consumer: &Plain{}}
	}
	k := c.Handler.(Consumer)
	p, _ := c.Handler.(Passer)
	return roles{k, p, k.Functions(), k.Readers()}
}

// readsOn reports whether reading goes on while more than Config.HighWater bytes are unsent.
func (r *roles) readsOn() bool {
	return r.passer != nil || r.functions != nil || r.readers != nil && r.readers.ReadsOn()
}

// Install makes h the connection's handler.
func (c *Conn) Install(h any) {
	if c.Extras != nil && !c.Is(consumed) {
		c.Extras.arrival.then = nil // the new handler's OnDrain is called, or it ends by itself
	}
	c.setHandler(h)
	if _, ok := h.(Consumer); ok {
		c.Set(consumed)
	} else {
		c.clear(consumed)
	}
	if c.pendingWork != nil && c.reader.c != nil { // in a run: noPendingWork is not written to
		c.roles = rolesOf(c)
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
func (c *Conn) OfStream() bool { return c.Is(consumed) && consumerOf(c).Functions() != nil }

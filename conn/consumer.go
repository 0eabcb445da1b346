package conn

import (
	"math"

	"github.com/suiro-go/suiro/reactor"
)

// A consumer is a handler that takes part in the runs of its connection's task. A Stream, a
// Socket and a splice are consumers: the core, which serves all connections, knows them by
// this interface alone. Every other handler has the parts of plain. All methods are the task's.
type consumer interface {
	Handler

	// consumes marks a consumer. A user's handler that embeds a *Socket or a *Stream, which may be
	// nil, has the methods of plain, but not this one.
	consumes()

	// hear begins the consumer's part of a run: it learns of others' changes since the last run.
	hear(c *Conn)
	// came takes a chunk that has arrived.
	came(c *Conn, b reactor.Buffer)
	// readable says that the task is to read, and that there is something to be read.
	readable(c *Conn)

	// A turn follows the news of a run: begin, then resume and end in turn until begin or end
	// reports false. Run itself calls them: the processor predicts wrongly the returns that
	// follow a switch of stacks, so few frames may lie between.
	begin() bool
	resume()
	end() bool

	// settled ends a run that has not ended the connection.
	settled(c *Conn)
	// departs reports whether the connection may end. The task runs again until it does.
	departs(c *Conn) bool

	// calm reports that this run leaves nothing to be sent, and nobody to be woken.
	calm(c *Conn) bool
	// wantsRoom reports whether the task is to run once less is unsent.
	wantsRoom() bool
	// appetite is how many bytes more the consumer takes.
	appetite() int
	// hungry reports whether a goroutine waits for bytes and has memory for them.
	hungry() bool
	// books reports whether the consumer itself books the bytes that it keeps in the ledger, and
	// those left unread in the connection.
	books(unread int) bool
	// sips reports whether a receive is to end with its first bytes. A multishot receive of
	// io_uring takes up to all buffers of its reactor, 2 MiB, before the connection can pause it.
	// They would be kept for a goroutine that may not want them.
	sips() bool
	// paces reports whether the consumer itself decides when reading pauses, and how the task
	// reads. Bytes that are unsent here do not matter to it.
	paces() bool
	// keeps reports whether the consumer gets the bytes that arrived before a reset. Then a paused
	// connection need not notice a reset.
	keeps() bool
	// hung says that the peer has reset a paused connection. It reports whether the receive is to
	// end it later.
	hung() bool
}

// plain is the part in a run of a handler that is no consumer. Consumers embed it.
type plain struct{}

func (plain) hear(*Conn) {}

func (plain) came(c *Conn, b reactor.Buffer) {
	c.in.Attach(&c.driver.buffers, c.releaser(), b)
	c.offer()
}

func (plain) readable(c *Conn)   { c.readNow() }
func (plain) begin() bool        { return false }
func (plain) resume()            {}
func (plain) end() bool          { return false }
func (plain) settled(*Conn)      {}
func (plain) departs(*Conn) bool { return true }
func (plain) calm(*Conn) bool    { return false }
func (plain) wantsRoom() bool    { return false }
func (plain) appetite() int      { return math.MaxInt }
func (plain) hungry() bool       { return false }
func (plain) books(int) bool     { return false }
func (plain) sips() bool         { return false }
func (plain) paces() bool        { return false }
func (plain) keeps() bool        { return false }
func (plain) hung() bool         { return false }

// plainHandler is plain with the methods of a Handler, which nobody calls.
type plainHandler struct {
	plain
	untold
}

func (plainHandler) consumes() {}

// consumer is the handler's part in runs.
func (c *Conn) consumer() consumer {
	if c.is(consumed) {
		return c.handler.(consumer)
	}
	return plainHandler{}
}

// install makes h the connection's handler.
func (c *Conn) install(h Handler) {
	c.handler = h
	if _, ok := h.(consumer); ok {
		c.set(consumed)
	} else {
		c.clear(consumed)
	}
}

// spliced is the connection's end of a splice; nil: it is not spliced.
func (c *Conn) spliced() *relay {
	if c.extras == nil {
		return nil
	}
	return c.extras.relay
}

// ofStream reports whether the functions of a Stream serve the connection.
func (c *Conn) ofStream() bool {
	e, ok := c.handler.(*streamEvents)
	return ok && !e.vacant
}

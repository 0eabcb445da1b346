package core

import "github.com/suiro-go/suiro/internal/receive"

// A Link is what the core has of a connection's end of a splice. It lies in the end, which is the
// connection's handler, and a Passer, for as long as there is a link.
type Link struct {
	Owed  int  // bytes that wait to leave here, as of the last look or fetch
	Asked bool // the other end waits for room
}

// A Passer is an end of a splice, as the core calls it. It paces the connection: it decides when
// reading pauses, and how the task reads. Bytes that are unsent here do not matter to that. All
// methods are the task's.
type Passer interface {
	// Hear begins its part of a run: it learns of the other end's changes since the last run.
	Hear(c *Conn)
	// Calm reports that this run leaves nothing to be sent, and nobody to be woken.
	Calm(c *Conn) bool
	// Settled ends a run that has not ended the connection.
	Settled(c *Conn)

	// Policy says who receives, and how large reads are.
	Policy(g *Group) *receive.Policy
	// MayRead reports whether the task may receive itself. If so it does from now on.
	MayRead(c *Conn) bool
	// Readable says that the task is to read, and that there is something to be read.
	Readable(c *Conn)

	// Fetch takes the bytes that are to leave next, when nothing is queued. It reports whether
	// there may be more to do.
	Fetch(c *Conn) bool
	// PassOn sends bytes that have arrived by the other end, without a run of either task. It
	// returns how many it has dealt with.
	PassOn(c *Conn, p []byte) int
	// OtherTakes reports whether the peer of the other end has taken bytes since the last call.
	OtherTakes() bool
	// Passed is the number of bytes that PassOn has dealt with. Any goroutine may call it.
	Passed() uint64
	// Wraps makes h the user's handler, around which the end of the splice stays.
	Wraps(h any)
}

// A Joiner is a splice that a connection is to become an end of.
type Joiner interface{ Join(c *Conn) }

// lateSplice is for the end of a connection. A splice that it has not looked at yet has another
// end, which must learn of this one's end.
func lateSplice(c *Conn) {
	late := append(c.Filter().release(), c.late()...) // the commands that waited for a handshake that has failed
	for _, cmd := range late {
		if cmd.Kind == CmdSplice {
			cmd.What.(Joiner).Join(c)
		}
	}
}
